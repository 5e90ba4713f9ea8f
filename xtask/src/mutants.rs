//! `cargo xtask mutants`: breaks the rules of settlement one by one and demands that the tests see it.
//!
//! Each `tests/mutants/*.patch` begins with three lines: the rule that it breaks, how, and the arguments of `cargo test`
//! that must turn red. It is applied to a copy of the working tree, so an interrupted run leaves nothing broken.

mod patch;
mod tree;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use reprieve_kafka_node::{JARS_VARIABLE, folder};

use crate::{kafka, rabbitmq, workspace};
use patch::Patch;
use tree::{Outcome, Tree};

/// A suite that hangs on a mutant has noticed it too, but has to be stopped.
const LONGEST_RUN: Duration = Duration::from_secs(300);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the mutants whose file name holds this, such as 09
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let patches = patches(args)?;
    ensure!(!patches.is_empty(), "no file in tests/mutants matches");
    let mut tree = Tree::copy(&workspace::root().join("target/mutants"))?;
    let needs =
        |suites: &[&str]| patches.iter().any(|patch| patch.suite.iter().any(|word| suites.contains(&word.as_str())));
    if needs(&["rabbitmq", "conformance"]) {
        tree.environment("REPRIEVE_TEST_RABBITMQ", rabbitmq::ensure()?.url());
    }
    // To be ended with this run, where it is not one that stays.
    let kafka = needs(&["kafka", "conformance"]).then(kafka::ensure).transpose()?;
    if let Some(kafka) = &kafka {
        tree.environment("REPRIEVE_TEST_KAFKA", kafka.address().to_owned());
        // The copy of the tree has a target folder of its own, without them.
        tree.environment(JARS_VARIABLE, folder().join("jars").display().to_string());
    }

    let suites: BTreeSet<&[String]> = patches.iter().map(|patch| patch.suite.as_slice()).collect();
    for suite in suites {
        println!("unbroken: cargo test {}", suite.join(" "));
        let outcome = tree.test(suite, LONGEST_RUN)?;
        ensure!(outcome == Outcome::Green, "the suite is not green to begin with: {outcome:?}");
    }

    let mut survivors = Vec::new();
    for patch in &patches {
        let begin = Instant::now();
        tree.apply(&patch.path)?;
        let outcome = tree.test(&patch.suite, LONGEST_RUN);
        tree.restore(&patch.path)?;
        let (seen, word) = match outcome.with_context(|| patch.name.clone())? {
            Outcome::Red => (true, "red"),
            Outcome::Hangs => (true, "hangs"),
            Outcome::Green => (false, "GREEN: nobody noticed"),
            Outcome::DoesNotBuild => bail!("{} does not build, so it proves nothing: mend the patch", patch.name),
        };
        println!("rule {:>2}  {word:<6} {:>4.0?}  {}", patch.rule, begin.elapsed(), patch.breaks);
        if !seen {
            survivors.push(patch.name.as_str());
        }
    }
    ensure!(
        survivors.is_empty(),
        "{} of {} mutants survived: {}",
        survivors.len(),
        patches.len(),
        survivors.join(", ")
    );
    println!("all {} mutants were seen", patches.len());
    Ok(())
}

fn patches(args: &Args) -> Result<Vec<Patch>> {
    let folder = workspace::root().join("tests/mutants");
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
        paths.push(entry?.path());
    }
    paths.sort();
    let is_wanted = |patch: &Patch| args.names.is_empty() || args.names.iter().any(|name| patch.name.contains(name));
    let read: Result<Vec<Patch>> = paths.iter().map(|path| Patch::read(path)).collect();
    Ok(read?.into_iter().filter(is_wanted).collect())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn every_mutant_applies_to_the_code_as_it_is() {
        let patches = patches(&Args { names: Vec::new() }).unwrap();
        for rule in ["1", "2", "3", "5", "7", "8", "9", "10"] {
            assert!(patches.iter().any(|patch| patch.rule == rule), "no mutant breaks rule {rule}");
        }
        for patch in patches {
            let mut git = Command::new("git");
            git.args(["apply", "--check"]).arg(&patch.path).current_dir(workspace::root());
            workspace::run(&mut git).unwrap();
        }
    }
}
