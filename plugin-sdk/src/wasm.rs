//! The policy as a component: the exported functions, in terms of the SDK's own types. Not an API:
//! only [`policy!`](crate::policy) uses it.

pub mod bindings;
mod convert;
mod mark;

use std::mem::ManuallyDrop;
use std::sync::{Once, OnceLock};

use bindings::exports::reprieve::policy::policy::{self as exports, Guest};
use bindings::reprieve::policy::log as host_log;

use crate::Policy;
use crate::log::Level;

/// What a policy's `Cargo.toml` says of it.
pub struct Package {
    pub name: &'static str,
    pub version: &'static str,
    pub summary: &'static str,
}

/// What [`policy!`](crate::policy) makes of a policy.
pub trait Component: 'static {
    type Policy: Policy;

    const PACKAGE: Package;

    /// Where the configured policy is kept, in the memory that the host takes its snapshot of.
    fn configured() -> &'static OnceLock<Self::Policy>;
}

impl<C: Component> Guest for C {
    fn describe() -> exports::Description {
        send_panics_to_the_log();
        exports::Description {
            name: C::PACKAGE.name.to_owned(),
            version: C::PACKAGE.version.to_owned(),
            summary: C::PACKAGE.summary.to_owned(),
            settings_schema: C::Policy::settings_schema().map(str::to_owned),
        }
    }

    fn configure(route: exports::Route, settings: String) -> Result<exports::Needs, Vec<exports::Problem>> {
        send_panics_to_the_log();
        let policy: C::Policy = crate::configure(&settings, &route.into())
            .map_err(|problems| problems.into_iter().map(Into::into).collect::<Vec<_>>())?;
        let needs = policy.needs();
        assert!(C::configured().set(policy).is_ok(), "a policy is configured once");
        Ok(needs.into())
    }

    fn decide(failure: exports::Failure) -> exports::Verdict {
        send_panics_to_the_log();
        let policy = C::configured().get().expect("a host configures a policy before it asks for verdicts");
        // Never freed: the instance ends with this decision, and its memory as a whole.
        let failure = ManuallyDrop::new(failure.into());
        policy.decide(&failure).into()
    }
}

/// The host cuts lines here too. Copying much more to it would use up what a decision may copy, and end it.
const LONGEST_LINE: usize = 2048;

/// Without this a panic reaches the host as a bare `unreachable`.
fn send_panics_to_the_log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|panic| log(Level::Error, &panic.to_string()))));
}

pub(crate) fn log(level: Level, line: &str) {
    let level = match level {
        Level::Debug => host_log::Level::Debug,
        Level::Info => host_log::Level::Info,
        Level::Warn => host_log::Level::Warn,
        Level::Error => host_log::Level::Error,
    };
    host_log::log(level, &line[..line.floor_char_boundary(LONGEST_LINE)]);
}
