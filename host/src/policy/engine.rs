//! The engine: bytes and settings in, a [`Revision`] that decides out.
//!
//! # Layout
//!
//! * `limits`, `config`: what a policy may use, and Wasmtime set up for it.
//! * `binary`: is this file a policy, and as a component? Without running it.
//! * `compilers`: the threads that compile.
//! * `prepared`: compiled and described; shared by all routes that name the same file.
//! * `snapshot`: a configured instance turned into a component that starts configured.
//! * `load`: all of these in order, and the smoke decisions.
//! * `cases`: the cases of a file, each with the settings that it says.
//! * `measure`: a decision, and what it cost. For tools.
//! * `revision`: a decision, each in a fresh store.
//! * `store`, `ticker`, `slots`, `log_lines`, `fault`: time, memory, room, log lines and faults of one store.

mod binary;
mod cases;
mod compilers;
mod config;
mod description;
mod fault;
mod limits;
mod load;
mod log_lines;
mod measure;
mod prepared;
mod revision;
mod slots;
pub(crate) mod smoke;
mod snapshot;
mod store;
mod ticker;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use lru::LruCache;
use wasmtime::component::{HasSelf, Linker};

use super::bindings::reprieve::policy::log as wit_log;
use super::cases::Case;
pub use super::lower::Needs;
use super::rejection::Rejection;
use super::route_record::RouteRecord;
pub use cases::CaseRun;
use compilers::Compilers;
pub(super) use compilers::give_way;
pub use description::Description;
pub use limits::EngineLimits;
use log_lines::Identity;
pub(super) use log_lines::LINES_PER_DECISION;
pub use log_lines::{Level, LogLine};
pub use measure::Measured;
use prepared::Prepared;
pub use revision::{Revision, Start};
use slots::Slots;
use store::StoreState;

/// The version of `reprieve:policy` that this host takes.
pub const INTERFACE_VERSION: &str = "0.1.0";

/// Files whose compiled form is kept for the next route that names them.
const PREPARED_FILES: NonZeroUsize = NonZeroUsize::new(4).expect("4 is not 0");

/// Loads policies. One for the whole process: clones share everything.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

struct Shared {
    wasmtime: wasmtime::Engine,
    linker: Linker<StoreState>,
    limits: EngineLimits,
    /// Instructions are counted.
    metered: bool,
    slots: Arc<Slots>,
    compilers: Compilers,
    /// By the digest of the file.
    prepared: Mutex<LruCache<String, Arc<Prepared>>>,
}

/// A policy that is to be loaded for a route.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The policy's name: the file's, without `.wasm`.
    pub name: &'a str,
    /// The file: a component, or a core module that carries its WIT section.
    pub bytes: &'a [u8],
    /// The route that it is to judge for.
    pub route: &'a RouteRecord,
    /// The route's `settings`, handed to the policy as they are.
    pub settings: &'a serde_json::Value,
}

impl Engine {
    /// An engine, and the thread that makes its clock tick. The thread ends with the last clone and revision.
    ///
    /// # Errors
    /// Limits that contradict each other, or a system that cannot set aside the address space for them.
    pub fn new(limits: EngineLimits) -> anyhow::Result<Self> {
        Self::start(limits, false)
    }

    /// An engine that counts instructions, which takes time of its own. For tools.
    ///
    /// # Errors
    /// Those of [`Engine::new`].
    pub fn metered(limits: EngineLimits) -> anyhow::Result<Self> {
        Self::start(limits, true)
    }

    fn start(limits: EngineLimits, metered: bool) -> anyhow::Result<Self> {
        limits.check()?;
        let wasmtime = wasmtime::Engine::new(&config::config(&limits, metered))
            .map_err(anyhow::Error::from)
            .context("the WebAssembly engine does not start; lower `policies.memory` if address space is short")?;
        let mut linker = Linker::new(&wasmtime);
        wit_log::add_to_linker::<_, HasSelf<StoreState>>(&mut linker, |state| state)?;
        let slots = Arc::new(Slots::new(config::pool_size(&limits)));
        ticker::start(wasmtime.weak(), Arc::clone(&slots), limits.tick())
            .context("the system gives no thread for the policies' clock")?;
        Ok(Self {
            shared: Arc::new(Shared {
                wasmtime,
                linker,
                slots,
                compilers: Compilers::start().context("the system gives no threads to compile policies on")?,
                limits,
                metered,
                prepared: Mutex::new(LruCache::new(PREPARED_FILES)),
            }),
        })
    }

    /// Turns a candidate into a revision: validates, compiles, judges the cases that it carries, configures and tries it.
    /// Takes up to some tenths of a second, and blocks the thread for that long: not for a thread that runs async tasks.
    ///
    /// # Errors
    /// The first thing that is wrong, with its cure.
    pub fn load(&self, candidate: &Candidate<'_>) -> Result<Revision, Rejection> {
        load::load(self, candidate)
    }

    /// The part of [`Engine::load`] that is about the file alone: what is refused here is refused on every route, with any
    /// settings. What is not is remembered for the load that follows.
    pub(super) fn check_file(&self, candidate: &Candidate<'_>) -> Result<(), Rejection> {
        let identity = Arc::new(Identity::new(candidate.name, &candidate.route.name));
        load::proven(self, candidate, &load::file_digest(candidate.bytes), &identity).map(drop)
    }

    /// Asks a policy what it is, after all that [`Engine::load`] does before it knows the settings. Blocks the thread.
    ///
    /// # Errors
    /// The first thing that is wrong, with its cure.
    pub fn describe(&self, name: &str, file: &[u8]) -> Result<Description, Rejection> {
        let identity = Arc::new(Identity::new(name, ""));
        Ok(self.prepare(file, &load::file_digest(file), &identity)?.description.clone())
    }

    /// Judges each case with a clean instance that is configured as the case says. The cases that the file itself carries
    /// are not looked at. Blocks the thread.
    ///
    /// # Errors
    /// The file is no policy.
    pub fn run_cases(&self, name: &str, file: &[u8], cases: &[Case]) -> Result<Vec<CaseRun>, Rejection> {
        let prepared = self.prepare(file, &load::file_digest(file), &Arc::new(Identity::made_up(name, "cases")))?;
        Ok(cases.iter().map(|case| cases::run(self, &prepared.program, name, case)).collect())
    }

    /// What a policy may use.
    #[must_use]
    pub fn limits(&self) -> &EngineLimits {
        &self.shared.limits
    }

    /// What the file is once compiled, whatever its cases. Files are compiled one after the other: each compilation uses
    /// every core as it is, and several routes that name one file then compile it once.
    fn prepare(&self, bytes: &[u8], digest: &str, identity: &Arc<Identity>) -> Result<Arc<Prepared>, Rejection> {
        let mut prepared = self.shared.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = prepared.get(digest) {
            return Ok(Arc::clone(known));
        }
        let new = Arc::new(Prepared::new(self, bytes, identity)?);
        prepared.put(digest.to_owned(), Arc::clone(&new));
        Ok(new)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.slots.close();
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("limits", &self.shared.limits).finish_non_exhaustive()
    }
}
