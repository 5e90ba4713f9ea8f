//! How an existing queue was declared, as far as AMQP lets a client find out.
//!
//! Declaring a queue again with another argument is refused, and the refusal names the argument and its value. So
//! the declaration is learned one argument at a time, until the broker agrees. What a *policy* of the broker sets
//! on top is not seen.

use std::collections::BTreeMap;

use lapin::options::QueueDeclareOptions;
use lapin::types::{AMQPValue, FieldTable, ShortString};
use serde_json::Value;

use super::queue_facts::QueueFacts;
use super::topology::{Topology, text};
use crate::broker::BrokerError;

/// More arguments than RabbitMQ knows.
const MOST_ARGUMENTS: usize = 32;

/// What a queue was declared with.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Declaration {
    durable: bool,
    auto_delete: bool,
    arguments: BTreeMap<String, AMQPValue>,
}

impl Declaration {
    /// The same, as whoever checks queues reads it.
    pub(super) fn facts(&self) -> QueueFacts {
        let queue_type = match self.arguments.get("x-queue-type") {
            Some(AMQPValue::LongString(text)) => String::from_utf8_lossy(text.as_bytes()).into_owned(),
            _ => "classic".to_owned(),
        };
        let arguments = self.arguments.iter().map(|(name, value)| (name.clone(), plain(value))).collect();
        QueueFacts::new(&queue_type, self.durable, self.auto_delete).with_arguments(&Value::Object(arguments))
    }

    fn options(&self) -> QueueDeclareOptions {
        QueueDeclareOptions { durable: self.durable, auto_delete: self.auto_delete, ..Default::default() }
    }

    fn table(&self) -> Option<FieldTable> {
        let mut table = FieldTable::default();
        for (name, value) in &self.arguments {
            table.insert(ShortString::try_new(name.as_str()).ok()?, value.clone());
        }
        Some(table)
    }

    /// Takes over what a refusal said; false where it said nothing that could be understood.
    fn learn(&mut self, refusal: &str) -> bool {
        let Some(difference) = Difference::read(refusal) else { return false };
        match (difference.name, difference.value) {
            ("durable", Some(value)) => self.durable = value == "true",
            ("auto_delete", Some(value)) => self.auto_delete = value == "true",
            (name, None) => return self.arguments.remove(name).is_some(),
            (name, Some(value)) => {
                let typed = match (difference.kind, self.arguments.get(name)) {
                    (Some("longstr"), _) | (None, Some(AMQPValue::LongString(_))) => text(value),
                    (Some("bool"), _) | (None, Some(AMQPValue::Boolean(_))) => AMQPValue::Boolean(value == "true"),
                    // The broker compares whole numbers by value, whatever their width.
                    _ => match value.parse() {
                        Ok(number) => AMQPValue::LongLongInt(number),
                        Err(_) => return false,
                    },
                };
                self.arguments.insert(name.to_owned(), typed);
            }
        }
        true
    }
}

/// One of the values that [`Declaration::learn`] makes.
fn plain(value: &AMQPValue) -> Value {
    match value {
        AMQPValue::LongString(text) => String::from_utf8_lossy(text.as_bytes()).into_owned().into(),
        AMQPValue::Boolean(flag) => (*flag).into(),
        AMQPValue::LongLongInt(number) => (*number).into(),
        _ => Value::Null,
    }
}

/// `inequivalent arg 'NAME' for queue …: received … but current is …`
struct Difference<'a> {
    name: &'a str,
    /// The value that the queue has; none where it has no such argument.
    value: Option<&'a str>,
    /// The broker's name for the value's type, where it tells.
    kind: Option<&'a str>,
}

impl<'a> Difference<'a> {
    fn read(refusal: &'a str) -> Option<Self> {
        let (_, rest) = refusal.split_once("inequivalent arg '")?;
        let (name, rest) = rest.split_once('\'')?;
        let (_, current) = rest.rsplit_once("but current is ")?;
        if current == "none" {
            return Some(Self { name, value: None, kind: None });
        }
        let quoted = current.strip_prefix("the value ").unwrap_or(current).strip_prefix('\'')?;
        let (value, kind) = match quoted.rsplit_once("' of type '") {
            Some((value, kind)) => (value, Some(kind.strip_suffix('\'')?)),
            None => (quoted.strip_suffix('\'')?, None),
        };
        Some(Self { name, value: Some(value), kind })
    }
}

/// Finds out how `queue`, which exists, was declared. The inner error says why that cannot be told.
pub(super) async fn learn(topology: &Topology<'_>, queue: &str) -> Result<Result<Declaration, String>, BrokerError> {
    // What most queues are. Were the queue deleted at this very moment, it would come back as the last guess.
    let mut guess = Declaration { durable: true, auto_delete: false, arguments: BTreeMap::new() };
    for _ in 0..MOST_ARGUMENTS {
        let Some(table) = guess.table() else { break };
        match topology.queue(queue, guess.options(), table).await? {
            Ok(()) => return Ok(Ok(guess)),
            Err(refusal) => {
                let known = guess.clone();
                if !guess.learn(&refusal.to_string()) || guess == known {
                    return Ok(Err(refusal.to_string()));
                }
            }
        }
    }
    Ok(Err("its arguments could not be told".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Declaration {
        Declaration { durable: true, auto_delete: false, arguments: BTreeMap::new() }
    }

    fn refusal(argument: &str, rest: &str) -> String {
        format!("PRECONDITION_FAILED - inequivalent arg '{argument}' for queue 'it's' in vhost '/': {rest}")
    }

    #[test]
    fn a_declaration_is_learned_from_the_broker_s_refusals() {
        let mut guess = plain();
        for (argument, rest) in [
            ("durable", "received 'true' but current is 'false'"),
            ("auto_delete", "received 'false' but current is 'true'"),
            ("x-queue-type", "received none but current is the value 'quorum' of type 'longstr'"),
            ("x-dead-letter-exchange", "received none but current is the value '' of type 'longstr'"),
            ("x-max-length", "received none but current is the value '10' of type 'signedint'"),
            ("x-single-active-consumer", "received none but current is the value 'true' of type 'bool'"),
        ] {
            assert!(guess.learn(&refusal(argument, rest)), "{argument}");
        }
        assert!(!guess.durable && guess.auto_delete);
        let facts = guess.facts();
        assert_eq!((facts.queue_type.as_str(), facts.durable, facts.auto_delete), ("quorum", false, true));
        assert_eq!(facts.text("dead-letter-exchange"), Some(""));
        assert_eq!(facts.number("max-length"), Some((10, "x-max-length")));
        assert!(facts.flag("single-active-consumer"));
    }

    #[test]
    fn a_value_that_was_guessed_wrong_keeps_its_type() {
        let mut guess = plain();
        guess.arguments.insert("x-queue-type".to_owned(), text("classic"));
        assert!(guess.learn(&refusal("x-queue-type", "received 'classic' but current is 'quorum'")));
        assert_eq!(guess.facts().queue_type, "quorum");
    }

    #[test]
    fn what_is_not_understood_is_not_guessed() {
        for text in [
            "ACCESS_REFUSED - configure access to queue 'q' refused",
            "PRECONDITION_FAILED - inequivalent arg 'x-max-length' for queue 'a very long na",
            &refusal("x-odd", "received none but current is the value 'abc' of type 'table'"),
            &refusal("x-gone", "received none but current is none"),
        ] {
            assert!(!plain().learn(text), "{text}");
        }
    }
}
