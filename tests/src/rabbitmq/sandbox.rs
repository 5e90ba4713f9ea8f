//! Queues of one test, and a client that is not ours to look into them.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lapin::options::{
    BasicGetOptions, BasicPublishOptions, ExchangeDeclareOptions, ExchangeDeleteOptions, QueueBindOptions,
    QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties, ExchangeKind};

/// Names that no other test has, and a plain client. What has such a name is deleted in the end, also after a panic.
pub struct Sandbox {
    id: String,
    names: Mutex<BTreeSet<String>>,
    connection: Connection,
    channel: Channel,
}

impl Sandbox {
    /// An empty sandbox on the broker of the tests.
    pub async fn new() -> Self {
        let connection = connect().await;
        let channel = connection.create_channel().await.expect("a channel");
        let id = uuid::Uuid::new_v4().simple().to_string();
        Self { id, names: Mutex::default(), connection, channel }
    }

    /// A name for a queue, exchange or tier of this test; the same for the same `role`.
    pub fn name(&self, role: &str) -> String {
        let name = format!("test.{}.{role}", self.id);
        self.delete_later(&name);
        name
    }

    /// Also deletes the queue and exchange of this name in the end.
    pub fn delete_later(&self, name: &str) {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }

    /// Declares a durable queue with these arguments and gives its name.
    pub async fn queue(&self, role: &str, arguments: &[(&str, AMQPValue)]) -> String {
        let name = self.name(role);
        self.declare(&name, arguments).await.expect("a new queue");
        name
    }

    /// Declares an exchange that passes on to `queue` what has this header, and gives its name.
    pub async fn headers_exchange(&self, role: &str, queue: &str, header: &str, value: &AMQPValue) -> String {
        let name = self.name(role);
        let options = ExchangeDeclareOptions::default();
        let declared =
            self.channel.exchange_declare(name.as_str().into(), ExchangeKind::Headers, options, FieldTable::default());
        declared.await.expect("a new exchange");
        let mut arguments = FieldTable::default();
        arguments.insert("x-match".into(), AMQPValue::LongString("all".into()));
        arguments.insert(header.into(), value.clone());
        let bound = self.channel.queue_bind(
            queue.into(),
            name.as_str().into(),
            "".into(),
            QueueBindOptions::default(),
            arguments,
        );
        bound.await.expect("a binding");
        name
    }

    /// Declares a durable queue of this name; the broker refuses where there is another one.
    ///
    /// # Errors
    /// The broker's refusal.
    pub async fn declare(&self, name: &str, arguments: &[(&str, AMQPValue)]) -> lapin::Result<lapin::Queue> {
        let mut table = FieldTable::default();
        for (argument, value) in arguments {
            table.insert((*argument).into(), value.clone());
        }
        let options = QueueDeclareOptions { durable: true, ..Default::default() };
        self.throw_away().await.queue_declare(name.into(), options, table).await
    }

    /// Publishes straight to a queue.
    pub async fn put(&self, queue: &str, body: &[u8], properties: BasicProperties) {
        self.channel
            .basic_publish("".into(), queue.into(), BasicPublishOptions::default(), body, properties)
            .await
            .expect("a published message");
    }

    /// Takes the next message off a queue, and waits for one for up to ten seconds.
    pub async fn take(&self, queue: &str) -> lapin::message::Delivery {
        self.take_within(queue, Duration::from_secs(10)).await
    }

    /// The same for a message that takes long.
    pub async fn take_within(&self, queue: &str, most: Duration) -> lapin::message::Delivery {
        let taken = tokio::time::timeout(most, async {
            loop {
                if let Some(message) = self.poll(queue).await {
                    return message;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        taken.await.unwrap_or_else(|_| panic!("no message on {queue} within {most:?}"))
    }

    /// Takes the next message off a queue, where there is one.
    pub async fn poll(&self, queue: &str) -> Option<lapin::message::Delivery> {
        let got = self.channel.basic_get(queue.into(), BasicGetOptions { no_ack: true }).await.expect("an answer");
        got.map(|message| message.delivery)
    }

    /// Waits until exactly this many messages are ready on a queue, for up to ten seconds.
    pub async fn wait_for_count(&self, queue: &str, count: u32) {
        let mut seen = None;
        for _ in 0..500 {
            seen = Some(self.count(queue).await);
            if seen == Some(count) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{seen:?} messages on {queue}, not {count}, after ten seconds");
    }

    /// How many messages are ready on a queue.
    pub async fn count(&self, queue: &str) -> u32 {
        let passive = QueueDeclareOptions { passive: true, ..Default::default() };
        let queue = self.channel.queue_declare(queue.into(), passive, FieldTable::default()).await;
        queue.expect("an existing queue").message_count()
    }

    /// Whether there is a queue of this name.
    pub async fn exists(&self, queue: &str) -> bool {
        let passive = QueueDeclareOptions { passive: true, ..Default::default() };
        self.throw_away().await.queue_declare(queue.into(), passive, FieldTable::default()).await.is_ok()
    }

    /// Deletes a queue now.
    pub async fn delete(&self, queue: &str) {
        self.channel.queue_delete(queue.into(), QueueDeleteOptions::default()).await.expect("a deleted queue");
    }

    /// A channel that may be lost to a refusal.
    async fn throw_away(&self) -> Channel {
        self.connection.create_channel().await.expect("a channel")
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let names = std::mem::take(&mut *self.names.lock().unwrap_or_else(PoisonError::into_inner));
        // The test's own runtime may be ending.
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let connection = connect().await;
                let channel = connection.create_channel().await.expect("a channel");
                for name in names {
                    let queue = channel.queue_delete(name.as_str().into(), QueueDeleteOptions::default()).await;
                    let exchange = channel.exchange_delete(name.into(), ExchangeDeleteOptions::default()).await;
                    queue.map(|_| ()).and(exchange).expect("deleting what is not there is fine too");
                }
                connection.close(200, "OK".into()).await.expect("a closed connection");
            });
        });
        if cleaning.join().is_err() && !std::thread::panicking() {
            panic!("the test's queues could not be deleted");
        }
    }
}

async fn connect() -> Connection {
    let url = super::url();
    Connection::connect(&url, ConnectionProperties::default())
        .await
        .unwrap_or_else(|error| panic!("no RabbitMQ at {}: {error}; run `cargo xtask test`", super::URL_VARIABLE))
}
