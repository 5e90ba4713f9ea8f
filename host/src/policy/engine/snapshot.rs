//! A configured instance, turned into a component that starts configured.
//!
//! The component is instrumented with functions that read its memories and globals. They are called once it is
//! configured, and what they return becomes the initial state of a new component, without those functions.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;
use wasmtime::Store;
use wasmtime::component::{ComponentNamedList, Instance, Lift, WasmList};
use wasmtime_wizer::{ComponentContext, ComponentInstanceState, Wizer};

use super::Engine;
use super::store::StoreState;

/// The component with the functions added, and what has to be known of it to take the snapshot.
///
/// # Errors
/// Why no snapshot of it can be taken, for a person. The library panics on some components that it does not support.
pub(super) fn instrument(component: &[u8]) -> Result<(ComponentContext<'_>, Vec<u8>), String> {
    without_panic(|| wizer().instrument_component(component))
}

/// The component in the state that the instance has now. Grows the instance's memory: nothing else can be done with it
/// afterwards.
///
/// # Errors
/// Why no snapshot can be taken, for a person.
pub(super) fn take(
    engine: &Engine,
    context: &ComponentContext<'_>,
    store: &mut Store<StoreState>,
    instance: Instance,
) -> Result<Vec<u8>, String> {
    engine.allow_snapshot(store);
    engine.allow_time(store, engine.shared.limits.configure_deadline);
    let mut state = InstanceState { store, instance, failed: None };
    let taken = without_panic(|| {
        // The functions of `InstanceState` never wait, so neither does this.
        let taken = wizer().snapshot_component(context, &mut state).now_or_never();
        taken.unwrap_or_else(|| Err(wasmtime::Error::msg("the snapshot waits for something")))
    });
    match state.failed {
        Some(error) => Err(format!("{:#}", anyhow::Error::from(error))),
        None => taken,
    }
}

fn wizer() -> Wizer {
    let mut wizer = Wizer::new();
    wizer.keep_init_func(true);
    wizer
}

fn without_panic<T>(call: impl FnOnce() -> wasmtime::Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| format!("{:#}", anyhow::Error::from(error))),
        Err(_) => Err("the snapshot library does not support something in it".into()),
    }
}

/// An instrumented instance. The trait has no errors: the first one is kept, and nothing is asked afterwards.
struct InstanceState<'a> {
    store: &'a mut Store<StoreState>,
    instance: Instance,
    failed: Option<wasmtime::Error>,
}

impl InstanceState<'_> {
    fn call<R>(&mut self, interface: &str, function: &str) -> Option<R>
    where
        (R,): ComponentNamedList + Lift,
    {
        if self.failed.is_some() {
            return None;
        }
        self.try_call(interface, function).map_err(|error| self.failed = Some(error)).ok()
    }

    fn try_call<R>(&mut self, interface: &str, function: &str) -> wasmtime::Result<R>
    where
        (R,): ComponentNamedList + Lift,
    {
        let missing = || wasmtime::Error::msg(format!("the instrumented component has no `{interface}.{function}`"));
        let interface = self.instance.get_export_index(&mut *self.store, None, interface).ok_or_else(missing)?;
        let function =
            self.instance.get_export_index(&mut *self.store, Some(&interface), function).ok_or_else(missing)?;
        let function = self.instance.get_typed_func::<(), (R,)>(&mut *self.store, &function)?;
        Ok(function.call(&mut *self.store, ())?.0)
    }
}

impl ComponentInstanceState for InstanceState<'_> {
    fn call_func_ret_list_u8(
        &mut self,
        instance: &str,
        func: &str,
        contents: impl FnOnce(&[u8]) + Send,
    ) -> impl Future<Output = ()> + Send {
        match self.call::<WasmList<u8>>(instance, func) {
            Some(list) => contents(list.as_le_slice(&*self.store)),
            None => contents(&[]),
        }
        std::future::ready(())
    }

    fn call_func_ret_s32(&mut self, instance: &str, func: &str) -> impl Future<Output = i32> + Send {
        std::future::ready(self.call(instance, func).unwrap_or_default())
    }

    fn call_func_ret_s64(&mut self, instance: &str, func: &str) -> impl Future<Output = i64> + Send {
        std::future::ready(self.call(instance, func).unwrap_or_default())
    }

    fn call_func_ret_f32(&mut self, instance: &str, func: &str) -> impl Future<Output = u32> + Send {
        std::future::ready(self.call::<f32>(instance, func).unwrap_or_default().to_bits())
    }

    fn call_func_ret_f64(&mut self, instance: &str, func: &str) -> impl Future<Output = u64> + Send {
        std::future::ready(self.call::<f64>(instance, func).unwrap_or_default().to_bits())
    }
}
