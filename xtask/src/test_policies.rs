//! `cargo xtask test-policies`: the policies that tests use.

use anyhow::Result;

use crate::{wasm, workspace};

/// Builds every crate of `tests/policies` to `target/test-policies/NAME.wasm`.
pub(crate) fn run() -> Result<()> {
    let names = workspace::folders("tests/policies")?;
    let packages: Vec<String> = names.iter().map(|name| format!("policy-{name}")).collect();
    let modules = wasm::build(&wasm::toolchain()?, &packages)?;
    let folder = workspace::root().join("target/test-policies");
    for (name, module) in names.iter().zip(modules) {
        workspace::write_if_changed(&folder.join(name).with_extension("wasm"), &module)?;
    }
    println!("test policies: {} in {}", names.join(", "), folder.display());
    Ok(())
}
