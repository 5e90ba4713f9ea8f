//! Where the new crate gets the SDK from.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};

/// The SDK of this program's version: the two are published together.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The folder as a path that means the same from everywhere.
///
/// # Errors
/// The SDK is not in it.
pub(super) fn folder(given: &Path) -> anyhow::Result<PathBuf> {
    let text = std::fs::read_to_string(given.join("Cargo.toml")).with_context(|| {
        format!("no crate is in {}; give the folder plugin-sdk of Reprieve's repository", given.display())
    })?;
    let manifest: toml::Table =
        text.parse().with_context(|| format!("cannot read {}", given.join("Cargo.toml").display()))?;
    let name = manifest.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str);
    if name != Some("reprieve-sdk") {
        bail!(
            "the crate in {} is {}, not reprieve-sdk; give the folder plugin-sdk of Reprieve's repository",
            given.display(),
            name.unwrap_or("without a name")
        );
    }
    given.canonicalize().with_context(|| format!("cannot find {}", given.display()))
}

/// The right side of `reprieve-sdk = …` in the manifest of the crate in `krate`.
pub(super) fn dependency(sdk: Option<&Path>, krate: &Path) -> anyhow::Result<String> {
    let Some(sdk) = sdk else { return Ok(format!("\"{VERSION}\"")) };
    let krate = krate.canonicalize().with_context(|| format!("cannot find {}", krate.display()))?;
    let path = relative(&krate, sdk);
    let path = path.to_str().with_context(|| format!("the path {} is not UTF-8", path.display()))?;
    // Cargo takes `/` everywhere, and a text is written the same in JSON as in TOML.
    let path = serde_json::Value::from(path.replace('\\', "/"));
    Ok(format!("{{ path = {path} }}"))
}

/// The way from one folder to another, both absolute, so that the crate can be moved and committed along with the SDK.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    // Nothing but the root in common: they are apart, and likely to be moved apart.
    if common <= 1 {
        return to.to_owned();
    }
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(to.components().skip(common)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_the_sdk_is_relative_where_they_have_a_folder_in_common() {
        let from = |krate: &str| relative(Path::new(krate), Path::new("/home/ada/reprieve/plugin-sdk"));
        assert_eq!(from("/home/ada/policies/orders"), Path::new("../../reprieve/plugin-sdk"));
        assert_eq!(from("/home/ada/reprieve/orders"), Path::new("../plugin-sdk"));
        assert_eq!(from("/tmp/orders"), Path::new("/home/ada/reprieve/plugin-sdk"));
    }

    #[test]
    fn without_a_folder_the_sdk_is_the_one_of_this_version() {
        assert_eq!(dependency(None, Path::new("orders")).unwrap(), format!("\"{}\"", env!("CARGO_PKG_VERSION")));
    }
}
