//! The policies folder as Kubernetes mounts and updates a ConfigMap: each file is a link through `..data`, itself a link
//! to a folder with a time in its name, and an update swaps that one link.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use reprieve::policy::embedded;

use crate::place::{Place, ROUTE};
use crate::program::Program;
use crate::wait_for;

struct Volume(PathBuf);

impl Volume {
    /// Writes the files of an update, which nobody sees yet.
    fn stage(&self, time: &str, policy: &[u8]) {
        fs::create_dir(self.0.join(time)).unwrap();
        fs::write(self.0.join(time).join("orders.wasm"), policy).unwrap();
    }

    /// Makes them what the mounted names mean, in one step.
    fn swap(&self, time: &str) {
        symlink(time, self.0.join("..data_tmp")).unwrap();
        fs::rename(self.0.join("..data_tmp"), self.0.join("..data")).unwrap();
    }

    fn remove(&self, time: &str) {
        fs::remove_dir_all(self.0.join(time)).unwrap();
    }
}

fn committed(policy: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/policies").join(policy)).unwrap()
}

fn another(program: &Program, before: &str) -> String {
    wait_for("another revision", || Some(program.revision()).filter(|now| now != before))
}

#[test]
fn an_updated_config_map_swaps_the_policy_and_a_bad_update_keeps_it() {
    let route = ROUTE.replace("source =", "policy = \"orders\"\nsource =");
    // So that it is the watch which sees the swap.
    let place =
        Place::new("", &format!("[policies]\nfolder = \"policies\"\nrescan = \"1h\"\ndeadline = \"5s\"\n{route}"));
    let volume = Volume(place.path("policies"));
    fs::create_dir(&volume.0).unwrap();
    volume.stage("..2026_01", embedded::STANDARD);
    volume.swap("..2026_01");
    symlink("..data/orders.wasm", volume.0.join("orders.wasm")).unwrap();
    let program = place.run(&["--log", "debug"], &[]);
    program.wait_for_line("policy loaded");
    let first = program.revision();

    volume.stage("..2026_02", &committed("by-error-kind.wasm"));
    volume.swap("..2026_02");
    volume.remove("..2026_01");
    let second = another(&program, &first);
    let swapped = program.wait_for_line("policy swapped");
    assert!(swapped["from"].as_str().unwrap().ends_with(&first[..12]), "{swapped}");
    assert!(swapped["to"].as_str().unwrap().ends_with(&second[..12]), "{swapped}");

    volume.stage("..2026_03", b"no policy");
    volume.swap("..2026_03");
    volume.remove("..2026_02");
    let refused = program.wait_for_line("the policy was not taken");
    assert!(refused["error"].as_str().unwrap().contains("not WebAssembly"), "{refused}");
    assert_eq!(program.revision(), second, "the last good one judges");

    volume.stage("..2026_04", embedded::STANDARD);
    volume.swap("..2026_04");
    volume.remove("..2026_03");
    assert_eq!(another(&program, &second), first, "the same file is the same revision");
    program.stop();
}
