//! The packages as a registry would get them hold all that they are built from.

mod capabilities;
mod links;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The published packages, each with its folder.
const PACKAGES: [(&str, &str); 3] =
    [("reprieve", "host"), ("reprieve-sdk", "plugin-sdk"), ("reprieve-toolchain", "toolchain")];

/// The content of each package's files, by the path in it.
type Files = BTreeMap<PathBuf, Vec<u8>>;

#[test]
fn each_package_holds_every_file_of_its_folder_with_its_content() {
    for (name, folder) in PACKAGES {
        let package = &UNPACKED[name];
        let mut folder = files(&root().join(folder));
        // Written anew for the package; the original is beside it.
        let manifest = folder.remove(Path::new("Cargo.toml")).expect("a package has a manifest");
        folder.insert("Cargo.toml.orig".into(), manifest);
        for (path, content) in folder {
            let packaged = package.get(&path).unwrap_or_else(|| panic!("{name} lacks {}", path.display()));
            // A link to elsewhere in the repository must have become what it points to.
            assert!(*packaged == content, "{name} has another {}", path.display());
        }
    }
}

#[test]
fn each_package_holds_a_readme_and_both_licences() {
    for (name, _) in PACKAGES {
        for path in ["LICENSE-APACHE", "LICENSE-MIT"] {
            assert_holds(name, path, path);
        }
        let readme = UNPACKED[name].get(Path::new("README.md")).unwrap_or_else(|| panic!("{name} lacks a README"));
        assert!(!readme.is_empty(), "the README of {name} is empty");
    }
}

#[test]
fn host_and_sdk_hold_the_policy_interface() {
    for name in ["reprieve", "reprieve-sdk"] {
        assert_holds(name, "wit/policy.wit", "plugin-sdk/wit/policy.wit");
    }
}

/// The package has at `path` what the repository has at `origin`.
fn assert_holds(name: &str, path: &str, origin: &str) {
    let packaged = UNPACKED[name].get(Path::new(path)).unwrap_or_else(|| panic!("{name} lacks {path}"));
    assert!(*packaged == fs::read(root().join(origin)).unwrap(), "{name} has another {path}");
}

#[test]
fn the_host_package_holds_the_policies_that_it_embeds() {
    use reprieve::policy::embedded::{BY_ERROR_KIND, STANDARD};
    for (path, embedded) in [("policies/standard.wasm", STANDARD), ("policies/by-error-kind.wasm", BY_ERROR_KIND)] {
        assert!(UNPACKED["reprieve"][Path::new(path)] == embedded, "{path} is not what the program embeds");
    }
}

#[test]
fn no_source_of_a_package_includes_a_file_from_outside_of_it() {
    for (name, _) in PACKAGES {
        for (path, content) in &UNPACKED[name] {
            if path.extension().is_none_or(|extension| extension != "rs") || !path.starts_with("src") {
                continue;
            }
            let source = str::from_utf8(content).expect("Rust is UTF-8");
            let depth = path.components().count() - 1;
            let outside = "../".repeat(depth + 1);
            assert!(!source.contains(&outside), "{name}: {} reaches out of the package", path.display());
        }
    }
}

/// What `cargo package` makes, taken apart again. Together, so that the host finds the SDK that it needs.
static UNPACKED: LazyLock<BTreeMap<&str, Files>> = LazyLock::new(|| {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packaging");
    let mut cargo = Command::new(env!("CARGO"));
    // Offline: everything was fetched for this build already.
    cargo.args(["package", "--offline", "--no-verify", "--allow-dirty", "--quiet", "--target-dir"]).arg(&target);
    run(cargo.args(PACKAGES.iter().flat_map(|(name, _)| ["--package", name])).current_dir(root()));

    let unpacked = tempfile::tempdir().unwrap();
    let unpack = |(name, _): &(&'static str, _)| {
        let package = format!("{name}-{}", env!("CARGO_PKG_VERSION"));
        let archive = target.join("package").join(format!("{package}.crate"));
        run(Command::new("tar").arg("-xzf").arg(archive).current_dir(&unpacked));
        (*name, files(&unpacked.path().join(package)))
    };
    PACKAGES.iter().map(unpack).collect()
});

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a folder of the workspace")
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// All files beneath a folder, links followed.
fn files(folder: &Path) -> Files {
    let mut found = Files::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap_or_else(|error| panic!("{}: {error}", next.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let content = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                found.insert(path.strip_prefix(folder).expect("a file in the folder").to_owned(), content);
            }
        }
    }
    found
}
