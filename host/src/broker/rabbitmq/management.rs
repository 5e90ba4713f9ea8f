//! The HTTP API of RabbitMQ's management plugin, for what AMQP does not show: policies, bindings, the version.
//!
//! Only read. An answer that cannot be had is a sentence that says why; nobody fails for it.

mod bindings;

use std::fmt;
use std::time::Duration;

use reqwest::{Client, StatusCode, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, sleep};

pub(super) use self::bindings::Reached;
use super::queue_facts::QueueFacts;
use crate::broker::{BrokerError, login};
use crate::http_client;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// The plugin learns of a new queue's policies within some five seconds, where nobody changed that.
const POLICIES_TIMEOUT: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(500);

/// What `GET /api/queues/…` says, of what is used.
#[derive(serde::Deserialize)]
struct Queue {
    durable: bool,
    auto_delete: bool,
    #[serde(rename = "type")]
    queue_type: Option<String>,
    arguments: Value,
    /// Absent until the plugin has heard from the queue.
    effective_policy_definition: Option<Value>,
    policy: Option<String>,
    operator_policy: Option<String>,
}

/// A management API and the login for it.
pub(super) struct Management {
    client: Client,
    base: Url,
    user: String,
    password: String,
}

impl Management {
    /// Reads the URL of the broker with this name. Connects to nothing.
    pub(super) fn new(broker: &str, url: &str) -> Result<Self, BrokerError> {
        let unfit = |what: &str| {
            BrokerError::Unfit(format!(
                "`management` of broker '{broker}' {what}: write it as http://user:password@host:15672"
            ))
        };
        let mut base: Url = url.parse().map_err(|_| unfit("is not an address"))?;
        if base.scheme() != "http" || base.cannot_be_a_base() {
            return Err(unfit("is not an HTTP address"));
        }
        let (user, password) = login::take(&mut base).map_err(unfit)?;
        // A proxy of the system would be shown the login.
        let client = http_client::builder().timeout(ANSWER_TIMEOUT).no_proxy().build();
        let client = client.map_err(|_| unfit("cannot be used, since the system gives no HTTP client"))?;
        Ok(Self { client, base, user, password })
    }

    /// The broker's version.
    pub(super) async fn version(&self) -> Result<String, String> {
        #[derive(serde::Deserialize)]
        struct Overview {
            rabbitmq_version: String,
        }
        Ok(self.get::<Overview>(&["overview"]).await?.rabbitmq_version)
    }

    /// How a queue was declared and what policies say of it. They are not seen where the plugin hears nothing from the
    /// queue, because its statistics are off.
    pub(super) async fn queue(&self, virtual_host: &str, name: &str) -> Result<QueueFacts, String> {
        let deadline = Instant::now() + POLICIES_TIMEOUT;
        loop {
            let queue: Queue = self.get(&["queues", virtual_host, name]).await?;
            let queue_type = queue.queue_type.as_deref().unwrap_or("classic");
            let facts = QueueFacts::new(queue_type, queue.durable, queue.auto_delete).with_arguments(&queue.arguments);
            if let Some(policies) = &queue.effective_policy_definition {
                let names = [&queue.policy, &queue.operator_policy];
                let names: Vec<&str> = names.into_iter().flatten().map(String::as_str).collect();
                return Ok(facts.with_policies(policies, &names.join("', '")));
            }
            if Instant::now() >= deadline {
                return Ok(facts);
            }
            sleep(POLL).await;
        }
    }

    async fn get<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, String> {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push("api").extend(path);
        }
        let request = self.client.get(url).basic_auth(&self.user, Some(&self.password));
        let answer = request.send().await.map_err(|error| format!("{self}: {}", deepest(&error.without_url())))?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED => {
                return Err(format!(
                    "{self} does not let this user in: correct the login, or give the user the tag `management`"
                ));
            }
            StatusCode::NOT_FOUND => return Err(format!("{self} does not know it")),
            status => return Err(format!("{self} answered {status}")),
        }
        let body = answer.bytes().await.map_err(|error| format!("{self}: {}", deepest(&error.without_url())))?;
        serde_json::from_slice(&body).map_err(|error| format!("{self} answered something else than expected: {error}"))
    }
}

/// `the management API at mq:15672`.
impl fmt::Display for Management {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.base.host_str().unwrap_or_default();
        write!(f, "the management API at {host}:{}", self.base.port_or_known_default().unwrap_or_default())
    }
}

/// What the network said; the errors around it say only that something went wrong.
fn deepest(error: &reqwest::Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_decoded_and_never_shown() {
        let management = Management::new("main", "http://wat%20cher:s3%2fcret@[::1]:15672/prefix/").unwrap();
        assert_eq!((management.user.as_str(), management.password.as_str()), ("wat cher", "s3/cret"));
        assert_eq!(management.to_string(), "the management API at [::1]:15672");
        for url in ["https://u:s3cret@mq", "mailto:s3cret", "s3cret"] {
            let text = Management::new("main", url).err().expect("must be refused").to_string();
            assert!(text.contains("'main'") && !text.contains("s3cret"), "{text}");
        }
    }
}
