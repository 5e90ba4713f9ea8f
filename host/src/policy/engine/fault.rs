//! From Wasmtime's error to a fault's class, by type and never by text.

use wasmtime::{Trap, WasmBacktrace};

use super::config::MAX_FRAMES;
use super::store::{OverBudget, StoreState};
use crate::verdict::{Fault, FaultKind};

/// The fault that ended a call.
pub(super) fn of_call(error: &wasmtime::Error, state: &StoreState) -> Fault {
    let ran = error.downcast_ref::<WasmBacktrace>().is_some();
    typed(error, state).unwrap_or_else(|| {
        if ran {
            Fault::new(FaultKind::Trap, trap_text(error, state))
        } else {
            // What goes wrong while the policy runs carries where it was. This went wrong afterwards.
            Fault::new(FaultKind::InvalidVerdict, format!("the answer cannot be read: {}", error.root_cause()))
        }
    })
}

/// The fault that kept an instance from starting.
pub(super) fn of_start(error: &wasmtime::Error, state: &StoreState) -> Fault {
    typed(error, state).unwrap_or_else(|| Fault::new(FaultKind::Trap, trap_text(error, state)))
}

/// The classes that have a type of their own.
fn typed(error: &wasmtime::Error, state: &StoreState) -> Option<Fault> {
    if let Some(over) = error.downcast_ref::<OverBudget>() {
        return Some(Fault::new(FaultKind::Memory, over.to_string()));
    }
    match error.downcast_ref::<Trap>()? {
        Trap::Interrupt => {
            let deadline = humantime::format_duration(state.deadline());
            Some(Fault::new(FaultKind::Timeout, format!("no answer within {deadline}, its deadline")))
        }
        Trap::StackOverflow => Some(too_deep()),
        // Compilers keep what locals need an address in the policy's own memory, from its start down: recursion may run
        // out of that stack before it runs out of the engine's.
        Trap::MemoryOutOfBounds if is_deep(error) => Some(too_deep()),
        _ => None,
    }
}

fn too_deep() -> Fault {
    Fault::new(FaultKind::StackOverflow, "recursed too deep")
}

/// Whether so many calls were under way that the backtrace has no room for them.
fn is_deep(error: &wasmtime::Error) -> bool {
    error.downcast_ref::<WasmBacktrace>().is_some_and(|backtrace| backtrace.frames().len() >= MAX_FRAMES.get())
}

/// What the policy said last, where it panicked; else what WebAssembly calls it.
fn trap_text(error: &wasmtime::Error, state: &StoreState) -> String {
    match state.log.last_error() {
        Some(line) => line.to_owned(),
        None => error.root_cause().to_string(),
    }
}
