//! A policy on the bare interface, without the SDK. Its verdicts say all that it was told, in words of its own, so that
//! the recorded ones hold a host to every field of every type.
//!
//! The error's kind is the action to answer with. Settings are compared as text: there is no JSON parser here.

#![allow(clippy::all, missing_docs, reason = "most of it is generated, and none of it may change any more")]

mod told;
mod verdict;

use std::sync::OnceLock;

wit_bindgen::generate!({ path: "wit", world: "retry-policy" });

use exports::reprieve::policy::policy::Guest;
use reprieve::policy::log::{Level, log};
use reprieve::policy::types::{Description, Failure, HeaderNeeds, Needs, Problem, Route, Verdict};

/// What it was configured with, in words. Part of the memory that a host may take a snapshot of.
static CONFIGURED: OnceLock<String> = OnceLock::new();

struct Frozen;

impl Guest for Frozen {
    fn describe() -> Description {
        Description {
            name: env!("CARGO_PKG_NAME").to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: env!("CARGO_PKG_DESCRIPTION").to_owned(),
            settings_schema: Some(r#"{"type": "object"}"#.to_owned()),
        }
    }

    fn configure(route: Route, settings: String) -> Result<Needs, Vec<Problem>> {
        if settings.contains("refuse") {
            let first = Problem { path: "/refuse".to_owned(), message: "told to".to_owned() };
            let second = Problem { path: String::new(), message: "as a whole".to_owned() };
            return Err(vec![first, second]);
        }
        let needs = if settings.contains("everything") {
            let attributes = vec!["first-failed-at".to_owned(), "redrives".to_owned()];
            Needs { body: Some(8), headers: HeaderNeeds::All, attributes }
        } else {
            Needs { body: None, headers: HeaderNeeds::Named(vec!["named".to_owned()]), attributes: Vec::new() }
        };
        CONFIGURED.set(told::route(&route, &settings)).expect("a host configures an instance once");
        Ok(needs)
    }

    fn decide(failure: Failure) -> Verdict {
        for (level, name) in
            [(Level::Debug, "debug"), (Level::Info, "info"), (Level::Warn, "warn"), (Level::Error, "error")]
        {
            log(level, name);
        }
        let route = CONFIGURED.get().expect("a host configures an instance before it asks for verdicts");
        verdict::of(&failure, format!("{route} || {}", told::failure(&failure)))
    }
}

export!(Frozen);
