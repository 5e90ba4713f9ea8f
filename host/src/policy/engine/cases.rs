//! Cases, each judged by a clean instance that is configured as the case says.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::cases::{Case, CaseResult, section};
use super::super::lower::Needs;
use super::super::rejection::Rejection;
use super::log_lines::Identity;
use super::prepared::Program;
use super::{Engine, fault, load, revision};

/// How long all the cases that a policy carries may take: a thousand take a tenth of that.
const LONGEST: Duration = Duration::from_secs(5);

/// Judges one case.
pub(super) fn run(engine: &Engine, program: &Program, policy: &str, case: &Case) -> CaseResult {
    let limits = engine.limits();
    let identity = Arc::new(Identity::made_up(policy, &case.route.name));
    let slot = engine.shared.slots.take();
    let mut store = engine.store(&slot, &identity, limits.configure_deadline);
    let instance = match program.start(&mut store) {
        Ok(instance) => instance,
        Err(fault) => return CaseResult::Faulted(fault),
    };
    let settings = case.settings.to_string();
    let answer = case.route.lower(|route| {
        let configure = program.configure(&mut store, &instance)?;
        configure.call(&mut store, (route, &settings))
    });
    let needs = match answer {
        Ok((Ok(needs),)) => Needs::new(needs, limits.max_body.min(case.route.max_body)),
        Ok((Err(problems),)) => return CaseResult::Refused(load::lift_problems(problems)),
        Err(error) => return CaseResult::Faulted(fault::of_call(&error, store.data())),
    };
    engine.allow_time(&mut store, limits.deadline);
    match revision::ask(program, &mut store, &instance, &case.failure, &needs) {
        Err(fault) => CaseResult::Faulted(fault),
        Ok(verdict) => {
            let differences = case.expect.differences(&verdict);
            match differences.is_empty() {
                true => CaseResult::Passed,
                false => CaseResult::Differs { differences, verdict: Box::new(verdict) },
            }
        }
    }
}

/// Judges the cases that a file carries, up to the first that fails.
pub(super) fn run_carried(engine: &Engine, program: &Program, file: &[u8], policy: &str) -> Result<(), Rejection> {
    let cases = section::carried(file).map_err(|error| Rejection::Cases { cause: error.to_string() })?;
    let began = Instant::now();
    for (done, case) in cases.iter().enumerate() {
        if began.elapsed() > LONGEST {
            return Err(Rejection::SlowCases { done, of: cases.len() });
        }
        if let Some(cause) = run(engine, program, policy, case).failure() {
            return Err(Rejection::CaseFailed { case: case.name.clone(), cause });
        }
    }
    Ok(())
}
