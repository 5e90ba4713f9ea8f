//! What a failed build is probably about, where cargo's own words do not say what to do.

use reprieve_toolchain::{TARGET, Toolchain};

use super::package::{Chosen, SDK, folder_of};

/// Packages that do not work in a policy, each with what to do without it.
const UNFIT: [(&str, &str); 2] = [
    (
        "getrandom",
        "a policy has no source of randomness: use the bits in `failure.seed`, and leave out what asks for getrandom",
    ),
    (
        "wasm-bindgen",
        "a policy runs in no browser: leave out what asks for wasm-bindgen (often a feature such as `wasmbind` or `js`)",
    ),
];

/// What to say beneath cargo's words after a build that failed; nothing where they are enough. `built` are the names of
/// the libraries that were built.
pub(super) fn after_failure(toolchain: &Toolchain, package: &Chosen, built: &[String]) -> Option<String> {
    if built.is_empty() && sdk_is_missing(toolchain, package) {
        return Some(format!(
            "cargo finds no {SDK} in the registry: take it from a copy of Reprieve's repository, with \
             `{SDK} = {{ path = \"…/plugin-sdk\" }}` in Cargo.toml (`reprieve policy new --sdk-path` writes that)"
        ));
    }
    let was_built = |name: &str| built.contains(&name.replace('-', "_"));
    UNFIT.iter().filter(|(name, _)| !was_built(name)).find_map(|(name, cure)| unfit(toolchain, package, name, cure))
}

fn sdk_is_missing(toolchain: &Toolchain, package: &Chosen) -> bool {
    let mut cargo = toolchain.cargo();
    cargo.current_dir(folder_of(&package.manifest));
    cargo.args(["metadata", "--format-version", "1", "--offline", "--manifest-path"]).arg(&package.manifest);
    let missing = format!("no matching package named `{SDK}`");
    cargo.output().is_ok_and(|output| String::from_utf8_lossy(&output.stderr).contains(&missing))
}

/// Who brings in a package that this import is made by, where one does.
pub(super) fn after_imports(toolchain: &Toolchain, package: &Chosen) -> Option<String> {
    UNFIT.iter().find_map(|(name, cure)| unfit(toolchain, package, name, cure))
}

fn unfit(toolchain: &Toolchain, package: &Chosen, name: &str, cure: &str) -> Option<String> {
    let mut cargo = toolchain.cargo();
    cargo.current_dir(folder_of(&package.manifest));
    cargo.args(["tree", "--quiet", "--offline", "--edges", "normal", "--target", TARGET, "--invert", name]);
    let output = cargo.arg("--manifest-path").arg(&package.manifest).output().ok()?;
    let tree = String::from_utf8(output.stdout).ok()?;
    let found = output.status.success() && tree.starts_with(name);
    found.then(|| format!("{cure}. It comes in by:\n{}", tree.trim_end()))
}
