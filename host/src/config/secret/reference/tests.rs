use std::fs;

use insta::assert_snapshot;
use tempfile::TempDir;

use crate::config::{BrokerConfig, Config, HandlerConfig};

/// A configuration whose one broker has these lines, in a folder of its own.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.path().join(name), content).unwrap();
    }

    fn parse(&self, broker: &str) -> Result<Config, String> {
        let text = format!(
            r#"[brokers.main]
kind = "rabbitmq"
{broker}

[[routes]]
name = "orders"
broker = "main"
source = "orders"
handler = {{ kind = "http", url = "http://127.0.0.1:9000", headers = {{ authorization = {{ file = "token" }} }} }}
dead_letters = {{ default = "orders.dlq" }}
"#
        );
        self.write("token", "Bearer s3cret\n");
        Config::parse(text, self.0.path().join("reprieve.toml")).map_err(|error| error.to_string())
    }

    fn url(&self, broker: &str) -> String {
        match &self.parse(broker).unwrap_or_else(|error| panic!("{error}")).brokers["main"] {
            BrokerConfig::RabbitMq(rabbitmq) => rabbitmq.urls[0].expose().to_string(),
            _ => panic!("RabbitMQ"),
        }
    }

    fn refusal(&self, broker: &str) -> String {
        let error = self.parse(broker).expect_err("this is wrong");
        assert!(!error.contains("s3cret"), "{error}");
        error.replace(&format!("{}/", self.0.path().display()), "")
    }
}

#[test]
fn a_secret_is_read_from_a_file_without_its_line_end() {
    let place = Place::new();
    for end in ["", "\n", "\r\n", "\n\n"] {
        place.write("url", format!("amqp://me:s3cret@mq:5672/%2f{end}"));
        assert_eq!(place.url(r#"url = { file = "url" }"#), "amqp://me:s3cret@mq:5672/%2f");
    }
    let config = place.parse(r#"url = { file = "url" }"#).unwrap();
    let HandlerConfig::Http(http) = &config.routes[0].handler else { panic!("an HTTP handler") };
    assert_eq!(http.headers["authorization"].expose(), "Bearer s3cret");
    assert!(!format!("{config:?}").contains("s3cret"));
}

#[test]
fn a_secret_is_read_from_the_environment() {
    // The tests' own environment cannot be changed; that of a package's name is there wherever its tests run.
    let config = Place::new().parse("url = \"amqp://me@mq\"\npassword = { env = \"CARGO_PKG_NAME\" }").unwrap();
    let BrokerConfig::RabbitMq(rabbitmq) = &config.brokers["main"] else { panic!("RabbitMQ") };
    assert_eq!(rabbitmq.urls[0].expose().password(), Some(env!("CARGO_PKG_NAME")));
}

#[test]
fn a_password_of_its_own_need_not_be_encoded() {
    let place = Place::new();
    place.write("password", "p@ss/w#rd%\n");
    let url = place.url("url = \"amqp://me@mq:5672/%2f\"\npassword = { file = \"password\" }");
    let parsed: lapin::uri::AMQPUri = url.parse().unwrap();
    assert_eq!((parsed.authority.userinfo.password.as_str(), parsed.vhost.as_str()), ("p@ss/w#rd%", "/"));
}

#[test]
fn what_is_wrong_with_a_secret_is_told_without_it() {
    let place = Place::new();
    let refuse = |name: &str, broker: &str| assert_snapshot!(name, place.refusal(broker));
    refuse("a_variable_that_is_not_set", r#"url = { env = "REPRIEVE_NO_SUCH_VARIABLE" }"#);
    refuse("a_secret_file_that_is_missing", r#"url = { file = "nowhere" }"#);
    fs::create_dir(place.0.path().join("folder")).unwrap();
    refuse("a_secret_file_that_is_a_folder", r#"url = { file = "folder" }"#);
    place.write("empty", "\n");
    refuse("a_secret_file_that_is_empty", r#"url = { file = "empty" }"#);
    place.write("bytes", b"\xff\xfe");
    refuse("a_secret_file_that_is_not_text", r#"url = { file = "bytes" }"#);
    place.write("large", "s3cret".repeat(20_000));
    refuse("a_secret_file_that_is_large", r#"url = { file = "large" }"#);
    refuse("a_secret_in_two_places", r#"url = { file = "url", env = "URL" }"#);
    refuse("a_secret_in_no_place", r"url = {}");
    refuse("a_secret_in_an_unknown_place", r#"url = { vault = "s" }"#);
    refuse("a_secret_that_is_a_number", "url = 7");
    place.write("lines", "amqp://me:s3cret\n@mq");
    refuse("an_address_of_two_lines", r#"url = { file = "lines" }"#);
    place.write("scheme", "http://me:s3cret@mq");
    refuse("an_address_in_a_file_that_is_wrong", r#"url = { file = "scheme" }"#);
    refuse("two_passwords", "url = \"amqp://me:s3cret@mq\"\npassword = \"s3cret\"");
    refuse("a_password_of_nobody", "url = \"amqp://mq\"\npassword = \"s3cret\"");
}

#[cfg(unix)]
#[test]
fn a_secret_file_that_is_a_fifo_is_not_waited_for() {
    let place = Place::new();
    let path = place.0.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    assert!(place.refusal(r#"url = { file = "fifo" }"#).contains("it is not a file"));
}
