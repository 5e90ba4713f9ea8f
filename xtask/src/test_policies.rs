//! `cargo xtask test-policies`: the policies that tests use.

use anyhow::Result;

use crate::{cookbook, wasm, workspace};

/// Builds every crate of `tests/policies` to `target/test-policies/NAME.wasm`, and every recipe of the SDK's cookbook to
/// `target/test-policies/cookbook/NN.wasm`.
pub(crate) fn run() -> Result<()> {
    let names = workspace::folders("tests/policies")?;
    let packages: Vec<String> = names.iter().map(|name| format!("policy-{name}")).collect();
    let toolchain = wasm::toolchain()?;
    let modules = wasm::build(&toolchain, &packages)?;
    let folder = workspace::root().join("target/test-policies");
    for (name, module) in names.iter().zip(modules) {
        workspace::write_if_changed(&folder.join(name).with_extension("wasm"), &module)?;
    }
    let recipes = cookbook::build(&toolchain, &folder.join("cookbook"))?;
    println!("test policies: {} and {recipes} of the cookbook, in {}", names.join(", "), folder.display());
    Ok(())
}
