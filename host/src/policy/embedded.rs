//! The policies that are part of the program.

use super::folder::PolicyFile;

/// The name of the policy that judges where a route names none.
pub const STANDARD_NAME: &str = "standard";

/// The standard policy: built from `plugins/standard`.
pub const STANDARD: &[u8] = include_bytes!("../../policies/standard.wasm");

/// A short policy that judges by the kind of the error: built from `plugins/by-error-kind`. What the demo swaps to.
pub const BY_ERROR_KIND: &[u8] = include_bytes!("../../policies/by-error-kind.wasm");

pub(super) fn standard() -> PolicyFile {
    PolicyFile::new(STANDARD)
}

/// Whether these are the bytes of a policy that a route may be judged by without any file.
pub(super) fn is_embedded(bytes: &[u8]) -> bool {
    bytes == STANDARD
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reprieve_sdk::RetryPolicy;

    use super::*;
    use crate::policy::engine::{Candidate, Engine, EngineLimits, Start};
    use crate::policy::route_record::RouteRecord;

    #[test]
    fn each_embedded_policy_loads_on_a_bare_route_without_settings() {
        let engine = Engine::new(EngineLimits::default()).unwrap();
        let route = RouteRecord {
            name: "orders".into(),
            source: "orders".into(),
            tiers: Vec::new(),
            dead_letters: Vec::new(),
            retry: RetryPolicy::default(),
            max_retry_delay: Duration::ZERO,
            max_body: 0,
        };
        for (name, bytes) in [(STANDARD_NAME, STANDARD), ("by-error-kind", BY_ERROR_KIND)] {
            let candidate = Candidate { name, bytes, route: &route, settings: &serde_json::json!({}) };
            let revision = engine.load(&candidate).unwrap();
            assert!(revision.description().name.ends_with(name), "{:?} is another policy", revision.description());
            assert_eq!(revision.start(), Start::Snapshot, "{name}");
        }
    }
}
