//! Publishing: a message counts once a node has answered 202, which it does with the message on its disk.

use std::time::Duration;

use reqwest::StatusCode;

use super::envelope::seal;
use super::nodes::{Call, NoReply, Nodes, Reply};
use super::settings::Envelope;
use crate::broker::PublishError;
use crate::message::Message;

/// Publishes one message to a topic.
pub(super) struct Publisher<'a> {
    pub(super) nodes: &'a Nodes,
    pub(super) prefixes: &'a [String],
    pub(super) timeout: Duration,
}

impl Publisher<'_> {
    pub(super) async fn publish(
        &self,
        topic: &str,
        message: &Message,
        back_to: Option<&str>,
        form: &Envelope,
    ) -> Result<(), PublishError> {
        let mut call = Call::post(&["v1", "topics", topic, "produce"], self.timeout);
        call = call.with_body(seal(message, back_to, form, self.prefixes)?);
        if let Some(key) = message.key.as_ref().filter(|key| !key.is_empty()) {
            call = call.with("key", key);
        }
        match self.nodes.ask(&call).await {
            Ok(reply) if reply.status == StatusCode::ACCEPTED => Ok(()),
            Ok(reply) => Err(self.refused(topic, &reply)),
            Err(NoReply::Unsent(why)) => Err(PublishError::Outage(why)),
            // The next try may make it two, which is better than none.
            Err(NoReply::Unanswered(why)) => {
                Err(PublishError::Outage(format!("{why}, so whether '{topic}' has the message is not known")))
            }
        }
    }

    fn refused(&self, topic: &str, reply: &Reply) -> PublishError {
        let said = format!("{} answered {} to a message for '{topic}'", self.nodes, reply.shown());
        match reply.status {
            StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => PublishError::TooLarge(said),
            // The topic's schema does not allow it, say.
            StatusCode::BAD_REQUEST => PublishError::Refused(said),
            StatusCode::NOT_FOUND => PublishError::Outage(format!("{said}: create that topic")),
            StatusCode::CONFLICT => PublishError::Outage(format!("{said}: name its parent, or another topic")),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                PublishError::Outage(format!("{said}: correct the login, or give its user the grant to produce there"))
            }
            _ => PublishError::Outage(said),
        }
    }
}
