//! What a test has of its own: queues, a configuration, the program.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};
use reprieve_tests::rabbitmq::{Sandbox, url};
use tempfile::TempDir;

pub(crate) struct Stage {
    pub(crate) sandbox: Sandbox,
    pub(crate) orders: String,
    pub(crate) dlq: String,
    folder: TempDir,
}

impl Stage {
    /// An origin and a dead-letter queue, as a host declares it, and a configuration with them.
    pub(crate) async fn new() -> Self {
        Self::with_dlq(&quorum()).await
    }

    /// The same with a dead-letter queue that has these arguments.
    pub(crate) async fn with_dlq(arguments: &[(&str, AMQPValue)]) -> Self {
        let sandbox = Sandbox::new().await;
        let orders = sandbox.queue("orders", &quorum()).await;
        let dlq = sandbox.queue("dlq", arguments).await;
        let folder = TempDir::new().expect("a temporary folder");
        let config = format!(
            "[host]\nadmin = \"127.0.0.1:0\"\n\n\
             [brokers.main]\nkind = \"rabbitmq\"\nurl = \"{}\"\n\n\
             [[routes]]\nname = \"orders\"\nbroker = \"main\"\nsource = \"{orders}\"\n\
             handler = {{ kind = \"command\", program = [\"/usr/bin/test\", \"-e\", \"mended\"], timeout = \"20s\" }}\n\
             dead_letters = {{ default = \"{dlq}\" }}\n",
            url()
        );
        std::fs::create_dir(folder.path().join("policies")).expect("a writable folder");
        std::fs::write(folder.path().join("reprieve.toml"), config).expect("a writable folder");
        Self { sandbox, orders, dlq, folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a dead letter of the route on the dead-letter queue.
    pub(crate) async fn letter(&self, id: &str, kind: &str, more: &[(&str, AMQPValue)]) {
        let mut headers = FieldTable::default();
        let text = |text: &str| AMQPValue::LongString(text.into());
        for (name, value) in [
            ("tenant", AMQPValue::ShortInt(7)),
            ("reprieve-attempts", AMQPValue::LongLongInt(3)),
            ("reprieve-origin-topic", text(&self.orders)),
            ("reprieve-route", text("orders")),
            ("reprieve-error-kind", text(kind)),
            ("reprieve-error", text("it broke")),
            ("reprieve-failed-at", text("2026-03-01T10:00:00.000Z")),
        ] {
            headers.insert(name.into(), value);
        }
        for (name, value) in more {
            headers.insert((*name).into(), value.clone());
        }
        let properties = BasicProperties::default()
            .with_message_id(id.into())
            .with_content_type("text/plain".into())
            .with_correlation_id("c-1".into())
            .with_delivery_mode(2)
            .with_headers(headers);
        self.sandbox.put(&self.dlq, format!("body of {id}").as_bytes(), properties).await;
    }

    /// `reprieve` with these arguments, in the folder of the configuration.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(executable());
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// Runs `reprieve dead-letters …` to its end.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = self.command(&["dead-letters"]);
        command.args(arguments);
        let output = tokio::task::spawn_blocking(move || command.output()).await.expect("no panic");
        Ran(output.expect("the program starts"))
    }

    /// The ids on a queue, which is empty afterwards.
    pub(crate) async fn take_ids(&self, queue: &str) -> Vec<String> {
        let mut ids = Vec::new();
        while let Some(message) = self.sandbox.poll(queue).await {
            ids.push(message.properties.message_id().clone().expect("an id").to_string());
        }
        ids
    }
}

/// What a command did.
pub(crate) struct Ran(Output);

impl Ran {
    pub(crate) fn code(&self) -> Option<i32> {
        self.0.status.code()
    }

    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    /// The output, once the exit code is as it must be.
    pub(crate) fn ended(&self, code: i32) -> String {
        assert_eq!(self.code(), Some(code), "{}\n{}", self.out(), self.err());
        self.out()
    }
}

pub(crate) fn quorum() -> Vec<(&'static str, AMQPValue)> {
    vec![("x-queue-type", AMQPValue::LongString("quorum".into()))]
}

/// The program that was built with these tests.
fn executable() -> PathBuf {
    let own = std::env::current_exe().expect("the test knows itself");
    let profile = own.parent().and_then(std::path::Path::parent).expect("tests are built to target/PROFILE/deps");
    let program = profile.join("reprieve");
    assert!(program.is_file(), "{} is not there: run `cargo xtask test`", program.display());
    program
}
