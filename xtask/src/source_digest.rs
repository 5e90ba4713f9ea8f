//! A digest of the sources that shape a policy, kept in a custom section of the built file.
//!
//! It is the SHA-256 of, for each file in the order of its path: the path from the workspace's root, a
//! NUL, the file's length in decimal, a NUL, and its bytes. The compiler and the dependencies are not in
//! it: the digest says that a file was built from these sources, and not that another build would give
//! the same bytes.

use std::borrow::Cow;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use wasm_encoder::{CustomSection, Section};
use wasmparser::{Parser, Payload};

use crate::workspace;

const SECTION: &str = "reprieve:source-digest";

/// The digest of these files, which are in the workspace, in hexadecimal.
pub(crate) fn of(files: &[PathBuf]) -> Result<String> {
    let mut named = Vec::new();
    for file in files {
        let path = file.strip_prefix(workspace::root()).context("a source is in the workspace")?;
        let name = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?.replace('\\', "/");
        named.push((name, fs::read(file).with_context(|| format!("cannot read {}", file.display()))?));
    }
    named.sort();
    let mut hash = Sha256::new();
    for (name, bytes) in named {
        hash.update(format!("{name}\0{}\0", bytes.len()));
        hash.update(bytes);
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The module with the digest in it.
pub(crate) fn put(mut module: Vec<u8>, digest: &str) -> Vec<u8> {
    CustomSection { name: SECTION.into(), data: Cow::Borrowed(digest.as_bytes()) }.append_to(&mut module);
    module
}

/// The digest in a module.
pub(crate) fn get(module: &[u8]) -> Result<String> {
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::CustomSection(section) = payload?
            && section.name() == SECTION
        {
            return Ok(String::from_utf8(section.data().to_vec())?);
        }
    }
    anyhow::bail!("no section `{SECTION}`: it was not built by `cargo xtask`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_back_from_a_module_that_stays_valid() {
        let module = put(wasm_encoder::Module::new().finish(), "cafe");
        wasmparser::validate(&module).unwrap();
        assert_eq!(get(&module).unwrap(), "cafe");
    }

    #[test]
    fn a_module_without_a_digest_is_an_error_that_says_what_should_have_built_it() {
        let error = get(&wasm_encoder::Module::new().finish()).unwrap_err().to_string();
        assert!(error.contains("cargo xtask"), "{error}");
    }

    #[test]
    fn a_digest_depends_on_names_and_contents_and_not_on_the_order_in_which_they_are_given() {
        let file = |name: &str| workspace::root().join("xtask").join(name);
        let both = of(&[file("Cargo.toml"), file("src/main.rs")]).unwrap();
        assert_eq!(both, of(&[file("src/main.rs"), file("Cargo.toml")]).unwrap());
        assert_ne!(both, of(&[file("Cargo.toml")]).unwrap());
    }
}
