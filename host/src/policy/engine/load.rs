//! From a candidate to a revision.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use wasmtime::Store;
use wasmtime::component::Instance;

use super::super::bindings::reprieve::policy::types as wit;
use super::super::lower::Needs;
use super::super::rejection::{Problem, Rejection, Step};
use super::super::sha256;
use super::super::text::one_line;
use super::log_lines::Identity;
use super::prepared::{Prepared, Program};
use super::revision::{Revision, Starting};
use super::store::StoreState;
use super::{Candidate, Engine, INTERFACE_VERSION, fault, smoke, snapshot};
use crate::failure::attribute;
use crate::verdict::Maker;

/// How many problems in the settings a message shows.
const MAX_PROBLEMS: usize = 20;

pub(super) fn load(engine: &Engine, candidate: &Candidate<'_>) -> Result<Revision, Rejection> {
    let identity = Arc::new(Identity::new(candidate.name, &candidate.route.name));
    let file_digest = file_digest(candidate.bytes);
    let prepared = proven(engine, candidate, &file_digest, &identity)?;
    let settings = candidate.settings.to_string();
    let (needs, starting) = configured(engine, &prepared, candidate, &settings, &identity)?;
    let needs = Needs::new(needs, engine.shared.limits.max_body.min(candidate.route.max_body));
    warn_of_unknown_attributes(candidate, &needs);
    let revision = Revision {
        maker: Arc::new(Maker {
            policy: candidate.name.to_owned(),
            revision: revision_digest(&file_digest, candidate, &settings),
        }),
        description: prepared.description.clone(),
        file_digest,
        needs,
        starting,
        identity,
        engine: engine.clone(),
    };
    let made_up = Arc::new(Identity::made_up(candidate.name, &candidate.route.name));
    for (case, failure) in smoke::failures() {
        revision
            .decide_as(&made_up, &failure)
            .map_err(|fault| Rejection::Faulted { during: Step::Smoke(case), fault })?;
    }
    Ok(revision)
}

/// The file, compiled, having passed the cases that it carries.
pub(super) fn proven(
    engine: &Engine,
    candidate: &Candidate<'_>,
    file_digest: &str,
    identity: &Arc<Identity>,
) -> Result<Arc<Prepared>, Rejection> {
    let prepared = engine.prepare(candidate.bytes, file_digest, identity)?;
    prepared.prove(engine, candidate.bytes, candidate.name)?;
    Ok(prepared)
}

/// A policy of a newer host: it judges as if the messages had no such attributes.
fn warn_of_unknown_attributes(candidate: &Candidate<'_>, needs: &Needs) {
    let unknown: Vec<_> = needs.unknown_attributes().map(|name| one_line(name, 64)).collect();
    if !unknown.is_empty() {
        tracing::warn!(
            policy = candidate.name,
            route = candidate.route.name,
            "this policy asks for attributes that no failure has here: {}; there are {}",
            unknown.join(", "),
            attribute::ALL.join(", "),
        );
    }
}

/// Configures an instance and takes its snapshot, or finds out how to do without.
fn configured(
    engine: &Engine,
    prepared: &Prepared,
    candidate: &Candidate<'_>,
    settings: &str,
    identity: &Arc<Identity>,
) -> Result<(wit::Needs, Starting), Rejection> {
    let slot = engine.shared.slots.take();
    let mut store = engine.store(&slot, identity, engine.shared.limits.configure_deadline);
    let starting = |fault| Rejection::Faulted { during: Step::Start, fault };
    let instance = prepared.program.start(&mut store).map_err(starting)?;
    let needs = configure(&prepared.program, &mut store, instance, candidate, settings)?;
    let starting = match taken(engine, prepared, &mut store, instance) {
        Ok(snapshot) => Starting::Configured(Program::compile(engine, &snapshot)?),
        Err(why) => {
            tracing::warn!(
                policy = candidate.name,
                route = candidate.route.name,
                "no snapshot of this policy can be taken, so each decision configures it again, which is slower: {why}"
            );
            let program = match prepared.no_snapshot {
                Some(_) => Arc::clone(&prepared.program),
                None => Arc::new(Program::compile(engine, &prepared.component)?),
            };
            Starting::Unconfigured { program, route: candidate.route.clone(), settings: settings.to_owned() }
        }
    };
    Ok((needs, starting))
}

fn taken(
    engine: &Engine,
    prepared: &Prepared,
    store: &mut Store<StoreState>,
    instance: Instance,
) -> Result<Vec<u8>, String> {
    if let Some(why) = &prepared.no_snapshot {
        return Err(why.clone());
    }
    let (context, _) = snapshot::instrument(&prepared.component)?;
    snapshot::take(engine, &context, store, instance)
}

fn configure(
    program: &Program,
    store: &mut Store<StoreState>,
    instance: Instance,
    candidate: &Candidate<'_>,
    settings: &str,
) -> Result<wit::Needs, Rejection> {
    let answer = candidate.route.lower(|route| {
        let configure = program.configure(store, &instance)?;
        configure.call(&mut *store, (route, settings))
    });
    match answer {
        Ok((Ok(needs),)) => Ok(needs),
        Ok((Err(problems),)) => Err(Rejection::Settings(lift_problems(problems))),
        Err(error) => Err(Rejection::Faulted { during: Step::Configure, fault: fault::of_call(&error, store.data()) }),
    }
}

pub(super) fn lift_problems(problems: Vec<wit::Problem>) -> Vec<Problem> {
    if problems.is_empty() {
        return vec![Problem { path: String::new(), message: "the policy does not say what is wrong".into() }];
    }
    let lift = |problem: wit::Problem| Problem {
        path: one_line(&problem.path, 256),
        message: one_line(&problem.message, 1024),
    };
    problems.into_iter().take(MAX_PROBLEMS).map(lift).collect()
}

pub(super) fn file_digest(file: &[u8]) -> String {
    sha256::of(file)
}

/// Digest of everything that makes the decisions what they are. Each part is hashed with its length, so that no two
/// different lists of parts look the same.
fn revision_digest(file_digest: &str, candidate: &Candidate<'_>, settings: &str) -> String {
    let route = serde_json::to_string(candidate.route).expect("a route record has text for keys");
    let mut digest = Sha256::new();
    for part in [file_digest, &route, settings, INTERFACE_VERSION] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    sha256::hexadecimal(digest.finalize())
}
