//! `reprieve policy build`: from a crate to a file that a host loads.

use std::fs;

use reprieve::policy::cases::example_route;
use reprieve::policy::engine::{Candidate, Engine, EngineLimits};
use reprieve::policy::inspection::Inspection;
use serde_json::{Value, json};

use crate::folder::{Folder, SDK};
use crate::toolchains::without_the_target;

/// A host loads this file, and it carries so many cases.
fn assert_that_a_host_loads(file: &[u8], cases: usize) {
    let engine = Engine::new(EngineLimits::default()).expect("an engine");
    let candidate = Candidate { name: "built", bytes: file, route: &example_route(), settings: &json!({}) };
    engine.load(&candidate).unwrap_or_else(|rejection| panic!("{rejection}"));
    assert_eq!(Inspection::cases(file).expect("cases that can be read").len(), cases);
}

#[test]
fn a_new_policy_is_built_to_a_small_file_that_a_host_loads_with_its_cases() {
    let folder = Folder::with_policy("fresh");
    let out = folder.reprieve("fresh", &["policy", "build"]).succeeded();
    let file = fs::read(folder.path("fresh/fresh.wasm")).expect("the built file");
    assert_that_a_host_loads(&file, 5);
    assert!(file.len() < 200_000, "{} bytes", file.len());

    let inspection = Inspection::of(&file).expect("WebAssembly");
    let with_size =
        |line: &str| if line.starts_with("  size ") { "  size       SIZE".to_owned() } else { line.to_owned() };
    let out: Vec<String> = out.lines().map(with_size).collect();
    insta::assert_snapshot!(out.join("\n").replace(&inspection.digest, "DIGEST"));
    let text = String::from_utf8_lossy(&file);
    assert!(!text.contains("/registry/src/"), "a folder of this machine is in the file");
}

#[test]
fn a_policy_goes_into_a_hosts_folder_whole_and_under_its_name() {
    let folder = Folder::with_policy("swapped");
    fs::create_dir(folder.path("policies")).expect("a folder for policies");
    folder.write("policies/swapped.wasm", "the one before");
    let out =
        folder.reprieve("", &["policy", "build", "swapped", "--into", "policies", "--no-cases", "--json"]).succeeded();
    let report: Value = serde_json::from_str(&out).expect("a report in JSON");
    let file = fs::read(folder.path("policies/swapped.wasm")).expect("the built file");
    assert_that_a_host_loads(&file, 0);
    assert_eq!(report["file"], "policies/swapped.wasm");
    assert_eq!(report["size"], file.len());
    assert_eq!(report["needs"], json!({ "headers": [], "body": null, "attributes": [] }));
    assert_eq!(report["interface"], "0.1.0");
    assert_eq!(fs::read_dir(folder.path("policies")).expect("a folder").count(), 1, "nothing is left beside it");
    assert!(!folder.path("swapped/swapped.wasm").exists());
}

#[test]
fn in_a_workspace_the_policy_is_chosen_by_name_and_built_with_the_first_toolchain_that_can() {
    let folder = Folder::new();
    folder.write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = []\n");
    for name in ["by-tenant", "by-hour"] {
        folder.reprieve("", &["policy", "new", name, "--sdk-path", SDK]).succeeded();
    }
    let complaint = folder.reprieve("", &["policy", "build"]).failed(1);
    insta::assert_snapshot!("several", complaint);
    insta::assert_snapshot!("unknown", folder.reprieve("", &["policy", "build", "-p", "by-day"]).failed(1));

    let path = without_the_target(&folder, true);
    folder.reprieve_with_path(path, "", &["policy", "build", "-p", "by-hour", "--out", "orders.wasm"]).succeeded();
    assert_that_a_host_loads(&fs::read(folder.path("orders.wasm")).expect("the built file"), 5);
}

#[test]
fn the_crates_own_cargo_configuration_holds_from_wherever_it_is_built() {
    let folder = Folder::with_policy("nested");
    folder.write("nested/.cargo/config.toml", "[target.wasm32-unknown-unknown]\nrustflags = [\"--cfg\", \"told\"]\n");
    let source = folder.read("nested/src/lib.rs");
    folder.write(
        "nested/src/lib.rs",
        &format!("#![allow(unexpected_cfgs)]\n{source}\n#[cfg(not(told))]\ncompile_error!(\"not told\");\n"),
    );
    folder.reprieve("", &["policy", "build", "nested"]).succeeded();
}
