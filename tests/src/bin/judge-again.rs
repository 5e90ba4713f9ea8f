//! Judges the failures of a journal again, each by the policy that judged it then, and prints what it says: a line of JSON
//! each.

use std::path::Path;

use anyhow::Context as _;
use reprieve_tests::judged_again;

fn main() -> anyhow::Result<()> {
    let journal = std::env::args_os().nth(1).context("usage: judge-again JOURNAL")?;
    judged_again::judge(Path::new(&journal), |entry, answer| println!("{}", judged_again::line(entry.id, &answer)))
}
