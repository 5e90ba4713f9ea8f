//! What topics may be called.

use crate::topic::Topic;

/// Kafka's own bound, in characters.
const LONGEST_NAME: usize = 249;

/// Kafka's rule for the names of topics, in words where one breaks it.
pub(in crate::broker::kafka) fn check_name(name: &str) -> Result<(), String> {
    let is_fit = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    if name.is_empty() || name == "." || name == ".." || name.len() > LONGEST_NAME || !name.chars().all(is_fit) {
        let shown: String = name.escape_debug().take(60).collect();
        let length = name.chars().count();
        return Err(format!(
            "\"{shown}\" ({length} characters) cannot be a topic's name: write 1 to {LONGEST_NAME} letters, digits, `.`, `_` and `-`"
        ));
    }
    Ok(())
}

pub(in crate::broker::kafka) fn no_exchanges(topic: &Topic) -> String {
    format!("Kafka has no exchanges, so nothing can be published to {topic}; name a topic instead")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_by_kafkas_rule() {
        for fit in ["orders", "orders.dlq", "A_b-9", &"x".repeat(249)] {
            assert_eq!(check_name(fit), Ok(()), "{fit}");
        }
        for unfit in ["", ".", "..", "a b", "a/b", "ü", "a\0", &"x".repeat(250)] {
            assert!(check_name(unfit).is_err(), "{unfit:?}");
        }
    }
}
