//! What there is to read where a crate does not become a policy.

use crate::folder::Folder;

/// Puts one thing into the place of another in a file.
fn change(folder: &Folder, file: &str, from: &str, to: &str) {
    let content = folder.read(file);
    assert!(content.contains(from), "{file}: {content}");
    folder.write(file, &content.replace(from, to));
}

/// The complaint about a crate that does not build, and that there is no file of it.
fn complaint(folder: &Folder, name: &str) -> String {
    let complaint = folder.reprieve(name, &["policy", "build"]).failed(1);
    assert!(!folder.path(&format!("{name}/{name}.wasm")).exists(), "no file is written");
    complaint
}

/// The part from our first word on, after what cargo says.
fn hint(complaint: &str) -> &str {
    let begin = complaint.find("hint: ").unwrap_or_else(|| panic!("no hint: {complaint}"));
    &complaint[begin..]
}

#[test]
fn an_error_in_the_code_is_told_by_cargo_alone() {
    let folder = Folder::with_policy("broken");
    change(&folder, "broken/src/lib.rs", "failure.attempt)", "failure.attempts)");
    let complaint = complaint(&folder, "broken");
    assert!(complaint.contains("error[E0609]: no field `attempts`"), "{complaint}");
    assert!(complaint.trim_end().ends_with("could not compile `broken` (lib) due to 1 previous error"), "{complaint}");
}

#[test]
fn a_crate_that_exports_no_policy_is_told_how_to() {
    let folder = Folder::with_policy("silent");
    change(&folder, "silent/src/lib.rs", "reprieve_sdk::policy!(MyPolicy);", "");
    change(&folder, "silent/src/lib.rs", "struct MyPolicy", "#[expect(dead_code)]\nstruct MyPolicy");
    let complaint = complaint(&folder, "silent");
    let ours = complaint.find("error: no host").unwrap_or_else(|| panic!("{complaint}"));
    insta::assert_snapshot!(&complaint[ours..]);
}

#[test]
fn a_policy_that_fails_its_own_case_is_not_written() {
    let folder = Folder::with_policy("wrong");
    change(&folder, "wrong/cases/decisions.toml", "delay = \"1s\"", "delay = \"2s\"");
    let complaint = complaint(&folder, "wrong");
    let ours = complaint.find("error: ").unwrap_or_else(|| panic!("{complaint}"));
    insta::assert_snapshot!(&complaint[ours..]);
}

#[test]
fn a_case_that_cannot_be_read_is_named_before_anything_is_built() {
    let folder = Folder::with_policy("misspelt");
    change(&folder, "misspelt/cases/decisions.toml", "attempt = 2", "atempt = 2");
    insta::assert_snapshot!(complaint(&folder, "misspelt"));
}

#[test]
fn a_dependency_that_wants_randomness_is_named_with_what_brings_it() {
    let folder = Folder::with_policy("random");
    folder.write("getrandom/Cargo.toml", "[package]\nname = \"getrandom\"\nversion = \"0.2.0\"\n");
    folder.write("getrandom/src/lib.rs", "compile_error!(\"the wasm32-unknown-unknown targets are not supported\");");
    folder.write(
        "dice/Cargo.toml",
        "[package]\nname = \"dice\"\nversion = \"1.0.0\"\n[dependencies]\ngetrandom = { path = \"../getrandom\" }\n",
    );
    folder.write("dice/src/lib.rs", "");
    change(&folder, "random/Cargo.toml", "[dependencies]\n", "[dependencies]\ndice = { path = \"../dice\" }\n");
    insta::assert_snapshot!(hint(&complaint(&folder, "random")));
}

#[test]
fn an_sdk_that_is_in_no_registry_is_explained() {
    let folder = Folder::new();
    folder.reprieve("", &["policy", "new", "early"]).succeeded();
    insta::assert_snapshot!(hint(&complaint(&folder, "early")));
}

#[test]
fn a_folder_without_a_policy_is_told_from_one_without_a_crate() {
    let folder = Folder::new();
    folder.write("nothing/notes.txt", "");
    folder.write("other/Cargo.toml", "[package]\nname = \"other\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    folder.write("other/src/main.rs", "fn main() {}");
    let refused = |path| folder.reprieve("", &["policy", "build", path]).failed(1);
    insta::assert_snapshot!("no_policy", ["nowhere", "nothing", "other"].map(refused).concat());
}
