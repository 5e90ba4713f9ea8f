//! What Wasmtime makes of `wit/policy.wit`. Parameters borrow, so that a failure is written into a policy's memory
//! from where it is.
#![allow(missing_docs, unreachable_pub, clippy::all, reason = "generated")]

wasmtime::component::bindgen!({
    path: "wit",
    world: "retry-policy",
    ownership: Borrowing { duplicate_if_necessary: true },
});
