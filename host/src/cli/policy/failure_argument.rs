//! The failure that a policy is asked about, from a file, standard input or a few words.

use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};

use crate::config::ConfigError;
use crate::failure::{DeadLetter, Failure};
use crate::handler_error::HandlerError;

/// Which failure.
#[derive(Debug, Clone, Args)]
pub(super) struct FailureArguments {
    /// The failure in JSON, or a dead letter: its headers, or the message as the management API, `rabbitmqadmin get` or the
    /// host's /topics prints it; - is standard input
    #[arg(short, long, value_name = "FILE")]
    failure: Option<PathBuf>,

    /// The kind of error that the attempt failed with, such as timeout or http-503
    #[arg(short, long, value_name = "KIND")]
    error: Option<String>,

    /// The attempt that failed
    #[arg(short = 'n', long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    attempt: Option<u32>,

    /// A header of the message; may be given many times
    #[arg(short = 'H', long = "header", value_name = "NAME=VALUE", value_parser = crate::cli::send::parse_header)]
    headers: Vec<(String, String)>,
}

/// A failure, and what a dead letter says beside it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Given {
    pub(super) failure: Failure,
    /// Where it was read from a dead letter: what was decided then.
    pub(super) then: Option<Then>,
}

/// What a dead letter says of the verdict that made it one.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub(super) struct Then {
    pub(super) policy: Option<String>,
    pub(super) reason: Option<String>,
}

impl FailureArguments {
    /// The failure, with what the other arguments say laid over it. Where nothing is said of one it is read from standard
    /// input; `None` where that is a terminal or empty.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub(super) fn read(&self) -> anyhow::Result<Option<Given>> {
        let said = self.is_given();
        let given = match &self.failure {
            Some(path) if path.as_os_str() != "-" => from_file(path)?,
            None if said => {
                Given { failure: Failure::from_written(&json!({})).context("an empty failure is one")?, then: None }
            }
            None if std::io::stdin().is_terminal() => return Ok(None),
            from => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).context("cannot read the failure from standard input")?;
                if from.is_none() && text.trim().is_empty() {
                    return Ok(None);
                }
                parse(Path::new("standard input"), &text)?
            }
        };
        Ok(Some(self.laid_over(given)))
    }

    /// Whether the arguments say anything of a failure.
    pub(super) fn is_given(&self) -> bool {
        self.failure.is_some() || self.error.is_some() || self.attempt.is_some() || !self.headers.is_empty()
    }

    fn laid_over(&self, mut given: Given) -> Given {
        let failure = &mut given.failure;
        if let Some(kind) = &self.error {
            failure.error = HandlerError::from_kind(kind, "");
        }
        failure.attempt = self.attempt.unwrap_or(failure.attempt);
        for (name, value) in &self.headers {
            Arc::make_mut(&mut failure.message).headers.set(name.as_str(), value.as_str());
        }
        given
    }
}

/// The failure in a file.
///
/// # Errors
/// It cannot be read, or is none.
pub(super) fn read_file(path: &Path) -> Result<Failure, ConfigError> {
    Ok(from_file(path)?.failure)
}

fn from_file(path: &Path) -> Result<Given, ConfigError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| wrong(path, &error.to_string(), "name a file that holds a failure in JSON"))?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Given, ConfigError> {
    const CURE: &str =
        "write what matters of it, such as {\"attempt\": 2, \"error\": \"timeout\"}, or paste a dead letter";
    let value: Value = serde_json::from_str(text).map_err(|error| wrong(path, &format!("not JSON: {error}"), CURE))?;
    match DeadLetter::from_printed(&value).map_err(|error| wrong(path, &error.to_string(), CURE))? {
        Some(DeadLetter { failure, policy, reason, .. }) => Ok(Given { failure, then: Some(Then { policy, reason }) }),
        None => {
            let failure = Failure::from_written(&value).map_err(|error| wrong(path, &error.to_string(), CURE))?;
            Ok(Given { failure, then: None })
        }
    }
}

fn wrong(path: &Path, what: &str, cure: &str) -> ConfigError {
    ConfigError::Unusable(format!("cannot use the failure in {}: {what}\n = help: {cure}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments() -> FailureArguments {
        FailureArguments { failure: None, error: None, attempt: None, headers: Vec::new() }
    }

    #[test]
    fn what_is_said_goes_over_what_is_read() {
        let given = parse(Path::new("f"), r#"{"attempt": 2, "error": "timeout", "age": "1h"}"#).unwrap();
        let said = FailureArguments {
            error: Some("http-503".into()),
            attempt: Some(9),
            headers: vec![("tenant".into(), "acme".into())],
            ..arguments()
        };
        let failure = said.laid_over(given.clone()).failure;
        assert_eq!((failure.attempt, failure.error.kind.as_str(), failure.error.status), (9, "http-503", Some(503)));
        assert_eq!((failure.message.headers.text("tenant"), failure.age_ms), (Some("acme"), 3_600_000));
        assert_eq!(arguments().laid_over(given.clone()), given);
    }

    #[test]
    fn a_dead_letter_says_what_was_decided_then() {
        let text = r#"{"reprieve-attempts": 3, "reprieve-error-kind": "timeout", "reprieve-reason": "enough"}"#;
        let given = parse(Path::new("f"), text).unwrap();
        assert_eq!(given.failure.attempt, 3);
        assert_eq!(given.then, Some(Then { policy: None, reason: Some("enough".into()) }));
    }

    #[test]
    fn what_is_no_failure_is_explained_with_its_place_and_a_cure() {
        let told = |text: &str| parse(Path::new("f.json"), text).unwrap_err().to_string();
        assert!(told("{").starts_with("error: cannot use the failure in f.json: not JSON: EOF"), "{}", told("{"));
        assert!(told("{\"error\": {\"knd\": 1}}").contains("error.knd: unknown field"));
        assert!(told("[]").contains("\n = help: write what matters"));
    }
}
