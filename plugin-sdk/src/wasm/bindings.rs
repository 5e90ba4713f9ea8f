//! What wit-bindgen makes of `wit/policy.wit`.
#![allow(unsafe_code, reason = "the component model's calling convention is raw pointers; all of it is generated")]
#![allow(missing_docs, unreachable_pub, clippy::all, reason = "generated")]

// `pub_export_macro`: the exports are generated from here, so that a policy's own crate can forbid unsafe code.
wit_bindgen::generate!({
    path: "wit",
    world: "retry-policy",
    pub_export_macro: true,
});
