//! Which entries are asked for.

use rusqlite::ToSql;

use super::OutcomeKind;
use crate::timestamp::Timestamp;

/// Entries that meet all that is set here. The default is every entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Only this route's.
    pub route: Option<String>,
    /// Only of this error kind.
    pub error_kind: Option<String>,
    /// Only with this outcome.
    pub outcome: Option<OutcomeKind>,
    /// Only of this policy, by name.
    pub policy: Option<String>,
    /// Only of this message.
    pub message_id: Option<String>,
    /// Only failures at this time or later.
    pub since: Option<Timestamp>,
    /// Only failures before this time.
    pub until: Option<Timestamp>,
    /// Only those with a higher number.
    pub after: Option<u64>,
}

impl Filter {
    /// The conditions in SQL, with `?` for each value.
    pub(super) fn to_sql(&self) -> (String, Vec<Box<dyn ToSql>>) {
        let mut conditions: Vec<&str> = Vec::new();
        let mut values: Vec<Box<dyn ToSql>> = Vec::new();
        let texts = [
            ("route = ?", self.route.as_deref()),
            ("error_kind = ?", self.error_kind.as_deref()),
            ("outcome = ?", self.outcome.map(OutcomeKind::name)),
            ("policy = ?", self.policy.as_deref()),
            ("message_id = ?", self.message_id.as_deref()),
        ];
        for (condition, text) in texts {
            if let Some(text) = text {
                conditions.push(condition);
                values.push(Box::new(text.to_owned()));
            }
        }
        let numbers = [
            ("at >= ?", self.since.map(|time| time.0)),
            ("at < ?", self.until.map(|time| time.0)),
            ("id > ?", self.after),
        ];
        for (condition, number) in numbers {
            if let Some(number) = number {
                conditions.push(condition);
                values.push(Box::new(i64::try_from(number).unwrap_or(i64::MAX)));
            }
        }
        let all = if conditions.is_empty() { "true".to_owned() } else { conditions.join(" AND ") };
        (all, values)
    }
}
