//! Which tier a message of a certain age goes through.

use std::time::Duration;

use reprieve_sdk::{Problem, Route, Tier, duration};

use crate::settings;

/// Tiers, from the one for the youngest messages to the one for the oldest; never empty.
pub(crate) struct Ladder(Vec<Step>);

struct Step {
    /// The age from which on it is for a message.
    from: Duration,
    tier: Tier,
}

impl Ladder {
    /// Each of the route's tiers for messages that are as old as the tier is long, the shortest for younger ones
    /// too: so nothing waits longer than it has been waiting already.
    pub(crate) fn of_route(route: &Route, deadline: Duration) -> Result<Self, Vec<Problem>> {
        let Some(shortest) = route.tiers.first() else {
            let message = "the route has no tiers to delay messages through: \
                           give it some in the configuration, or use the policy `standard`";
            return Err(vec![Problem::new(message)]);
        };
        if shortest.delay > deadline {
            let message = format!(
                "a deadline of {} leaves no time for any tier of the route, of which {:?} is the shortest: \
                 give more time, or the route a shorter tier",
                duration::format(deadline),
                shortest.name,
            );
            return Err(vec![Problem::at("/deadline", message)]);
        }
        let mut steps = vec![Step { from: Duration::ZERO, tier: shortest.clone() }];
        let longer = route.tiers[1..].iter().filter(|tier| tier.delay < deadline);
        steps.extend(longer.map(|tier| Step { from: tier.delay, tier: tier.clone() }));
        Ok(Self(steps))
    }

    /// The steps that the settings give.
    pub(crate) fn of_steps(steps: &[settings::Step], route: &Route, deadline: Duration) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        match steps.first() {
            None => problems.push(Problem::at("/steps", "there are no steps: give some, or leave the setting out")),
            Some(first) if !first.from.is_zero() => {
                let message = "the first step is for the youngest messages: leave `from` out";
                problems.push(Problem::at("/steps/0/from", message));
            }
            Some(_) => {}
        }
        let mut ladder: Vec<Step> = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            if let Some(before) = index.checked_sub(1)
                && step.from <= steps[before].from
            {
                let message = "a step has to begin later than the one before it";
                problems.push(Problem::at(format!("/steps/{index}/from"), message));
            }
            if step.from >= deadline {
                let message = format!("no message gets that old: the deadline is {}", duration::format(deadline));
                problems.push(Problem::at(format!("/steps/{index}/from"), message));
            }
            let path = format!("/steps/{index}/tier");
            match route.require_tier(&step.tier, path.as_str()) {
                Err(problem) => problems.push(problem),
                Ok(tier) if tier.delay > deadline => {
                    let message = format!("the tier is longer than the deadline, {}", duration::format(deadline));
                    problems.push(Problem::at(path, message));
                }
                Ok(tier) if ladder.last().is_some_and(|before| before.tier.delay > tier.delay) => {
                    let message = "an older message has to go through a tier that is no shorter than a younger one's";
                    problems.push(Problem::at(path, message));
                }
                Ok(tier) => ladder.push(Step { from: step.from, tier: tier.clone() }),
            }
        }
        if problems.is_empty() { Ok(Self(ladder)) } else { Err(problems) }
    }

    /// The tiers for a message of this age, the one that is meant for it first, then those for younger ones.
    pub(crate) fn tiers_for(&self, age: Duration) -> impl Iterator<Item = &Tier> {
        self.0.iter().rev().filter(move |step| step.from <= age).map(|step| &step.tier)
    }
}
