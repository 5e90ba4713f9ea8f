//! What the broker or the network said, in words for people, and what a refused publish means.

use lapin::protocol::AMQPError;
use lapin::{Error, ErrorKind};

use crate::broker::PublishError;

const PRECONDITION_FAILED: u16 = 406;
const CONTENT_TOO_LARGE: u16 = 311;

/// The broker's own text where there is one, else the client library's.
pub(super) fn reason(error: &Error) -> String {
    match error.kind() {
        ErrorKind::ProtocolError(error) => error.get_message().to_string(),
        ErrorKind::IOError(error) => error.to_string(),
        _ => error.to_string(),
    }
}

/// The reply code of a channel or connection that the broker closed.
pub(super) fn reply_code(error: &Error) -> Option<u16> {
    match error.kind() {
        ErrorKind::ProtocolError(error) => Some(error.get_id()),
        _ => None,
    }
}

/// Whether a publish that ended its channel concerns the message or the route.
pub(super) fn publish_error(target: &str, error: &Error) -> PublishError {
    match error.kind() {
        ErrorKind::ProtocolError(refusal) => refused(target, refusal),
        _ => PublishError::Outage(format!("publishing to {target}: {}", reason(error))),
    }
}

fn refused(target: &str, refusal: &AMQPError) -> PublishError {
    let text = format!("publishing to {target}: {}", refusal.get_message());
    match refusal.get_id() {
        CONTENT_TOO_LARGE => PublishError::TooLarge(text),
        PRECONDITION_FAILED if text.contains("message size") && text.contains("larger than") => {
            PublishError::TooLarge(text)
        }
        PRECONDITION_FAILED => PublishError::Refused(text),
        // A missing exchange, a missing permission, a broker that shuts down: the next message fares no better.
        _ => PublishError::Outage(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classified(code: u16, text: &str) -> PublishError {
        let error = AMQPError::from_id(code, text.into()).expect("a code of the protocol");
        publish_error("orders.dlq", &ErrorKind::ProtocolError(error).into())
    }

    #[test]
    fn what_concerns_the_message_is_told_apart_from_what_concerns_the_route() {
        let too_large = "PRECONDITION_FAILED - message size 134217729 is larger than configured max size 134217728";
        assert!(matches!(classified(406, too_large), PublishError::TooLarge(_)));
        assert!(matches!(classified(406, "PRECONDITION_FAILED - invalid expiration"), PublishError::Refused(_)));
        assert!(matches!(classified(404, "NOT_FOUND - no exchange 'x'"), PublishError::Outage(_)));
        assert!(matches!(classified(403, "ACCESS_REFUSED"), PublishError::Outage(_)));
        assert!(matches!(classified(320, "CONNECTION_FORCED"), PublishError::Outage(_)));
    }

    #[test]
    fn the_target_and_the_broker_s_words_are_in_the_text() {
        let text = classified(404, "NOT_FOUND - no exchange 'x'").to_string();
        assert_eq!(text, "publishing to orders.dlq: NOT_FOUND - no exchange 'x'");
    }
}
