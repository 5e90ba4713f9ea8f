//! Each policy of `plugins/`, as a built file, against the cases of its own folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reprieve::policy::cases::CaseTable;
use reprieve::policy::embedded::STANDARD;
use reprieve::policy::engine::{Engine, EngineLimits};

use crate::built;

#[test]
fn every_case_of_every_policy_holds() {
    // With deadlines that nothing misses, however busy the machine is.
    let deadline = Duration::from_secs(10);
    let limits = EngineLimits { deadline, configure_deadline: deadline, ..EngineLimits::default() };
    let engine = Engine::new(limits).unwrap();
    let mut failed = Vec::new();
    for policy in names_in(&plugins()) {
        let bytes = built(&format!("fresh-policies/{policy}.wasm"));
        let folder = plugins().join(&policy).join("cases");
        let files = names_in(&folder);
        assert!(!files.is_empty(), "{} has no cases", folder.display());
        for file in files {
            let table = CaseTable::read(&folder.join(&file)).unwrap_or_else(|error| panic!("{error}"));
            let runs = engine.run_cases(&policy, &bytes, &table.cases).unwrap();
            for (case, run) in table.cases.iter().zip(runs) {
                failed.extend(run.result.failure().map(|why| format!("{policy}/cases/{file}, {:?}: {why}", case.name)));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_example_of_the_reference_holds_for_the_standard_policy() {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cases.md");
    let text = fs::read_to_string(reference).unwrap();
    let (_, example) = text.split_once("```toml\n").expect("an example");
    let (example, _) = example.split_once("```").expect("its end");
    let cases = CaseTable::from_toml(example).unwrap_or_else(|error| panic!("{error}")).cases;
    let limits = EngineLimits { deadline: Duration::from_secs(10), ..EngineLimits::default() };
    let runs = Engine::new(limits).unwrap().run_cases("standard", STANDARD, &cases).unwrap();
    let failed: Vec<_> = runs.iter().filter_map(|run| run.result.failure()).collect();
    assert_eq!((runs.len(), &failed[..]), (3, &[][..]));
}

fn plugins() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins")
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
