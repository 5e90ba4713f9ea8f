//! What a cluster is asked beside the records: its topics, their settings, and positions in them.
//!
//! The client library's questions block, so each runs on a thread for such.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, ConfigEntry, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::{ClientConfig, ClientContext, Offset, Statistics, TopicPartitionList};

use super::off_runtime::OffRuntime;
use super::{KafkaSettings, log};
use crate::broker::BrokerError;

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A cluster that is asked for one group.
#[derive(Clone)]
pub(super) struct Cluster {
    name: Arc<str>,
    servers: Arc<str>,
    config: ClientConfig,
    client: Arc<OffRuntime<BaseConsumer<Quiet>>>,
}

/// A topic as it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) partitions: i32,
    /// The fewest replicas that one of its partitions has.
    pub(super) replicas: usize,
}

/// What a group has committed on a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Committed {
    /// The record to go on with; `None`: the group has committed nothing there.
    pub(super) offset: Option<i64>,
    pub(super) metadata: String,
}

/// A topic's own settings by their names, and what holds where it has none.
pub(super) type TopicSettings = BTreeMap<String, String>;

impl Cluster {
    /// Prepares to ask. Connects when it is first asked. `group` is only looked at: this joins none.
    ///
    /// # Errors
    /// The client library takes the settings not all together.
    pub(super) fn new(settings: &KafkaSettings, group: &str) -> Result<Self, BrokerError> {
        let mut config = settings.client_config();
        config.set("group.id", group).set("enable.auto.commit", "false").set("allow.auto.create.topics", "false");
        let name: Arc<str> = settings.name.as_str().into();
        let context = Quiet { broker: Arc::clone(&name) };
        let client: BaseConsumer<Quiet> =
            config.create_with_context(context).map_err(|error| unfit_settings(&settings.name, &error))?;
        let client = Arc::new(OffRuntime::new(client));
        let servers = settings.servers.join(",").into();
        Ok(Self { name, servers, config: settings.client_config(), client })
    }

    /// Closes the connections, and returns when they are closed, where no question is open.
    pub(super) fn end(self) {
        if let Some(client) = Arc::into_inner(self.client) {
            client.end();
        }
    }

    /// Every topic of the cluster by its name.
    pub(super) async fn topics(&self) -> Result<BTreeMap<String, Found>, BrokerError> {
        let there = |client: &BaseConsumer<Quiet>| {
            let metadata = client.fetch_metadata(None, PATIENCE)?;
            let topics = metadata.topics().iter().filter(|topic| topic.error().is_none());
            Ok(topics.map(|topic| (topic.name().to_owned(), found(topic))).collect())
        };
        self.ask(there).await
    }

    /// One topic; `None` where there is none.
    pub(super) async fn topic(&self, name: &str) -> Result<Option<Found>, BrokerError> {
        let name = name.to_owned();
        let there = move |client: &BaseConsumer<Quiet>| {
            let metadata = client.fetch_metadata(Some(&name), PATIENCE)?;
            let topic = metadata.topics().iter().find(|topic| topic.name() == name && topic.error().is_none());
            Ok(topic.map(found).filter(|found| found.partitions > 0))
        };
        self.ask(there).await
    }

    /// The first offset that is there and the one behind the last, for each partition.
    pub(super) async fn bounds(&self, topic: &str, partitions: i32) -> Result<Vec<(i64, i64)>, BrokerError> {
        let topic = topic.to_owned();
        self.ask(move |client| {
            (0..partitions).map(|partition| client.fetch_watermarks(&topic, partition, PATIENCE)).collect()
        })
        .await
    }

    /// What the group has committed on each partition.
    pub(super) async fn committed(&self, topic: &str, partitions: i32) -> Result<Vec<Committed>, BrokerError> {
        let mut asked = TopicPartitionList::new();
        asked.add_partition_range(topic, 0, partitions - 1);
        let answered = self.ask(move |client| client.committed_offsets(asked, PATIENCE)).await?;
        let mut committed =
            vec![Committed { offset: None, metadata: String::new() }; usize::try_from(partitions).unwrap_or(0)];
        for partition in answered.elements() {
            partition.error().map_err(|error| self.unreachable(&error))?;
            let place = usize::try_from(partition.partition()).ok().and_then(|number| committed.get_mut(number));
            if let (Some(place), Offset::Offset(offset)) = (place, partition.offset()) {
                *place = Committed { offset: Some(offset), metadata: partition.metadata().to_owned() };
            }
        }
        Ok(committed)
    }

    /// How many members the group has now.
    pub(super) async fn members(&self, group: &str) -> Result<usize, BrokerError> {
        let group = group.to_owned();
        let members = move |client: &BaseConsumer<Quiet>| {
            let groups = client.fetch_group_list(Some(&group), PATIENCE)?;
            Ok(groups.groups().iter().map(|group| group.members().len()).sum())
        };
        self.ask(members).await
    }

