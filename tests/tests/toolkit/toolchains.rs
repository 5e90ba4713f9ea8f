//! Which toolchain builds, and what to read where none can.

use std::env;
use std::ffi::OsString;
use std::fs;

use crate::folder::Folder;

/// A `PATH` that begins with a Rust without the target, and ends there unless the others are to follow.
pub(crate) fn without_the_target(folder: &Folder, others: bool) -> OsString {
    let rustc = "#!/bin/sh\n\
        case \"$*\" in\n\
        *--version*) echo 'rustc 1.90.0 (made for a test)'; echo 'host: x86_64-unknown-linux-gnu' ;;\n\
        *) echo /nowhere/lib; echo /nowhere ;;\n\
        esac\n";
    for (name, script) in [("rustc", rustc), ("cargo", "#!/bin/sh\nexit 9\n")] {
        let name = format!("old-rust/{name}");
        folder.write(&name, script);
        make_executable(&folder.path(&name));
    }
    let own = folder.path("old-rust");
    let rest = env::var_os("PATH").unwrap_or_default();
    let rest = env::split_paths(&rest).filter(|_| others);
    env::join_paths([own].into_iter().chain(rest)).expect("folders without a colon")
}

fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a file of ours");
}

#[test]
fn without_any_rust_the_way_to_it_is_told() {
    let folder = Folder::new();
    insta::assert_snapshot!(folder.reprieve_with_path(folder.path(""), "", &["policy", "build"]).failed(1));
}

#[test]
fn a_rust_without_the_target_is_named_with_what_it_lacks() {
    let folder = Folder::new();
    let path = without_the_target(&folder, false);
    insta::assert_snapshot!(folder.reprieve_with_path(path, "", &["policy", "build"]).failed(1));
}

#[test]
fn with_rustup_and_apt_both_ways_are_told_step_by_step() {
    let folder = Folder::new();
    let path = without_the_target(&folder, false);
    for name in ["rustup", "apt-get"] {
        folder.write(&format!("old-rust/{name}"), "#!/bin/sh\nexit 9\n");
    }
    insta::assert_snapshot!(folder.reprieve_with_path(path, "", &["policy", "build"]).failed(1));
}
