//! The decision that is compared, as a plug-in for Extism: a failure in JSON in, a verdict in JSON out.
//!
//! The settings come with the plug-in's configuration and are parsed at the first call. They stay in the instance's memory,
//! as does whatever else a plug-in leaves there: Extism keeps the instance from call to call.
#![allow(missing_docs, reason = "the function that `plugin_fn` makes has none")]

use std::collections::HashMap;
use std::sync::OnceLock;

use comparison_rules::Settings;
use extism_pdk::{FnResult, Json, config, plugin_fn};
use reprieve_sdk::{Action, duration::to_millis};
use serde::{Deserialize, Serialize};

/// What the decision needs of a failure; serde passes over the rest.
#[derive(Deserialize)]
struct Failure {
    attempt: u32,
    error: Error,
    headers: HashMap<String, String>,
}

#[derive(Deserialize)]
struct Error {
    kind: String,
}

#[derive(Serialize)]
struct Verdict {
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    reason: String,
}

/// Judges a failure.
#[plugin_fn]
pub fn decide(Json(failure): Json<Failure>) -> FnResult<Json<Verdict>> {
    let verdict =
        settings()?.decide(&failure.error.kind, failure.attempt, |name| failure.headers.get(name).map(String::as_str));
    let (action, delay_ms, label) = match verdict.action {
        Action::Retry(wait) => ("retry", Some(to_millis(wait)), None),
        Action::Delay(delay) => ("delay", Some(to_millis(delay)), None),
        Action::DeadLetter(label) => ("dead-letter", None, label),
        other => return Err(extism_pdk::Error::msg(format!("no rule says {other:?}")).into()),
    };
    Ok(Json(Verdict { action, delay_ms, label, reason: verdict.reason }))
}

fn settings() -> Result<&'static Settings, extism_pdk::Error> {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    if let Some(settings) = SETTINGS.get() {
        return Ok(settings);
    }
    let text = config::get("settings")?.ok_or_else(|| extism_pdk::Error::msg("the configuration has no `settings`"))?;
    let settings = serde_json::from_str(&text)?;
    Ok(SETTINGS.get_or_init(|| settings))
}
