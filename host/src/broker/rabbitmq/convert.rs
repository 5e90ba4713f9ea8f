//! Messages to and from AMQP's properties: each property is named here, so nothing travels by accident.
//!
//! Not carried: `user-id` (the broker checks it against our own login, and the sender's is not ours) and
//! [`Message::key`](crate::message::Message::key), which AMQP has no place for. `delivery-mode` is always
//! persistent. A timestamp has whole seconds here.

mod size;
mod values;

use lapin::BasicProperties;
use lapin::types::ShortString;

pub(super) use size::content_header_frame;

use crate::broker::PublishError;
use crate::message::{Message, Properties};
use crate::timestamp::Timestamp;

const PERSISTENT: u8 = 2;

/// Sets one text property.
type Setter = fn(BasicProperties, ShortString) -> BasicProperties;

/// The message that came with these properties and this body, without copying the body.
pub(super) fn message(properties: &BasicProperties, body: Vec<u8>) -> Message {
    let text = |property: &Option<ShortString>| property.as_ref().map(|text| text.as_str().to_owned());
    Message {
        id: text(properties.message_id()),
        key: None,
        headers: properties.headers().as_ref().map(values::headers).unwrap_or_default(),
        body: Some(body.into()),
        properties: Properties {
            content_type: text(properties.content_type()),
            content_encoding: text(properties.content_encoding()),
            correlation_id: text(properties.correlation_id()),
            reply_to: text(properties.reply_to()),
            message_type: text(properties.kind()),
            app_id: text(properties.app_id()),
            user_id: text(properties.user_id()),
            cluster_id: text(properties.cluster_id()),
            priority: *properties.priority(),
            expiration: text(properties.expiration()),
        },
        timestamp: properties.timestamp().map(|seconds| Timestamp(seconds.saturating_mul(1000))),
    }
}

/// The properties to publish `message` with. Refuses what AMQP has no room for: names and properties over 255
/// bytes.
pub(super) fn properties(message: &Message) -> Result<BasicProperties, PublishError> {
    let Properties {
        content_type,
        content_encoding,
        correlation_id,
        reply_to,
        message_type,
        app_id,
        user_id: _,
        cluster_id,
        priority,
        expiration,
    } = &message.properties;
    let mut made = BasicProperties::default().with_delivery_mode(PERSISTENT);
    let texts: [(&str, &Option<String>, Setter); 9] = [
        ("message-id", &message.id, BasicProperties::with_message_id),
        ("content-type", content_type, BasicProperties::with_content_type),
        ("content-encoding", content_encoding, BasicProperties::with_content_encoding),
        ("correlation-id", correlation_id, BasicProperties::with_correlation_id),
        ("reply-to", reply_to, BasicProperties::with_reply_to),
        ("type", message_type, BasicProperties::with_type),
        ("app-id", app_id, BasicProperties::with_app_id),
        ("cluster-id", cluster_id, BasicProperties::with_cluster_id),
        ("expiration", expiration, BasicProperties::with_expiration),
    ];
    for (name, text, with) in texts {
        if let Some(text) = text {
            made = with(made, short(text, || format!("property {name}"))?);
        }
    }
    if let Some(priority) = priority {
        made = made.with_priority(*priority);
    }
    if let Some(timestamp) = message.timestamp {
        made = made.with_timestamp(timestamp.0 / 1000);
    }
    if !message.headers.is_empty() {
        made = made.with_headers(values::table(&message.headers)?);
    }
    Ok(made)
}

/// `text` as a short string, or why it cannot be one.
pub(super) fn short(text: &str, what: impl FnOnce() -> String) -> Result<ShortString, PublishError> {
    ShortString::try_new(text)
        .map_err(|_| PublishError::TooLarge(format!("{} has {} bytes, and AMQP allows 255", what(), text.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full_message() -> Message {
        let text = |text: &str| Some(text.to_owned());
        Message {
            id: text("id-1"),
            key: None,
            headers: [("tenant".to_owned(), "acme".into())].into_iter().collect(),
            body: Some("body".into()),
            properties: Properties {
                content_type: text("application/json"),
                content_encoding: text("gzip"),
                correlation_id: text("c-1"),
                reply_to: text("replies"),
                message_type: text("order.created"),
                app_id: text("shop"),
                user_id: None,
                cluster_id: text("east"),
                priority: Some(7),
                expiration: text("60000"),
            },
            timestamp: Some(Timestamp(1_700_000_000_000)),
        }
    }

    #[test]
    fn every_property_survives_both_ways() {
        let message_in = full_message();
        let made = properties(&message_in).unwrap();
        assert_eq!(message(&made, b"body".to_vec()), message_in);
        assert_eq!(*made.delivery_mode(), Some(PERSISTENT));
    }

    #[test]
    fn a_user_id_is_read_and_never_sent() {
        let sent = BasicProperties::default().with_user_id("guest".into());
        let mut received = message(&sent, Vec::new());
        assert_eq!(received.properties.user_id.as_deref(), Some("guest"));
        received.id = Some("id-1".into());
        assert_eq!(*properties(&received).unwrap().user_id(), None);
    }

    #[test]
    fn what_a_message_does_not_have_is_not_sent() {
        let made = properties(&Message::new("body")).unwrap();
        assert_eq!(made, BasicProperties::default().with_delivery_mode(PERSISTENT));
    }

    #[test]
    fn an_absurd_timestamp_saturates() {
        let sent = BasicProperties::default().with_timestamp(u64::MAX);
        assert_eq!(message(&sent, Vec::new()).timestamp, Some(Timestamp(u64::MAX)));
    }

    #[test]
    fn a_property_that_amqp_has_no_room_for_is_too_large() {
        let mut message = full_message();
        message.properties.correlation_id = Some("c".repeat(256));
        let error = properties(&message).unwrap_err();
        assert_eq!(
            error,
            PublishError::TooLarge("property correlation-id has 256 bytes, and AMQP allows 255".to_owned())
        );
    }
}
