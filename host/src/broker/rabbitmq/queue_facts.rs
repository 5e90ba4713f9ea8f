//! What is known of a queue, whoever told it: its declaration and, where they could be read, the policies on it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

/// One value that a queue was given.
#[derive(Debug, Clone, PartialEq)]
struct Setting {
    value: Value,
    /// How messages call it, such as `x-max-length` or `max-length of policy 'limits'`.
    title: String,
}

/// What a queue is like. Settings are called as policies call them; an argument has `x-` before it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QueueFacts {
    pub(super) queue_type: String,
    pub(super) durable: bool,
    pub(super) auto_delete: bool,
    /// Policies were read too.
    pub(super) policies_seen: bool,
    arguments: BTreeMap<String, Setting>,
    policies: BTreeMap<String, Setting>,
}

/// A number, and how messages call the setting.
pub(super) type Titled<'f> = (i64, &'f str);

impl QueueFacts {
    pub(super) fn new(queue_type: &str, durable: bool, auto_delete: bool) -> Self {
        Self {
            queue_type: queue_type.to_owned(),
            durable,
            auto_delete,
            policies_seen: false,
            arguments: BTreeMap::new(),
            policies: BTreeMap::new(),
        }
    }

    /// Adds the arguments of the declaration, an object.
    pub(super) fn with_arguments(mut self, arguments: &Value) -> Self {
        for (name, value) in arguments.as_object().into_iter().flatten() {
            let key = name.strip_prefix("x-").unwrap_or(name).to_owned();
            self.arguments.insert(key, Setting { value: value.clone(), title: name.clone() });
        }
        self
    }

    /// Adds what policies say. `names` are those of the policies, with `', '` between them.
    pub(super) fn with_policies(mut self, definition: &Value, names: &str) -> Self {
        self.policies_seen = true;
        for (key, value) in definition.as_object().into_iter().flatten() {
            let title = format!("{key} of policy '{names}'");
            self.policies.insert(key.clone(), Setting { value: value.clone(), title });
        }
        self
    }

    /// A number. Of an argument and a policy the broker takes the smaller one.
    pub(super) fn number(&self, key: &str) -> Option<Titled<'_>> {
        self.number_by(key, |policy, argument| policy < argument)
    }

    /// A number where a negative one means none: then the other one holds.
    pub(super) fn number_unless_negative(&self, key: &str) -> Option<Titled<'_>> {
        self.number_by(
            key,
            |policy, argument| {
                if policy < 0 || argument < 0 { policy > argument } else { policy < argument }
            },
        )
    }

    /// A number. `policy_holds` tells of a policy's and an argument's whether it is the policy's.
    fn number_by(&self, key: &str, policy_holds: impl Fn(i64, i64) -> bool) -> Option<Titled<'_>> {
        let from = |settings: &BTreeMap<String, Setting>| settings.get(key)?.value.as_i64();
        let settings = match (from(&self.arguments), from(&self.policies)) {
            (Some(argument), Some(policy)) if policy_holds(policy, argument) => &self.policies,
            (Some(_), _) => &self.arguments,
            (None, Some(_)) => &self.policies,
            (None, None) => return None,
        };
        let setting = settings.get(key)?;
        Some((setting.value.as_i64()?, &setting.title))
    }

    /// A text. An argument hides a policy.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.arguments.get(key).or_else(|| self.policies.get(key))?.value.as_str()
    }

    /// A flag of the declaration.
    pub(super) fn flag(&self, key: &str) -> bool {
        self.arguments.get(key).is_some_and(|setting| setting.value.as_bool() == Some(true))
    }

    /// A number of milliseconds.
    pub(super) fn milliseconds(&self, key: &str) -> Option<Duration> {
        Some(Duration::from_millis(u64::try_from(self.number(key)?.0).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn of_an_argument_and_a_policy_the_smaller_number_and_the_arguments_text_hold() {
        let facts = QueueFacts::new("quorum", true, false)
            .with_arguments(&json!({"x-max-length": 10, "x-message-ttl": 5, "x-overflow": "reject-publish"}))
            .with_policies(&json!({"max-length": 7, "message-ttl": 9, "overflow": "drop-head", "expires": 1}), "p");
        assert_eq!(facts.number("max-length"), Some((7, "max-length of policy 'p'")));
        assert_eq!(facts.number("message-ttl"), Some((5, "x-message-ttl")));
        assert_eq!(facts.number("expires"), Some((1, "expires of policy 'p'")));
        assert_eq!(facts.number("delivery-limit"), None);
        assert_eq!(facts.text("overflow"), Some("reject-publish"));
    }
}
