//! The program, as people use it.

use std::process::{Command, Output, Stdio};

use reprieve_tests::kafka::{Record, Sandbox, address};
use tempfile::TempDir;

struct Stage {
    sandbox: Sandbox,
    orders: String,
    dlq: String,
    folder: TempDir,
}

impl Stage {
    async fn new() -> Self {
        let sandbox = Sandbox::new();
        let orders = sandbox.topic("orders", 2, &[]).await;
        let (dlq, route) = (sandbox.name("dlq"), sandbox.name("route"));
        let folder = TempDir::new().expect("a temporary folder");
        let config = format!(
            "[host]\nadmin = \"127.0.0.1:0\"\ntiers = []\n\n\
             [brokers.main]\nkind = \"kafka\"\nservers = \"{}\"\n\
             settings = {{ \"reconnect.backoff.max.ms\" = 500, \"session.timeout.ms\" = 6000 }}\n\n\
             [[routes]]\nname = \"{route}\"\nbroker = \"main\"\nsource = \"{orders}\"\nordering = \"partition\"\n\
             handler = {{ kind = \"command\", program = [\"/usr/bin/false\"] }}\n\
             dead_letters = {{ default = \"{dlq}\" }}\n",
            address()
        );
        std::fs::write(folder.path().join("reprieve.toml"), config).expect("a writable folder");
        Self { sandbox, orders, dlq, folder }
    }

    /// `reprieve` with these arguments, in the folder of the configuration; what it printed, once it ended with this code.
    async fn run(&self, arguments: &[&str], code: i32) -> String {
        let program = std::env::current_exe().expect("a test has a path");
        let program = program.parent().and_then(|deps| deps.parent()).expect("the build's folder").join("reprieve");
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        let output: Output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        text
    }
}

#[tokio::test]
async fn what_is_sent_is_kept_with_its_key_and_headers() {
    let stage = Stage::new().await;
    let arguments = ["send", &stage.orders, "{\"id\": 7}", "--key", "c-7", "--id", "A7", "-H", "tenant=blue"];
    assert_eq!(stage.run(&arguments, 0).await.trim(), "A7");
    let [record] = &stage.sandbox.read(&stage.orders).await[..] else { panic!("one record") };
    assert_eq!((record.key.as_deref(), record.body()), (Some(&b"c-7"[..]), "{\"id\": 7}"));
    assert_eq!((record.text("tenant"), record.text("reprieve-id")), (Some("blue"), Some("A7")));
    let nowhere = stage.sandbox.name("nowhere");
    let text = stage.run(&["send", &nowhere, "x"], 1).await;
    assert!(text.contains(&format!("there is no topic {nowhere}")), "{text}");
}

#[tokio::test]
async fn a_check_with_the_broker_makes_what_is_missing_and_says_what_is_doubtful() {
    let stage = Stage::new().await;
    let text = stage.run(&["check"], 0).await;
    assert!(text.contains("Kafka at ") && text.contains("partition"), "{text}");
    assert_eq!(stage.sandbox.partitions(&stage.dlq).await, None, "nothing was connected to");
    let text = stage.run(&["check", "--connect"], 0).await;
    assert!(text.contains("ready") && text.contains("min.insync.replicas"), "{text}");
    assert_eq!(stage.sandbox.partitions(&stage.dlq).await, Some(2));
}

#[tokio::test]
async fn dead_letters_are_shown_with_their_place_and_put_back() {
    let stage = Stage::new().await;
    let empty = stage.run(&["dead-letters", "peek"], 1).await;
    assert!(empty.contains("there is no topic"), "{empty}");
    stage.sandbox.create(&stage.dlq, 1, &[]).await;
    let mut letter = Record::new("body").with_key("k");
    for (name, value) in [
        ("reprieve-attempts", "3"),
        ("reprieve-origin-topic", stage.orders.as_str()),
        ("reprieve-origin-partition", "1"),
        ("reprieve-origin-offset", "42"),
        ("reprieve-route", "orders"),
        ("reprieve-error-kind", "http-503"),
        ("reprieve-error", "it broke"),
    ] {
        letter = letter.with_header(name, Some(value.as_bytes()));
    }
    stage.sandbox.put(&stage.dlq, &letter).await;
    let text = stage.run(&["dead-letters", "peek"], 0).await;
    assert!(text.contains(&format!("{}, partition 1, offset 42", stage.orders)), "{text}");
    assert!(text.contains("1 of 1 shown"), "{text}");
    stage.run(&["dead-letters", "redrive"], 0).await;
    assert_eq!(stage.sandbox.read(&stage.orders).await.len(), 1);
    let text = stage.run(&["dead-letters", "redrive"], 0).await;
    assert!(text.contains("is empty"), "{text}");
}
