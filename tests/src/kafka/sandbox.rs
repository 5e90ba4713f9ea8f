//! Topics of one test, and a client that is not ours to look into them.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::{Offset, TopicPartitionList};

use super::{DEADLINE, Record};

/// Names that no other test has, and a plain client. What has such a name is deleted in the end, also after a panic.
pub struct Sandbox {
    id: String,
    pub(super) server: String,
    names: Mutex<BTreeSet<String>>,
    admin: AdminClient<DefaultClientContext>,
    producer: FutureProducer,
}

impl Sandbox {
    /// An empty sandbox on the broker of the tests.
    #[must_use]
    pub fn new() -> Self {
        Self::on(&super::address())
    }

    /// An empty sandbox on the broker at `host:port`.
    ///
    /// # Panics
    /// Where the client cannot be made.
    #[must_use]
    pub fn on(server: &str) -> Self {
        let id = uuid::Uuid::new_v4().simple().to_string();
        let mut config = config(server);
        let admin = config.create().expect("a client");
        let producer = config.set("acks", "all").set("linger.ms", "0").create().expect("a producer");
        Self { id, server: server.to_owned(), names: Mutex::default(), admin, producer }
    }

    /// A name for a topic, group or route of this test; the same for the same `role`.
    pub fn name(&self, role: &str) -> String {
        let name = format!("test.{}.{role}", self.id);
        self.delete_later(&name);
        name
    }

    /// Also deletes the topic of this name in the end.
    pub fn delete_later(&self, name: &str) {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }

    /// Creates a topic with so many partitions and this configuration, and gives its name.
    pub async fn topic(&self, role: &str, partitions: i32, config: &[(&str, &str)]) -> String {
        let name = self.name(role);
        self.create(&name, partitions, config).await;
        name
    }

    /// Creates a topic of this name.
    pub async fn create(&self, name: &str, partitions: i32, config: &[(&str, &str)]) {
        let topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
        let topic = config.iter().fold(topic, |topic, (name, value)| topic.set(name, value));
        let created = self.admin.create_topics([&topic], &options()).await.expect("an answer");
        created.into_iter().for_each(|topic| drop(topic.expect("a new topic")));
        let wanted = usize::try_from(partitions).expect("a topic has partitions");
        self.wait_for_topic(name, |partitions| partitions == Some(wanted)).await;
    }

    /// Deletes a topic now, and waits until the broker knows nothing of it.
    pub async fn delete(&self, topic: &str) {
        let deleted = self.admin.delete_topics(&[topic], &options()).await.expect("an answer");
        deleted.into_iter().for_each(|topic| drop(topic.expect("a deleted topic")));
        self.wait_for_topic(topic, |partitions| partitions.is_none()).await;
    }

    /// The number of a topic's partitions, where there is such a topic.
    pub async fn partitions(&self, topic: &str) -> Option<usize> {
        let topic = topic.to_owned();
        self.ask(move |client| {
            let metadata = client.fetch_metadata(Some(&topic), DEADLINE).expect("an answer");
            let found = metadata.topics().iter().find(|found| found.name() == topic && found.error().is_none());
            found.map(|topic| topic.partitions().len()).filter(|partitions| *partitions > 0)
        })
        .await
    }

    /// What a topic's configuration says of this name.
    pub async fn configured(&self, topic: &str, name: &str) -> Option<String> {
        let topic = [ResourceSpecifier::Topic(topic)];
        let mut described = self.admin.describe_configs(&topic, &options()).await.expect("an answer");
        let described = described.remove(0).expect("a topic");
        described.get(name).and_then(|entry| entry.value.clone())
    }

    /// Puts a record on a topic, and gives its partition and offset.
    pub async fn put(&self, topic: &str, record: &Record) -> (i32, i64) {
        let sent = FutureRecord::<[u8], [u8]> {
            topic,
            partition: record.partition,
            payload: record.value.as_deref(),
            key: record.key.as_deref(),
            timestamp: record.timestamp,
            headers: record.owned_headers(),
        };
        let kept = self.producer.send(sent, DEADLINE).await.map_err(|(error, _)| error).expect("a record that is kept");
        (kept.partition, kept.offset)
    }

