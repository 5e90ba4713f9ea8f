//! `reprieve policy new`

use crate::folder::{Folder, SDK};

#[test]
fn a_new_policy_says_what_was_made_and_what_to_do_next() {
    let folder = Folder::new();
    let out = folder.reprieve("", &["policy", "new", "orders-policy", "--sdk-path", SDK]).succeeded();
    insta::assert_snapshot!(out);
}

#[test]
fn a_new_policy_is_tested_formatted_and_free_of_warnings() {
    let folder = Folder::with_policy("tidy");
    let tests = folder.cargo("tidy", &["test"]).succeeded();
    assert!(tests.contains("test result: ok. 4 passed"), "{tests}");
    folder.cargo("tidy", &["fmt", "--check"]).succeeded();
    folder.cargo("tidy", &["clippy", "--all-targets", "--", "-D", "warnings"]).succeeded();
}

#[test]
fn without_a_path_the_sdk_is_the_published_one_of_this_version() {
    let folder = Folder::new();
    folder.reprieve("", &["policy", "new", "published"]).succeeded();
    let manifest = folder.read("published/Cargo.toml");
    assert!(manifest.contains(concat!("reprieve-sdk = \"", env!("CARGO_PKG_VERSION"), "\"\n")), "{manifest}");
}

#[test]
fn a_relative_way_to_the_sdk_holds_from_the_crates_folder() {
    let folder = Folder::new();
    folder.write("sdk/Cargo.toml", "[package]\nname = \"reprieve-sdk\"\nversion = \"0.1.0\"\n");
    folder.write("sdk/src/lib.rs", "");
    folder.reprieve("", &["policy", "new", "near", "--path", "policies/near", "--sdk-path", "sdk"]).succeeded();
    let manifest = folder.read("policies/near/Cargo.toml");
    assert!(manifest.contains("reprieve-sdk = { path = \"../../sdk\" }"), "{manifest}");
}

#[test]
fn in_a_workspace_a_new_policy_becomes_a_member() {
    let folder = Folder::new();
    folder.write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"policies/*\"]\n");
    let out =
        folder.reprieve("", &["policy", "new", "covered", "--path", "policies/covered", "--sdk-path", SDK]).succeeded();
    assert!(out.contains("It is a member of the workspace [folder]."), "{out}");
    assert!(folder.read("Cargo.toml").contains("members = [\"policies/*\"]"), "the pattern covers it already");

    folder.reprieve("", &["policy", "new", "added", "--sdk-path", SDK]).succeeded();
    let manifest = folder.read("Cargo.toml");
    assert!(manifest.contains("\"added\"") && manifest.contains("\"policies/*\""), "{manifest}");
    let members = folder.cargo("added", &["metadata", "--no-deps", "--format-version", "1"]).succeeded();
    assert!(members.contains("\"name\":\"covered\"") && members.contains("\"name\":\"added\""), "{members}");
}

#[test]
fn a_name_that_no_crate_or_file_can_have_is_refused() {
    let refused = |name| Folder::new().reprieve("", &["policy", "new", name]).failed(2);
    insta::assert_snapshot!("capital", refused("Orders"));
    insta::assert_snapshot!("path", refused("../orders"));
    insta::assert_snapshot!("taken", refused("serde"));
    insta::assert_snapshot!("keyword", Folder::new().reprieve("", &["policy", "new", "match"]).failed(1));
}

#[test]
fn what_is_there_already_is_not_touched() {
    let folder = Folder::new();
    folder.write("orders/notes.txt", "mine");
    let complaint = folder.reprieve("", &["policy", "new", "orders"]).failed(1);
    insta::assert_snapshot!(complaint);
    assert_eq!(std::fs::read_dir(folder.path("orders")).expect("a folder").count(), 1);
}

#[test]
fn a_folder_without_the_sdk_is_refused_before_anything_is_made() {
    let folder = Folder::new();
    folder.write("other/Cargo.toml", "[package]\nname = \"other\"\nversion = \"0.1.0\"\n");
    let refused = |sdk| folder.reprieve("", &["policy", "new", "orders", "--sdk-path", sdk]).failed(1);
    insta::assert_snapshot!("no_sdk", format!("{}{}", refused("nowhere"), refused("other")));
    assert!(!folder.path("orders").exists());
}
