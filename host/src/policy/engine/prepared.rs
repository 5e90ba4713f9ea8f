//! A policy file, compiled and described, not yet configured.

use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::Store;
use wasmtime::component::{Component, ComponentExportIndex, Instance, InstancePre, TypedFunc};

use super::super::bindings::reprieve::policy::types as wit;
use super::super::rejection::{Rejection, Step};
use super::log_lines::Identity;
use super::store::StoreState;
use super::{Description, Engine, INTERFACE_VERSION, binary, cases, fault, snapshot};
use crate::verdict::Fault;

/// What all routes that name the same file share.
pub(super) struct Prepared {
    /// The file as a component.
    pub(super) component: Vec<u8>,
    /// The component, compiled; where it can be snapshot, with the functions for that added.
    pub(super) program: Arc<Program>,
    /// Why it cannot be snapshot, where it cannot.
    pub(super) no_snapshot: Option<String>,
    pub(super) description: Description,
    /// It passed the cases that it carries.
    proven: Mutex<bool>,
}

impl Prepared {
    pub(super) fn new(engine: &Engine, bytes: &[u8], identity: &Arc<Identity>) -> Result<Self, Rejection> {
        let component = binary::component(bytes, engine.shared.limits.file_size)?.into_owned();
        let (program, no_snapshot) = match snapshot::instrument(&component) {
            Ok((_, instrumented)) => (Program::compile(engine, &instrumented)?, None),
            Err(why) => (Program::compile(engine, &component)?, Some(why)),
        };
        let description = describe(engine, &program, identity)?;
        Ok(Self { component, program: Arc::new(program), no_snapshot, description, proven: Mutex::new(false) })
    }

    /// Judges the cases that the file carries, unless they passed before: they come with their own routes and settings, so
    /// that they say the same on every route.
    pub(super) fn prove(&self, engine: &Engine, bytes: &[u8], policy: &str) -> Result<(), Rejection> {
        let mut proven = self.proven.lock().unwrap_or_else(PoisonError::into_inner);
        if !*proven {
            cases::run_carried(engine, &self.program, bytes, policy)?;
            *proven = true;
        }
        Ok(())
    }
}

/// Asks a throw-away instance what it is, and checks the types of its functions on the way.
fn describe(engine: &Engine, program: &Program, identity: &Arc<Identity>) -> Result<Description, Rejection> {
    let during = |fault| Rejection::Faulted { during: Step::Describe, fault };
    let slot = engine.shared.slots.take();
    let mut store = engine.store(&slot, identity, engine.shared.limits.configure_deadline);
    let starting = |fault| Rejection::Faulted { during: Step::Start, fault };
    let instance = program.start(&mut store).map_err(starting)?;
    let types = |error: wasmtime::Error| Rejection::WrongTypes {
        supported: INTERFACE_VERSION,
        cause: format!("{:#}", anyhow::Error::from(error)),
    };
    program.configure(&mut store, &instance).map_err(types)?;
    program.decide(&mut store, &instance).map_err(types)?;
    let describe = program.describe(&mut store, &instance).map_err(types)?;
    let (description,) = describe.call(&mut store, ()).map_err(|error| during(fault::of_call(&error, store.data())))?;
    Ok(Description::lift(&description))
}

/// A compiled component, and where its functions are.
pub(super) struct Program {
    pre: InstancePre<StoreState>,
    describe: ComponentExportIndex,
    configure: ComponentExportIndex,
    decide: ComponentExportIndex,
}

type Configure<'a> = TypedFunc<(wit::Route<'a>, &'a str), (Result<wit::Needs, Vec<wit::Problem>>,)>;
type Decide<'a> = TypedFunc<(wit::Failure<'a>,), (wit::Verdict,)>;

impl Program {
    pub(super) fn compile(engine: &Engine, component: &[u8]) -> Result<Self, Rejection> {
        let failed = |error: wasmtime::Error| Rejection::Compile { cause: format!("{:#}", anyhow::Error::from(error)) };
        let compile = || Component::from_binary(&engine.shared.wasmtime, component);
        let component = engine.shared.compilers.run(compile).map_err(failed)?;
        let interface = format!("reprieve:policy/policy@{INTERFACE_VERSION}");
        let interface = component.get_export_index(None, interface.as_str());
        let function = |name: &str| {
            component.get_export_index(interface.as_ref(), name).ok_or_else(|| Rejection::WrongTypes {
                supported: INTERFACE_VERSION,
                cause: format!("there is no function `{name}`"),
            })
        };
        Ok(Self {
            describe: function("describe")?,
            configure: function("configure")?,
            decide: function("decide")?,
            pre: engine.shared.linker.instantiate_pre(&component).map_err(failed)?,
        })
    }

    /// A new instance.
    pub(super) fn start(&self, store: &mut Store<StoreState>) -> Result<Instance, Fault> {
        self.pre.instantiate(&mut *store).map_err(|error| fault::of_start(&error, store.data()))
    }

    fn describe(
        &self,
        store: &mut Store<StoreState>,
        instance: &Instance,
    ) -> wasmtime::Result<TypedFunc<(), (wit::Description,)>> {
        instance.get_typed_func(store, self.describe)
    }

    pub(super) fn configure<'a>(
        &self,
        store: &mut Store<StoreState>,
        instance: &Instance,
    ) -> wasmtime::Result<Configure<'a>> {
        instance.get_typed_func(store, self.configure)
    }

    pub(super) fn decide<'a>(
        &self,
        store: &mut Store<StoreState>,
        instance: &Instance,
    ) -> wasmtime::Result<Decide<'a>> {
        instance.get_typed_func(store, self.decide)
    }
}
