//! The rig as a program. That it is tested as one also has `cargo test` build it, for the short run that follows the tests.

use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A rig on a broker that never answers.
fn rig(folder: &Path, script: &Path) -> Command {
    let mut rig = Command::new(env!("CARGO_BIN_EXE_torture"));
    rig.args([
        "--broker",
        "rabbitmq",
        "--minutes",
        "1",
        "--hosts",
        "1",
        "--source",
        "quorum",
        "--rate",
        "1",
        "--seed",
        "1",
        "--port",
        "1",
    ])
    .args(["--program", "true", "--policies", ".", "--test-policies", "."])
    .arg("--node")
    .arg(script)
    .arg("--folder")
    .arg(folder);
    rig
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("torture-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_broker_that_cannot_be_started_is_named_and_ends_the_run() {
    let folder = folder("start");
    let missing = folder.join("node.sh");
    let output = rig(&folder, &missing).output().unwrap();
    let log = fs::read_to_string(folder.join("output.log")).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    let place = folder.join("output.log");
    assert!(stderr.contains("error: the broker ended (exit status: 127) before it answered"), "{stderr}");
    assert!(stderr.contains(&place.display().to_string()), "{stderr}");
    assert!(log.contains(&missing.display().to_string()), "{log}");
}

#[test]
fn what_a_rig_started_does_not_outlive_a_rig_that_is_killed() {
    let folder = folder("killed");
    let (script, fifo) = (folder.join("node.sh"), folder.join("fifo"));
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    fs::write(&script, format!("#!/bin/sh\nexec 3> '{}'\nsleep 15\necho survived >&3\n", fifo.display())).unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let mut rig = rig(&folder, &script).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    // Opens once the broker's script runs, and ends once it and its children are gone.
    let mut signs_of_life = File::open(&fifo).unwrap();
    rig.kill().unwrap();
    rig.wait().unwrap();
    let mut last_words = String::new();
    signs_of_life.read_to_string(&mut last_words).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(last_words, "");
}
