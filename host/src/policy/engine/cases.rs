//! Cases, each judged by a clean instance that is configured as the case says.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::Store;

use super::super::cases::{Case, CaseResult, section};
use super::super::lower::Needs;
use super::super::rejection::Rejection;
use super::log_lines::{Identity, LogLine};
use super::prepared::Program;
use super::store::StoreState;
use super::{Engine, fault, load, revision};

/// A case, judged.
#[derive(Debug, Clone)]
pub struct CaseRun {
    /// What came of it.
    pub result: CaseResult,
    /// What the policy wrote to the log, as much as the log would have taken.
    pub log: Vec<LogLine>,
    /// Lines for which the log would have had no room.
    pub withheld: u32,
    /// From the settings to the verdict.
    pub elapsed: Duration,
}

/// Judges one case, and keeps the log lines.
pub(super) fn run(engine: &Engine, program: &Program, policy: &str, case: &Case) -> CaseRun {
    let slot = engine.shared.slots.take();
    let began = Instant::now();
    let mut store = engine.store(&slot, &identity(policy, case), engine.limits().configure_deadline);
    store.data_mut().log.keep();
    let result = judge(engine, program, &mut store, case);
    let (log, withheld) = store.data_mut().log.take_kept();
    CaseRun { result, log, withheld, elapsed: began.elapsed() }
}

/// Judges the cases that a file carries, up to the first that fails.
pub(super) fn run_carried(engine: &Engine, program: &Program, file: &[u8], policy: &str) -> Result<(), Rejection> {
    let cases = section::carried(file).map_err(|error| Rejection::Cases { cause: error.to_string() })?;
    let allowed = engine.limits().ticks(engine.limits().cases_deadline);
    let mut ticks = 0;
    for (done, case) in cases.iter().enumerate() {
        // The policy's own time, as in a decision: what refuses it is remembered, and a busy machine is no fault of its.
        // One case more than the time allows is bounded by the deadlines of its own calls.
        if ticks > allowed {
            return Err(Rejection::SlowCases { done, of: cases.len() });
        }
        let slot = engine.shared.slots.take();
        let mut store = engine.store(&slot, &identity(policy, case), engine.limits().configure_deadline);
        if let Some(cause) = judge(engine, program, &mut store, case).failure() {
            return Err(Rejection::CaseFailed { case: case.name.clone(), cause });
        }
        ticks += store.data().ticks_seen();
    }
    Ok(())
}

fn identity(policy: &str, case: &Case) -> Arc<Identity> {
    Arc::new(Identity::made_up(policy, &case.route.name))
}

fn judge(engine: &Engine, program: &Program, store: &mut Store<StoreState>, case: &Case) -> CaseResult {
    let limits = engine.limits();
    let instance = match program.start(store) {
        Ok(instance) => instance,
        Err(fault) => return CaseResult::NotConfigured(fault),
    };
    let settings = case.settings.to_string();
    let answer = case.route.lower(|route| {
        let configure = program.configure(store, &instance)?;
        configure.call(&mut *store, (route, &settings))
    });
    let needs = match answer {
        Ok((Ok(needs),)) => Needs::new(needs, limits.max_body.min(case.route.max_body)),
        Ok((Err(problems),)) => return CaseResult::Refused(load::lift_problems(problems)),
        Err(error) => return CaseResult::NotConfigured(fault::of_call(&error, store.data())),
    };
    engine.allow_time(store, limits.deadline);
    match revision::ask(program, store, &instance, &case.failure, &needs) {
        Ok(verdict) => CaseResult::of(verdict, &case.expect),
        Err(fault) => CaseResult::Faulted(fault),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use serde_json::json;
    use wasm_encoder::{CustomSection, Section};

    use super::super::prepared::Prepared;
    use super::super::{EngineLimits, config};
    use super::*;
    use crate::policy::embedded::STANDARD;

    #[test]
    fn waiting_for_room_is_no_time_of_the_policys() {
        let cases_deadline = Duration::from_millis(50);
        let engine = Engine::new(EngineLimits { cases_deadline, ..EngineLimits::default() }).unwrap();
        let cases = ["one", "another"].map(|name| json!({ "name": name, "expect": { "action": "retry" } }));
        let data = json!([{ "case": cases }]).to_string().into_bytes();
        let mut file = STANDARD.to_vec();
        CustomSection { name: section::CASES_SECTION.into(), data: data.into() }.append_to(&mut file);
        let prepared = Prepared::new(&engine, &file, &Arc::new(Identity::made_up("standard", "orders"))).unwrap();
        let slots: Vec<_> = (0..config::pool_size(engine.limits())).map(|_| engine.shared.slots.take()).collect();
        thread::scope(|scope| {
            let proving = scope.spawn(|| prepared.prove(&engine, &file, "standard"));
            thread::sleep(cases_deadline * 4);
            assert!(!proving.is_finished(), "there is no room yet");
            drop(slots);
            proving.join().unwrap().unwrap();
        });
    }
}
