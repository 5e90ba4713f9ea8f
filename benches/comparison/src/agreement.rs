//! That all ways say the same: figures of different decisions would compare nothing.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail, ensure};
use comparison_rules::{NO_RULE, Settings};
use reprieve::verdict::Verdict;

use crate::sample::{SETTINGS, Sample};
use crate::way::{Decider, Way};

/// Lets each way judge all samples, there and back on one decider, so that what one decision leaves for another shows.
///
/// # Errors
/// The first verdict that differs, or samples that leave a rule or an action out.
pub(crate) fn check(ways: &[Box<dyn Way>], samples: &[Sample]) -> anyhow::Result<()> {
    let (first, others) = ways.split_first().context("there is nothing to compare")?;
    let expected = judge(&mut *first.decider()?, samples).with_context(|| first.name())?;
    reach_everything(&expected)?;
    for way in others {
        let verdicts = judge(&mut *way.decider()?, samples).with_context(|| way.name())?;
        for ((sample, expected), verdict) in samples.iter().zip(&expected).zip(&verdicts) {
            if verdict != expected {
                bail!(
                    "{} and {} differ on the error {:?} at attempt {}: {expected:?} and {verdict:?}",
                    first.name(),
                    way.name(),
                    sample.failure.error.kind,
                    sample.failure.attempt,
                );
            }
        }
    }
    Ok(())
}

fn judge(decider: &mut dyn Decider, samples: &[Sample]) -> anyhow::Result<Vec<Verdict>> {
    let there: Vec<_> = samples.iter().map(|sample| decider.decide(sample)).collect::<Result<_, _>>()?;
    let mut back: Vec<_> = samples.iter().rev().map(|sample| decider.decide(sample)).collect::<Result<_, _>>()?;
    back.reverse();
    ensure!(there == back, "the same failures in another order get other verdicts");
    Ok(there)
}

fn reach_everything(verdicts: &[Verdict]) -> anyhow::Result<()> {
    let settings: Settings = serde_json::from_str(SETTINGS)?;
    let reasons: BTreeSet<&str> = verdicts.iter().map(|verdict| verdict.reason.as_str()).collect();
    for reason in settings.rules.iter().map(|rule| rule.reason.as_str()).chain([NO_RULE]) {
        ensure!(reasons.contains(reason), "no sample is judged for the reason that {reason:?}");
    }
    let actions: BTreeSet<&str> = verdicts.iter().map(|verdict| verdict.action.name()).collect();
    ensure!(actions.len() == 3, "the samples should be retried, delayed and dead-lettered, not only {actions:?}");
    Ok(())
}
