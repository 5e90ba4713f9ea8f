//! The policies of the SDK's cookbook, built to WebAssembly as a reader would build them: each a file of its own, on the
//! SDK and serde.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use reprieve_toolchain::Toolchain;

use crate::{wasm, workspace};

const COOKBOOK: &str = "plugin-sdk/docs/cookbook.md";

/// Builds every recipe to `NN.wasm` in this folder, and says how many there are.
pub(crate) fn build(toolchain: &Toolchain, folder: &Path) -> Result<usize> {
    let path = workspace::root().join(COOKBOOK);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let recipes = recipes(&text);
    ensure!(!recipes.is_empty(), "{} has no Rust in it", path.display());

    let package = workspace::root().join("target/cookbook");
    write_package(&package, &recipes)?;
    // Without what makes files a little smaller and builds of twelve of them much longer.
    let built = wasm::build_examples(toolchain, &package)?;
    for number in 1..=recipes.len() {
        let module = built.join(format!("cookbook_{number:02}.wasm"));
        let module = fs::read(&module).with_context(|| format!("cannot read {}", module.display()))?;
        workspace::write_if_changed(&folder.join(format!("{number:02}.wasm")), &module)?;
    }
    Ok(recipes.len())
}

/// The blocks of Rust, in order.
fn recipes(cookbook: &str) -> Vec<&str> {
    let blocks = cookbook.split("\n```rust\n").skip(1);
    blocks.filter_map(|rest| rest.split_once("\n```").map(|(code, _)| code)).collect()
}

/// A package with an example for each recipe, since a library can export one policy only.
fn write_package(folder: &Path, recipes: &[&str]) -> Result<()> {
    let sdk = workspace::root().join("plugin-sdk");
    let mut manifest = format!(
        "[workspace]\n\n[package]\nname = \"cookbook\"\nversion = \"0.0.0\"\nedition = \"2024\"\ndescription = \"A recipe\"\n\n\
         [dependencies]\nreprieve-sdk = {{ path = {:?} }}\nserde = {{ version = \"1\", features = [\"derive\"] }}\n\
         serde_json = \"1\"\n\n[profile.dev]\ndebug = false\nstrip = \"debuginfo\"\nopt-level = \"s\"\npanic = \"abort\"\n",
        sdk.to_str().with_context(|| format!("{} is not UTF-8", sdk.display()))?
    );
    for (index, code) in recipes.iter().enumerate() {
        let name = format!("cookbook_{:02}", index + 1);
        manifest.push_str(&format!("\n[[example]]\nname = {name:?}\ncrate-type = [\"cdylib\"]\n"));
        // Its `main` is for the reader, and for the documentation tests, which run it.
        let code = format!("#![deny(warnings)]\n#![allow(dead_code)]\n{code}\n");
        workspace::write_if_changed(&folder.join("examples").join(name).with_extension("rs"), code.as_bytes())?;
    }
    workspace::write_if_changed(&folder.join("src/lib.rs"), b"//! Nothing: the recipes are examples.\n")?;
    workspace::write_if_changed(&folder.join("Cargo.toml"), manifest.as_bytes())?;
    // The versions that the workspace has already, so that nothing new is fetched.
    let lock = workspace::root().join("Cargo.lock");
    let lock = fs::read(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    workspace::write_if_changed(&folder.join("Cargo.lock"), &lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_are_the_blocks_of_rust_and_no_others() {
        let text = "# Title\n\n```rust\nfn a() {}\n```\n\n```toml\nx = 1\n```\n\n```rust\nfn b() {\n}\n```\n";
        assert_eq!(recipes(text), ["fn a() {}", "fn b() {\n}"]);
    }
}
