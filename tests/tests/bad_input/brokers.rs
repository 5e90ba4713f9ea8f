//! Brokers that are down, do not let the host in, or lack what a route needs: the route waits and says what for, the
//! others work, and it goes on by itself once that is put right.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use lapin::BasicProperties;
use reprieve_tests::rabbitmq::{Proxy, Sandbox, url};

use crate::place::Place;
use crate::text::host_and_port;
use crate::wait_for;

fn broker(name: &str, url: &str) -> String {
    format!("\n[brokers.{name}]\nkind = \"rabbitmq\"\nurl = \"{url}\"\n")
}

fn route(name: &str, broker: &str, source: &str) -> String {
    format!(
        "\n[[routes]]\nname = \"{name}\"\nbroker = \"{broker}\"\nsource = \"{source}\"\n\
         handler = {{ kind = \"command\", program = [\"sh\", \"-c\", \"cat >> handled; echo >> handled\"] }}\n\
         dead_letters = {{ default = \"{source}.dlq\" }}\n"
    )
}

/// The tests' broker with something about it that is wrong.
fn wrong(from: &str, to: &str) -> String {
    let url = url();
    assert!(url.contains(from), "the tests' broker is for guest:guest, and its virtual host is the usual one");
    url.replace(from, to)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_does_not_exist_is_waited_for() {
    let sandbox = Sandbox::new().await;
    let (missing, dead) = (sandbox.name("missing"), sandbox.name("missing.dlq"));
    let place = Place::new(&(broker("main", &url()) + &route("orders", "main", &missing)));
    let program = place.run();

    program.wait_for_line(&["is not consuming", "retry_in=1s"]);
    program.assert_that_mails_are_handled(&place);
    let names = [(missing.as_str(), "SOURCE")];
    insta::assert_snapshot!("missing_queue", program.lines(&["retry_in=500ms"], &names));
    insta::assert_snapshot!("missing_queue_readiness", program.readiness(&names));
    let phase = program.phase("orders");
    assert_eq!((&phase["state"], phase["error"].is_string()), (&"connecting".into(), true), "{phase}");

    sandbox.declare(&missing, &[]).await.unwrap();
    sandbox.put(&missing, b"an order", BasicProperties::default()).await;
    program.wait_until_ready("orders");
    wait_for("the order", || place.handled().contains(&"an order".to_owned()).then_some(()));
    program.stop();
    assert_eq!((sandbox.count(&missing).await, sandbox.count(&dead).await), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_down_at_the_start_is_waited_for() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("orders", &[]).await;
    sandbox.name("orders.dlq");
    sandbox.put(&source, b"an order", BasicProperties::default()).await;
    let down = Proxy::down();
    let url = down.url();
    let place = Place::new(&(broker("main", &url) + &route("orders", "main", &source)));
    let program = place.run();

    program.wait_for_line(&["is not consuming", "retry_in=1s"]);
    program.assert_that_mails_are_handled(&place);
    let address = host_and_port(&url);
    let names = [(address.as_str(), "ADDRESS")];
    insta::assert_snapshot!("down", program.lines(&["retry_in=500ms"], &names));
    insta::assert_snapshot!("down_readiness", program.readiness(&names));

    let _up = down.up();
    program.wait_until_ready("orders");
    wait_for("the order", || place.handled().contains(&"an order".to_owned()).then_some(()));
    program.stop();
    sandbox.wait_for_count(&source, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_does_not_let_the_host_in_is_told_from_one_that_is_down() {
    // It takes connections and answers them like a server of another kind.
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = stranger.local_addr().unwrap();
    std::thread::spawn(move || {
        // Kept open, so that it is the answer that ends them.
        let mut connections = Vec::new();
        for stream in stranger.incoming() {
            let mut stream = stream.expect("a connection");
            stream.read_exact(&mut [0; 8]).expect("a client speaks first");
            stream.write_all(b"220 mail.example ESMTP\r\n").expect("a client listens");
            connections.push(stream);
        }
    });
    let place = Place::new(
        &[
            broker("denied", &wrong("guest:guest@", "guest:wr0ng@")),
            route("denied", "denied", "orders"),
            broker("elsewhere", &wrong("/%2f", "/test.no-such-host")),
            route("elsewhere", "elsewhere", "orders"),
            broker("stranger", &format!("amqp://{address}/%2f")),
            route("stranger", "stranger", "orders"),
        ]
        .concat(),
    );
    let program = place.run();

    for route in ["denied", "elsewhere", "stranger"] {
        program.wait_for_line(&["is not consuming", &format!("route={route}"), "retry_in=1s"]);
    }
    program.assert_that_mails_are_handled(&place);
    let (broker, stranger) = (host_and_port(&url()), address.to_string());
    let lines = program.lines(&["retry_in=500ms"], &[(&broker, "BROKER"), (&stranger, "STRANGER")]);
    assert!(!lines.contains("wr0ng"), "{lines}");
    insta::assert_snapshot!("not_let_in", lines);
    program.stop();
}
