//! What a policy says of itself.

use serde::Serialize;

use super::super::bindings::reprieve::policy::types as wit;
use super::super::text::one_line;

/// What a policy says of itself, before it has any settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Description {
    /// Its author's name for it; the file may be named otherwise.
    pub name: String,
    /// Its version.
    pub version: String,
    /// One line on what it does.
    pub summary: String,
    /// JSON Schema of its settings; absent where it gives none, or none that is JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings_schema: Option<serde_json::Value>,
}

impl Description {
    pub(super) fn lift(description: &wit::Description) -> Self {
        Self {
            name: one_line(&description.name, 128),
            version: one_line(&description.version, 64),
            summary: one_line(&description.summary, 512),
            settings_schema: description.settings_schema.as_deref().and_then(|text| serde_json::from_str(text).ok()),
        }
    }
}