    /// All that a topic holds now, by partition and offset.
    pub async fn read(&self, topic: &str) -> Vec<Record> {
        let Some(partitions) = self.partitions(topic).await else { panic!("there is no topic {topic}") };
        let topic = topic.to_owned();
        self.ask(move |client| {
            let mut wanted = TopicPartitionList::new();
            let partitions = 0..i32::try_from(partitions).expect("few partitions");
            for partition in partitions.clone() {
                let place = wanted.add_partition_offset(&topic, partition, Offset::Beginning);
                place.expect("an offset");
            }
            client.assign(&wanted).expect("an assignment");
            let mut records = Vec::new();
            let mut open = partitions.len();
            while open > 0 {
                match client.poll(DEADLINE).expect("records, or the end of a partition") {
                    Ok(record) => records.push(Record::read(&record)),
                    Err(rdkafka::error::KafkaError::PartitionEOF(_)) => open -= 1,
                    Err(error) => panic!("reading {topic}: {error}"),
                }
            }
            records.sort_by_key(|record| (record.partition, record.offset));
            records
        })
        .await
    }

    /// Waits until a topic holds exactly so many records, and gives them.
    pub async fn wait_for_count(&self, topic: &str, count: usize) -> Vec<Record> {
        let begun = Instant::now();
        loop {
            let records = self.read(topic).await;
            if records.len() == count {
                return records;
            }
            assert!(begun.elapsed() < DEADLINE, "{} records on {topic}, not {count}: {records:#?}", records.len());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn wait_for_topic(&self, topic: &str, mut wanted: impl FnMut(Option<usize>) -> bool) {
        let begun = Instant::now();
        while !wanted(self.partitions(topic).await) {
            assert!(begun.elapsed() < DEADLINE, "topic {topic} is not as wanted in time");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Asks with a fresh consumer, away from the threads of the test.
    pub(super) async fn ask<T: Send + 'static>(&self, ask: impl FnOnce(&BaseConsumer) -> T + Send + 'static) -> T {
        self.ask_as("reprieve-test-onlooker", ask).await
    }

    /// The same in the name of a group, which is not joined by that.
    pub(super) async fn ask_as<T: Send + 'static>(
        &self,
        group: &str,
        ask: impl FnOnce(&BaseConsumer) -> T + Send + 'static,
    ) -> T {
        let mut config = config(&self.server);
        config.set("group.id", group).set("enable.auto.commit", "false").set("enable.partition.eof", "true");
        config.set("auto.offset.reset", "earliest").set("fetch.wait.max.ms", "10");
        let asked = tokio::task::spawn_blocking(move || ask(&config.create().expect("a consumer")));
        asked.await.expect("the answer was not as it should be")
    }
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let names = std::mem::take(&mut *self.names.lock().unwrap_or_else(PoisonError::into_inner));
        if names.is_empty() {
            return;
        }
        let admin: AdminClient<_> = config(&self.server).create().expect("a client");
        // The test's own runtime may be ending.
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            runtime.block_on(async {
                let groups = admin.delete_groups(&names, &AdminOptions::new().request_timeout(Some(DEADLINE))).await;
                let topics = admin.delete_topics(&names, &options()).await;
                // Most names are none of groups, and one with members that are just leaving cannot be deleted.
                drop(groups.expect("an answer of the broker"));
                for (topic, error) in topics.expect("an answer of the broker").into_iter().filter_map(Result::err) {
                    assert_eq!(error, RDKafkaErrorCode::UnknownTopicOrPartition, "deleting {topic}");
                }
            });
        });
        if cleaning.join().is_err() && !std::thread::panicking() {
            panic!("the test's topics could not be deleted");
        }
    }
}

pub(super) fn config(server: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", server).set("client.id", "reprieve-test");
    // A connection that is lost is not to be missed for long.
    config.set("reconnect.backoff.ms", "20").set("reconnect.backoff.max.ms", "500");
    config
}

fn options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(DEADLINE)).operation_timeout(Some(DEADLINE))
}
