//! The rig as a program. That it is tested as one also has `cargo test` build it, for the short run that follows the tests.

use std::process::Command;

#[test]
fn a_broker_that_cannot_be_started_is_named_and_ends_the_run() {
    let folder = std::env::temp_dir().join(format!("torture-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let missing = folder.join("node.sh");
    let output = Command::new(env!("CARGO_BIN_EXE_torture"))
        .args(["--minutes", "1", "--hosts", "1", "--source", "quorum", "--rate", "1", "--seed", "1", "--port", "1"])
        .args(["--program", "true", "--policies", ".", "--test-policies", "."])
        .arg("--node")
        .arg(&missing)
        .arg("--folder")
        .arg(&folder)
        .output()
        .unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains(&format!("error: cannot run {}", missing.display())), "{stderr}");
}