    /// The settings of topics; an error of its own for each that cannot be described.
    pub(super) async fn settings(
        &self,
        topics: &[&str],
    ) -> Result<BTreeMap<String, Result<TopicSettings, String>>, BrokerError> {
        let admin = self.admin()?;
        let asked: Vec<_> = topics.iter().map(|name| ResourceSpecifier::Topic(name)).collect();
        let options = AdminOptions::new().request_timeout(Some(PATIENCE));
        let answered = admin.describe_configs(&asked, &options).await.map_err(|error| self.unreachable(&error))?;
        let described = answered.into_iter().zip(topics).map(|(answer, name)| {
            let settings = answer.map(|resource| settings(resource.entries)).map_err(|code| code.to_string());
            ((*name).to_owned(), settings)
        });
        Ok(described.collect())
    }

    /// Creates a topic with as many replicas as the cluster gives by default. One that was made meanwhile is as good.
    pub(super) async fn create(
        &self,
        name: &str,
        partitions: i32,
        settings: &[(&str, String)],
    ) -> Result<(), BrokerError> {
        let mut topic = NewTopic::new(name, partitions, TopicReplication::Fixed(-1));
        for (name, value) in settings {
            topic = topic.set(name, value);
        }
        let admin = self.admin()?;
        let options = AdminOptions::new().request_timeout(Some(PATIENCE)).operation_timeout(Some(PATIENCE));
        let answered = admin.create_topics(&[topic], &options).await.map_err(|error| self.unreachable(&error))?;
        match answered.into_iter().next() {
            None | Some(Ok(_) | Err((_, Code::TopicAlreadyExists))) => Ok(()),
            Some(Err((name, code))) => Err(BrokerError::Unfit(format!(
                "topic '{name}' on broker '{}' cannot be created: {code}; create it, or let the user of this broker create topics",
                self.name
            ))),
        }
    }

    fn admin(&self) -> Result<OffRuntime<AdminClient<DefaultClientContext>>, BrokerError> {
        self.config.create().map(OffRuntime::new).map_err(|error| unfit_settings(&self.name, &error))
    }

    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&BaseConsumer<Quiet>) -> Result<T, KafkaError> + Send + 'static,
    ) -> Result<T, BrokerError> {
        let client = Arc::clone(&self.client);
        let asked = tokio::task::spawn_blocking(move || {
            // Nothing is assigned: this only takes what the library logged meanwhile.
            while client.poll(Duration::ZERO).is_some() {}
            question(&client)
        });
        match asked.await {
            Ok(answer) => answer.map_err(|error| self.unreachable(&error)),
            Err(error) => Err(BrokerError::Lost { source_topic: self.servers.to_string(), reason: error.to_string() }),
        }
    }

    fn unreachable(&self, error: &KafkaError) -> BrokerError {
        let reason = match error.rdkafka_error_code() {
            Some(Code::BrokerTransportFailure | Code::AllBrokersDown | Code::OperationTimedOut | Code::Resolve) => {
                format!(
                    "no answer within {PATIENCE:?}: see that the address is right, and that `security.protocol` in `settings` is what \
                 that port speaks"
                )
            }
            Some(code) => code.to_string(),
            None => error.to_string(),
        };
        BrokerError::Unreachable { broker: format!("{} ({})", self.name, self.servers), reason }
    }
}

/// What the client library says of settings that it does not take together. It repeats no values here.
pub(super) fn unfit_settings(broker: &str, error: &KafkaError) -> BrokerError {
    let words = match error {
        KafkaError::ClientCreation(words) => words.clone(),
        // Its text has the value.
        KafkaError::ClientConfig(_, _, name, _) => format!("it does not take the value of `{name}`"),
        other => other.to_string(),
    };
    BrokerError::Unfit(format!("the settings of broker '{broker}' cannot be used: librdkafka says: {words}"))
}

fn found(topic: &rdkafka::metadata::MetadataTopic) -> Found {
    let partitions = topic.partitions();
    Found {
        partitions: i32::try_from(partitions.len()).unwrap_or(i32::MAX),
        replicas: partitions.iter().map(|partition| partition.replicas().len()).min().unwrap_or(0),
    }
}

fn settings(entries: Vec<ConfigEntry>) -> TopicSettings {
    entries.into_iter().filter_map(|entry| Some((entry.name, entry.value?))).collect()
}

/// A client that consumes nothing.
struct Quiet {
    broker: Arc<str>,
}

impl ClientContext for Quiet {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        log::line(&self.broker, level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        log::error(&self.broker, &error, reason);
    }

    fn stats(&self, _: Statistics) {}
}

impl ConsumerContext for Quiet {}
