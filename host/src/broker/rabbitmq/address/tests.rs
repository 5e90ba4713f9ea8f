use super::*;

fn address(url: &str) -> Address {
    Address::parse("main", "url", url).unwrap()
}

#[test]
fn an_address_is_shown_without_its_secrets() {
    let address = address("amqp://alice:s3cret@mq.example:5673/orders");
    assert_eq!(address.to_string(), "broker 'main' at mq.example:5673, virtual host 'orders'");
    assert!(!address.unreachable("refused").to_string().contains("s3cret"));
}

#[test]
fn the_cure_is_that_of_what_is_wrong() {
    let address = address("amqp://alice:s3cret@mq.example:5673/orders");
    for (code, cure) in [(403, "user and password"), (530, "virtual host and"), (541, "broker's own log")] {
        let text = address.turned_away(code, "NO - see there.").to_string();
        assert!(text.contains(": NO - see there; ") && text.contains(cure), "{text}");
        assert!(text.ends_with("`url` of [brokers.main]") && !text.contains("s3cret"), "{text}");
    }
}

#[test]
fn no_refusal_repeats_the_url() {
    for url in ["alice:s3cret", "http://alice:s3cret@mq/", "amqps://alice:s3cret@[::1/", "amqp://alice:s3cret@mq:x/"] {
        let text = Address::parse("main", "url", url).err().expect("must be refused").to_string();
        assert!(!text.contains("s3cret") && text.contains("'main'"), "{text}");
    }
}

#[test]
fn tls_has_its_own_port_and_is_said() {
    let address = address("amqps://mq");
    assert!(address.is_secure());
    assert_eq!(address.to_string(), "broker 'main' at mq:5671 (TLS), virtual host '/'");
}

#[test]
fn an_ipv6_literal_is_the_host_and_not_this_machine() {
    let address = address("amqp://guest:guest@[2001:db8::7]:5673/%2f");
    assert_eq!((address.host(), address.port()), ("2001:db8::7", 5673));
    assert_eq!(address.to_string(), "broker 'main' at [2001:db8::7]:5673, virtual host '/'");
}

#[tokio::test]
async fn addresses_are_tried_from_the_last_good_one_on_and_each_failure_is_told() {
    let urls = ["amqp://u:s3cret@a/", "amqp://u:s3cret@b/", "amqp://u:s3cret@c/"].map(str::to_owned);
    let addresses = Addresses::parse("main", &urls).unwrap();
    let tried = std::sync::Mutex::new(Vec::new());
    let only = |good: &'static str| {
        let tried = &tried;
        move |address: Address| async move {
            tried.lock().unwrap().push(address.host().to_owned());
            if address.host() == good { Ok(()) } else { Err(address.unreachable("refused")) }
        }
    };

    addresses.in_turn(only("b")).await.unwrap();
    addresses.in_turn(only("b")).await.unwrap();
    addresses.in_turn(only("a")).await.unwrap();
    assert_eq!(tried.lock().unwrap().concat(), "abbbca");

    let text = addresses.in_turn(only("none")).await.unwrap_err().to_string();
    for host in ["at a:5672", "at b:5672", "at c:5672"] {
        assert!(text.contains(host), "{text}");
    }
    assert!(text.contains("`urls` of [brokers.main]") && !text.contains("s3cret"), "{text}");
}
