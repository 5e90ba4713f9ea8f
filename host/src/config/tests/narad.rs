//! Routes on Narad.

use super::*;
use crate::broker::narad::Envelope;

const ROUTE: &str = r#"[[routes]]
name = "orders"
broker = "main"
source = "orders"
handler = { kind = "http", url = "http://127.0.0.1:9000/orders" }
dead_letters = { default = "orders.dlq" }
"#;

fn file(broker: &str, more: &str) -> Result<Config, ConfigError> {
    parse(format!("[brokers.main]\nkind = \"narad\"\n{broker}\n{ROUTE}{more}"))
}

fn wrong(broker: &str, more: &str) -> String {
    file(broker, more).expect_err("this is wrong").to_string()
}

fn narad(config: &Config) -> &NaradConfig {
    match &config.brokers["main"] {
        BrokerConfig::Narad(narad) => narad,
        other => panic!("not Narad: {other:?}"),
    }
}

#[test]
fn an_address_is_all_that_is_needed() {
    let config = file("url = \"http://127.0.0.1:7942\"", "").unwrap();
    let narad = narad(&config);
    assert_eq!(narad.urls[0].expose().as_str(), "http://127.0.0.1:7942/");
    assert!(narad.declare && narad.envelopes.is_empty());
    assert_eq!(narad.header_prefixes, ["reprieve-"]);
}

#[test]
fn several_nodes_can_have_one_password_that_is_written_apart() {
    let broker = "urls = [\"http://orders@a:7942\", \"https://orders@b\"]\npassword = \"s3/cret\"\ndeclare = false";
    let config = file(broker, "").unwrap();
    let narad = narad(&config);
    assert_eq!(narad.urls.iter().map(|url| url.expose().password()).collect::<Vec<_>>(), [Some("s3%2Fcret"); 2]);
    assert_eq!(narad.urls[1].to_string(), "https://orders:***@b/");
    assert!(!narad.declare);
    let text = wrong("url = \"http://a:7942\"\npassword = \"s3cret\"", "");
    assert!(text.contains("no user in the address") && !text.contains("s3cret"), "{text}");
}

#[test]
fn what_a_route_says_of_its_envelope_holds_for_its_source_and_dead_letters() {
    let url = "url = \"http://127.0.0.1:7942\"";
    let config = file(url, "envelope = \"none\"").unwrap();
    let expected = [("orders", Envelope::None), ("orders.dlq", Envelope::None)];
    assert_eq!(narad(&config).envelopes, expected.map(|(topic, envelope)| (topic.to_owned(), envelope)).into());
    let config = file(url, "envelope = \"counted\"\nheader_prefix = \"smsg-\"").unwrap();
    let counted = Envelope::Counted { route: "orders".to_owned(), prefix: "smsg-".to_owned() };
    assert_eq!(narad(&config).envelopes["orders.dlq"], counted);
    assert_eq!(narad(&config).header_prefixes, ["smsg-"]);
    assert!(narad(&file(url, "envelope = \"own\"").unwrap()).envelopes.is_empty());
}

#[test]
fn what_cannot_be_is_said_with_its_place_and_cure() {
    let url = "url = \"http://127.0.0.1:7942\"";
    let text = wrong(url, "envelope = \"nome\"");
    assert!(text.contains("there is no envelope \"nome\"") && text.contains("did you mean `none`?"), "{text}");
    let text = wrong("url = \"amqp://127.0.0.1\"", "");
    assert!(text.contains("must begin with http://"), "{text}");
    let text = wrong("url = \"http://127.0.0.1\"\ntls = { ca = \"ca.pem\" }", "");
    assert!(text.contains("`tls` is set") && text.contains("write https://"), "{text}");
    let second =
        ROUTE.replace("name = \"orders\"", "name = \"others\"").replace("source = \"orders\"", "source = \"others\"");
    let text = wrong(url, &format!("envelope = \"none\"\n{second}"));
    assert!(text.contains("say different things of the envelope on `orders.dlq`"), "{text}");
    let spaced = ROUTE.replace("\"orders\"\nhandler", "\"or ders\"\nhandler");
    let text = parse(format!("[brokers.main]\nkind = \"narad\"\n{url}\n{spaced}")).unwrap_err().to_string();
    assert!(text.contains("cannot be the name of a topic of Narad"), "{text}");
    let exchange = ROUTE.replace("\"orders.dlq\"", "{ exchange = \"x\", routing_key = \"y\" }");
    let text = parse(format!("[brokers.main]\nkind = \"narad\"\n{url}\n{exchange}")).unwrap_err().to_string();
    assert!(text.contains("Narad has no exchanges"), "{text}");
    let memory = format!("[brokers.main]\nkind = \"memory\"\n{ROUTE}envelope = \"none\"");
    let text = parse(memory).unwrap_err().to_string();
    assert!(text.contains("a broker of kind \"memory\" has headers"), "{text}");
}
