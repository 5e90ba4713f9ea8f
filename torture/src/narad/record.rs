//! What the rig sends, and whether a copy is still the same.

use serde_json::{Value, json};

use crate::books::{body, id};

/// The sender's own header, with the message's number.
const HEADER: &str = "torture-number";

/// Some have none.
pub(super) fn key(number: u64) -> Option<String> {
    (!number.is_multiple_of(3)).then(|| format!("customer-{}", number % 40))
}

/// A message in the envelope of Narad's Go SDK, which says its id. Its body stands as it is.
pub(super) fn sent(number: u64) -> String {
    let label = json!({ "_narad": 1, "id": id(number), "attempts": 1, "headers": { HEADER: number.to_string() } });
    let label = label.to_string();
    format!("{{\"body\":{},{}", body(number), &label[1..])
}

/// A dead letter as it was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) id: String,
    /// What tells copies apart: when it failed, and at which attempt.
    pub(super) made: String,
    /// Key, body or the sender's header are not what was sent.
    pub(super) altered: bool,
}

impl Letter {
    /// From the answer of a replay.
    pub(super) fn read(answer: &str, number: impl Fn(&str) -> Option<u64>) -> Self {
        let record: Value = serde_json::from_str(answer).unwrap_or_default();
        let label = &record["payload"]["reprieve"];
        let id = label["id"].as_str().unwrap_or_default().to_owned();
        let is_as_sent = number(&id).is_some_and(|number| {
            // The raw text: JSON that is equal is not enough.
            answer.starts_with(&format!("{{\"payload\":{{\"payload\":{},\"delivery_count\":", body(number)))
                && record["key"].as_str() == key(number).as_deref()
                && header(label, HEADER).and_then(Value::as_str) == Some(number.to_string().as_str())
        });
        let shown = |name| header(label, name).map(Value::to_string).unwrap_or_default();
        let made = shown("reprieve-failed-at") + " " + &shown("reprieve-attempts");
        Self { id, made, altered: !is_as_sent }
    }
}

/// The id of a payload on source or tier.
pub(super) fn id_of(payload: &str) -> String {
    let payload: Value = serde_json::from_str(payload).unwrap_or_default();
    let id = payload["id"].as_str().or_else(|| payload["reprieve"]["id"].as_str());
    id.unwrap_or_default().to_owned()
}

fn header<'l>(label: &'l Value, name: &str) -> Option<&'l Value> {
    let mut headers = label["headers"].as_array()?.iter();
    headers.find(|header| header[0] == name).map(|header| &header[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &str, number: &str) -> String {
        let label = json!({ "id": "t-0000006", "headers": [[HEADER, number], ["reprieve-attempts", 4]] });
        format!("{{\"payload\":{{\"payload\":{body},\"delivery_count\":4,\"reprieve\":{label}}},\"topic\":\"t\"}}")
    }

    #[test]
    fn a_letter_is_as_sent_only_with_its_body_to_the_byte_and_its_header() {
        let altered = |body: &str, number: &str| Letter::read(&answer(body, number), |_| Some(6)).altered;
        assert!(!altered(&body(6), "6"));
        assert!(altered("{\"order\":6}", "6"), "other spaces");
        assert!(altered(&body(6), "7"));
        assert_eq!(Letter::read(&answer(&body(6), "6"), |_| Some(6)).made, " 4");
    }

    #[test]
    fn a_payload_says_its_id_in_either_envelope() {
        assert_eq!(id_of(&sent(7)), id(7));
        assert_eq!(id_of(r#"{"payload": 1, "delivery_count": 2, "reprieve": {"id": "t-0000008"}}"#), id(8));
        assert_eq!(id_of("something else"), "");
    }
}
