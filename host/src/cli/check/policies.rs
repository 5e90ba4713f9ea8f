//! Tries each route's policy with its settings, as a host would at start.

use anyhow::Context as _;

use crate::config::{Config, Problem, Severity};
use crate::host::HostSpec;
use crate::policy::engine::Engine;
use crate::policy::rejection::Rejection;
use crate::policy::trial::{Refusal, try_policy};

/// What is wrong with the routes' policies, each problem at its place. Missing files are not among it:
/// [`Config::missing_policies`] tells of those.
///
/// # Errors
/// The engine does not start.
pub(super) fn problems(config: &Config, spec: &HostSpec) -> anyhow::Result<Vec<Problem>> {
    let engine = Engine::new(spec.limits.clone()).context("cannot start the policy engine")?;
    let mut problems = Vec::new();
    for (index, hosted) in spec.routes.iter().enumerate() {
        let route = hosted.route_policy(&spec.limits);
        match try_policy(&engine, &spec.policies, &route) {
            Ok(()) | Err(Refusal::Missing) => {}
            Err(Refusal::Unreadable { what, cure }) => problems.push(config.problem_of_policy(index, &what, cure)),
            Err(Refusal::Untrusted { title, distrust }) => {
                let message = format!("{title}: {}", distrust.what());
                problems.push(config.problem_of_distrust(index, &distrust, &message));
            }
            Err(Refusal::Rejected { title, rejection }) => {
                problems.extend(at_its_place(config, index, &title, &rejection));
            }
        }
    }
    Ok(problems)
}

fn at_its_place(config: &Config, route: usize, title: &str, rejection: &Rejection) -> Vec<Problem> {
    let Rejection::Settings(refused) = rejection else {
        let message = format!("{title}: {}", rejection.what());
        return vec![config.problem_of_policy(route, &message, rejection.cure())];
    };
    let refused = refused.iter().map(|problem| {
        let message = format!("{title} refuses a setting: {}", problem.message);
        config.problem_of_setting(Severity::Error, route, &problem.path, &message, rejection.cure())
    });
    refused.collect()
}
