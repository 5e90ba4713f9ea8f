//! A policy that is ready to decide.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use wasmtime::Store;
use wasmtime::component::Instance;

use super::super::lift::lift;
use super::super::lower::{Needs, lower};
use super::super::route_record::RouteRecord;
use super::log_lines::Identity;
use super::prepared::Program;
use super::store::StoreState;
use super::{Description, Engine, fault};
use crate::failure::Failure;
use crate::verdict::{Fault, FaultKind, Maker, Verdict};

/// A policy that is loaded, configured and tried. Every decision gets a clean instance of it, so decisions know nothing
/// of each other and may run on any number of threads.
pub struct Revision {
    pub(super) maker: Arc<Maker>,
    pub(super) description: Description,
    pub(super) file_digest: String,
    pub(super) needs: Needs,
    pub(super) starting: Starting,
    pub(super) identity: Arc<Identity>,
    pub(super) engine: Engine,
}

/// What an instance starts from.
pub(super) enum Starting {
    /// The component with its settings in memory.
    Configured(Program),
    /// The component as it is in the file, and what to configure it with.
    Unconfigured { program: Arc<Program>, route: RouteRecord, settings: String },
}

/// How a decision gets a configured instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// From a snapshot that was taken once it was configured.
    Snapshot,
    /// By being configured each time, since no snapshot can be taken of this policy. Slower.
    ConfigureEach,
}

impl Revision {
    /// Whose decisions these are: the policy's name, and the digest of file, route record, settings and interface
    /// version.
    #[must_use]
    pub const fn maker(&self) -> &Arc<Maker> {
        &self.maker
    }

    /// What the policy says of itself.
    #[must_use]
    pub const fn description(&self) -> &Description {
        &self.description
    }

    /// How a decision gets a configured instance.
    #[must_use]
    pub const fn start(&self) -> Start {
        match self.starting {
            Starting::Configured(_) => Start::Snapshot,
            Starting::Unconfigured { .. } => Start::ConfigureEach,
        }
    }

    /// What the policy wants to see of each message, within the limits of host and route.
    #[must_use]
    pub const fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Hexadecimal SHA-256 of the policy's file.
    #[must_use]
    pub fn file_digest(&self) -> &str {
        &self.file_digest
    }

    /// Judges a failure. Blocks the thread for some microseconds, at most for the deadline, or longer where every
    /// instance of the pool is in use.
    ///
    /// # Errors
    /// How the policy failed to give a verdict. The next decision is not affected.
    pub fn decide(&self, failure: &Failure) -> Result<Verdict, Fault> {
        self.decide_as(&self.identity, failure)
    }

    /// The same, its log lines under another identity.
    pub(super) fn decide_as(&self, identity: &Arc<Identity>, failure: &Failure) -> Result<Verdict, Fault> {
        let shared = &self.engine.shared;
        let slot = shared.slots.take();
        let mut store = self.engine.store(&slot, identity, shared.limits.deadline);
        let (program, instance) = self.configured_instance(&mut store)?;
        ask(program, &mut store, &instance, failure, &self.needs)
    }

    pub(super) fn configured_instance(&self, store: &mut Store<StoreState>) -> Result<(&Program, Instance), Fault> {
        match &self.starting {
            Starting::Configured(program) => Ok((program, program.start(store)?)),
            Starting::Unconfigured { program, route, settings } => {
                let instance = program.start(store)?;
                let answer = route.lower(|route| {
                    let configure = program.configure(store, &instance)?;
                    configure.call(&mut *store, (route, settings))
                });
                match answer {
                    Ok((Ok(_),)) => Ok((program, instance)),
                    Ok((Err(_),)) => Err(Fault::new(
                        FaultKind::InvalidVerdict,
                        "refused settings that it took when it was loaded: `configure` is not deterministic",
                    )),
                    Err(error) => Err(fault::of_call(&error, store.data())),
                }
            }
        }
    }
}

/// Has a configured instance judge a failure.
pub(super) fn ask(
    program: &Program,
    store: &mut Store<StoreState>,
    instance: &Instance,
    failure: &Failure,
    needs: &Needs,
) -> Result<Verdict, Fault> {
    let answer = lower(failure, needs, |failure| {
        let decide = program.decide(&mut *store, instance)?;
        decide.call(&mut *store, (failure,))
    });
    match answer {
        Ok((verdict,)) => lift(verdict),
        Err(error) => Err(fault::of_call(&error, store.data())),
    }
}

impl fmt::Debug for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Revision").field("maker", &self.maker).field("start", &self.start()).finish_non_exhaustive()
    }
}
