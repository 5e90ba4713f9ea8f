//! The ways of deciding.

mod answer;
mod extism;
mod native;
mod rego;
mod reprieve;
mod rhai;
mod tree;

use std::path::Path;
use std::time::Duration;

use ::reprieve::verdict::Verdict;
use anyhow::Context as _;

use crate::sample::Sample;

/// The time that a decision may take elsewhere than in Reprieve, which has its own 10 ms. Keeping to a long one costs as much
/// as keeping to a short one; but only Reprieve does not count the time in which the system ran something else, and a busy
/// machine is not to end the run.
const DEADLINE: Duration = Duration::from_secs(1);
/// The memory that a policy may use, for all ways that can be held to so much.
const MEMORY: usize = 16 * 1024 * 1024;

/// One way of deciding, ready: compiled, and with its settings.
pub(crate) trait Way: Sync {
    /// Its name and version.
    fn name(&self) -> String;

    /// What is given to the rules and how, in each decision.
    fn boundary(&self) -> &'static str;

    /// What one decision may leave for the next.
    fn state(&self) -> &'static str;

    /// What keeps a policy that goes wrong from the process.
    fn sandbox(&self) -> &'static str;

    /// What one thread decides with.
    fn decider(&self) -> anyhow::Result<Box<dyn Decider + '_>>;
}

/// One thread's means to decide, used again and again.
pub(crate) trait Decider {
    /// From the failure as the host has it to the verdict as the host takes it.
    fn decide(&mut self, sample: &Sample) -> anyhow::Result<Verdict>;
}

/// All of them. The first is what the others are compared with.
pub(crate) fn all(policy: &Path, extism_guest: &Path) -> anyhow::Result<Vec<Box<dyn Way>>> {
    let read = |path: &Path| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let (policy, guest) = (read(policy)?, read(extism_guest)?);
    Ok(vec![
        Box::new(reprieve::Reprieve::load(&policy)?),
        Box::new(native::Native::configure()?),
        Box::new(extism::Extism::compile(&guest, extism::Instance::Kept)?),
        Box::new(extism::Extism::compile(&guest, extism::Instance::New)?),
        Box::new(rego::Rego::compile()?),
        Box::new(rhai::Rhai),
    ])
}

/// The version that `Cargo.lock` has of a crate.
fn version(crate_name: &str) -> &'static str {
    let mut lines = include_str!("../Cargo.lock").lines();
    let name = format!("name = \"{crate_name}\"");
    let version = lines.find(|line| *line == name).and_then(|_| lines.next()?.strip_prefix("version = \""));
    version.map_or("", |version| version.trim_end_matches('"'))
}
