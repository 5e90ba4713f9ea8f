//! No secret is in anything that the program prints, logs or answers, however much it is asked to say.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use lapin::uri::AMQPUri;
use nix::sys::signal::Signal;

use crate::place::Place;
use crate::wait_for;

const PASSWORD: &str = "pa55word-of-the-broker";
const HEADER: &str = "t0ken-of-the-handler";
const VARIABLE: &str = "va1ue-of-a-variable";
const ADMIN: &str = "t0ken-of-the-administrators";

/// A handler that answers every request with a failure, and keeps what it was sent.
fn handler() -> (u16, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (told, requests) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap();
            let _ = told.send(String::from_utf8_lossy(&request[..length]).into_owned());
            stream.write_all(b"HTTP/1.1 503 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        }
    });
    (port, requests)
}

fn assert_tells_nothing(text: &str, of: &str) {
    for secret in [PASSWORD, HEADER, VARIABLE, ADMIN] {
        assert!(!text.contains(secret), "{secret} in {of}:\n{text}");
        // As a broker is sent it, and as a header of basic authorization.
        let bytes = format!("{:?}", secret.as_bytes());
        assert!(!text.contains(bytes.trim_matches(['[', ']'])), "the bytes of {secret} in {of}:\n{text}");
    }
}

#[test]
fn no_secret_is_told_by_a_host_whose_login_is_refused() {
    let broker: AMQPUri = reprieve_tests::rabbitmq::url().parse().unwrap();
    let (host, port) = (&broker.authority.host, broker.authority.port);
    let (handler, requests) = handler();
    let place = Place::new(
        "admin_token = { env = \"ADMIN_TOKEN\" }",
        &format!(
            r#"
[brokers.main]
kind = "rabbitmq"
url = "amqp://guest@{host}:{port}/%2f"
password = {{ file = "password" }}

[brokers.inline]
kind = "rabbitmq"
url = "amqp://guest:{PASSWORD}@{host}:{port}/%2f"

[brokers.local]
kind = "memory"

[[routes]]
name = "refused"
broker = "main"
source = "orders"
handler = {{ kind = "command", program = ["true"], env = {{ TOKEN = {{ env = "VALUE" }} }} }}
dead_letters = {{ default = "orders.dlq" }}

[[routes]]
name = "refused-as-well"
broker = "inline"
source = "orders"
handler = {{ kind = "command", program = ["true"] }}
dead_letters = {{ default = "orders.dlq" }}

[[routes]]
name = "mails"
broker = "local"
source = "mails"
handler = {{ kind = "http", url = "http://me:{PASSWORD}@127.0.0.1:{handler}/?key={HEADER}", headers = {{ x-token = {{ file = "header" }} }} }}
dead_letters = {{ default = "mails.dlq" }}
"#
        ),
    );
    place.write("password", format!("{PASSWORD}\n"));
    place.write("header", format!("{HEADER}\n"));
    let variables = [("ADMIN_TOKEN", ADMIN), ("VALUE", VARIABLE)];

    let (code, checked) = place.call(&["check"], &variables);
    assert_eq!(code, Some(0), "{checked}");
    assert!(checked.contains("amqp://guest:***@") && !checked.contains("key=t"), "{checked}");
    let (_, connected) = place.call(&["check", "--connect"], &variables);
    assert!(connected.contains("ACCESS_REFUSED"), "{connected}");

    let mut program = place.run(&["--log", "trace,lapin=trace"], &variables);
    for route in ["refused", "refused-as-well"] {
        wait_for("the refusal", || {
            let lines = program.lines();
            let refused = |line: &serde_json::Value| {
                line["route"] == route && line["error"].as_str().is_some_and(|error| error.contains("ACCESS_REFUSED"))
            };
            lines.iter().any(refused).then_some(())
        });
    }
    let config = std::fs::read_to_string(place.path("reprieve.toml")).unwrap();
    place.write("reprieve.toml", config.replace("127.0.0.1:0", &program.admin.to_string()));
    let (code, sent) = place.call(&["send", "--broker", "local", "mails", "a mail"], &variables);
    assert_eq!(code, Some(0), "{sent}");
    let request = requests.recv().unwrap();
    assert!(request.contains(&format!("x-token: {HEADER}")), "the handler is told: {request}");
    wait_for("the dead letter", || program.log().contains("dead-lettered").then_some(()));
    // A configuration that became wrong is told of, too.
    place.write("password", "");
    program.signal(Signal::SIGHUP);
    wait_for("the problem", || program.log().contains("cannot read the secret").then_some(()));
    let (code, wrong) = place.call(&["check"], &variables);
    assert_eq!(code, Some(2), "{wrong}");
    // A mistake beside an address shows the line that both are on.
    place.write("password", PASSWORD);
    let beside = config.replace(&format!("/?key={HEADER}\","), &format!("/?key={HEADER}\", colour = 3,"));
    assert_ne!(beside, config);
    place.write("reprieve.toml", beside);
    program.signal(Signal::SIGHUP);
    wait_for("the other problem", || program.log().contains("unknown key `colour`").then_some(()));
    let (code, mistaken) = place.call(&["check"], &variables);
    assert!(code == Some(2) && mistaken.contains("/?***\", colour = 3"), "{mistaken}");

    let token = format!("Authorization: Bearer {ADMIN}\r\n");
    let mut told = vec![("check", checked), ("check --connect", connected), ("check of what is wrong", wrong)];
    told.push(("check of a mistake beside an address", mistaken));
    for path in ["/status", "/readyz", "/metrics", "/topics", "/topics/mails.dlq", "/nowhere"] {
        let (code, answer) = program.get(path, &token);
        assert!(code != 401, "{answer}");
        told.push((path, answer));
        told.push((path, program.get(path, "").1));
    }
    program.signal(Signal::SIGTERM);
    assert_eq!(program.wait_for_end().code(), Some(0));
    told.push(("the log", program.log()));
    for (of, text) in told {
        assert_tells_nothing(&text, of);
    }
}
