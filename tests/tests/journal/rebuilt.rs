//! Failures that were read back get the verdicts that they got, in another process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use reprieve::broker::memory::MemoryBroker;
use reprieve::event::EventKind;
use reprieve::handler::closure::handler_fn;
use reprieve::handler::{Call, Handler};
use reprieve::handler_error::HandlerError;
use reprieve::host::{Host, HostSpec};
use reprieve::journal::{Entry, FILE, JournalSettings, Keeping, OutcomeKind};
use reprieve::policy::registry::PolicySettings;
use reprieve::verdict::FaultKind;
use reprieve_tests::judged_again;
use serde_json::Value;

use crate::{PATIENCE, entries, messages};

/// Fails as the message says, a third time with another kind: rules that go by the kind come to an end.
fn handler() -> Arc<dyn Handler> {
    Arc::new(handler_fn(|call: Call| async move {
        let error = call.message.headers.text(messages::ERROR).expect("what to fail with");
        let error: HandlerError = serde_json::from_str(error).expect("an error");
        let kind = if call.attempt > 2 { "enough".to_owned() } else { error.kind.clone() };
        Err::<(), _>(HandlerError { kind, ..error })
    }))
}

/// Runs every message through every route, and gives the number of failures that there were.
async fn record(folder: &Path, keeping: Keeping) -> usize {
    let policies = folder.join("policies");
    std::fs::create_dir(&policies).unwrap();
    for name in ["by-error-kind", "rules", "misbehaving"] {
        let file = judged_again::policy_file(name);
        std::fs::copy(&file, policies.join(format!("{name}.wasm")))
            .unwrap_or_else(|error| panic!("{}: {error}: run `cargo xtask test-policies` first", file.display()));
    }
    let broker = MemoryBroker::new(10_000);
    let spec = HostSpec {
        routes: judged_again::routes(&broker, &handler()),
        policies: PolicySettings { folder: Some(policies), ..PolicySettings::default() },
        limits: judged_again::limits(),
        journal: Some(JournalSettings {
            file: folder.join(FILE),
            host: "test".to_owned(),
            max_age: Duration::from_secs(3600),
            max_size: 1 << 30,
            keeping,
        }),
        ..HostSpec::default()
    };
    let names: Vec<_> = spec.routes.iter().map(|hosted| hosted.route.name.to_string()).collect();
    let host = Host::start(spec).await.unwrap();
    let mut events = host.observer().subscribe();
    for name in &names {
        let messages = if name == "faults" { messages::faults() } else { messages::all() };
        let sent = messages.len();
        for message in messages {
            broker.publish_to(name, message).unwrap();
        }
        let letters = format!("{name}.dlq");
        let all = broker.wait_for(&letters, |depth| depth.ready == sent);
        tokio::time::timeout(PATIENCE, all)
            .await
            .unwrap_or_else(|_| panic!("{name}: not every message is dead-lettered"));
    }
    host.shutdown().await;
    let mut failures = 0;
    while let Ok(event) = events.try_recv() {
        failures += usize::from(matches!(event.kind, EventKind::Consumed { error: Some(_), .. }));
    }
    failures
}

/// What another process says of each entry.
fn judged_again(journal: &Path) -> BTreeMap<u64, Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_judge-again")).arg(journal).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|mut line| (line["id"].as_u64().unwrap(), line["answer"].take())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_that_are_kept_whole_get_the_same_verdicts_in_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let everything = Keeping { headers: vec!["*".to_owned()], body: 1 << 20, ..Keeping::default() };
    let failures = record(folder.path(), everything).await;
    let recorded = entries(&folder.path().join(FILE));
    assert_eq!(recorded.len(), failures, "every failure is recorded");
    assert!(failures > 250, "{failures}");

    let again = judged_again(&folder.path().join(FILE));
    let differ: Vec<_> = recorded
        .iter()
        .filter(|entry| again.get(&entry.id) != Some(&serde_json::to_value(&entry.answer).unwrap()))
        .map(|entry| format!("{} of {}, which failed with {}", entry.id, entry.route, entry.failure.error.kind))
        .collect();
    assert!(differ.is_empty(), "{} of {failures} differ: {differ:?}", differ.len());

    // All of it is there: nothing was compared with nothing.
    assert!(recorded.iter().all(|entry| entry.kept.is_everything()));
    let unfinished: Vec<&Entry> = recorded.iter().filter(|entry| entry.outcome.is_none()).collect();
    assert!(unfinished.is_empty(), "{unfinished:?}");
    let outcomes: BTreeSet<_> = recorded.iter().filter_map(|entry| Some(entry.outcome.as_ref()?.kind)).collect();
    assert_eq!(outcomes, [OutcomeKind::RetryScheduled, OutcomeKind::Delayed, OutcomeKind::DeadLettered].into());
    let faults: BTreeSet<_> =
        recorded.iter().filter_map(|entry| entry.answer.as_ref().err()).map(|fault| fault.kind.name()).collect();
    let expected =
        [FaultKind::Trap, FaultKind::StackOverflow, FaultKind::Memory, FaultKind::InvalidVerdict, FaultKind::Timeout];
    assert_eq!(faults, expected.map(FaultKind::name).into());
    assert!(recorded.iter().any(|entry| entry.failure.tier.as_deref() == Some("tick")));
    assert!(recorded.iter().any(|entry| entry.failure.expires_in_ms.is_some()));
}

/// What is withheld cannot be judged, and never without that being said.
#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_that_differs_is_of_a_failure_of_which_something_was_withheld() {
    let folder = tempfile::tempdir().unwrap();
    let failures = record(folder.path(), Keeping::default()).await;
    let recorded = entries(&folder.path().join(FILE));
    assert_eq!(recorded.len(), failures);
    let again = judged_again(&folder.path().join(FILE));
    let (whole, cut): (Vec<_>, Vec<_>) = recorded.iter().partition(|entry| entry.kept.is_everything());
    assert!(whole.is_empty(), "every message here has a header");
    let same = |entry: &&Entry| again[&entry.id] == serde_json::to_value(&entry.answer).unwrap();
    // A policy that looks at no header and no body is not hindered.
    for entry in cut.iter().filter(|entry| ["standard", "by-error-kind", "empty"].contains(&entry.route.as_str())) {
        assert!(same(entry), "{} of {} differs", entry.id, entry.route);
    }
    assert!(cut.iter().any(|entry| entry.route == "all" && !same(entry)));
    for entry in &recorded {
        // What a policy makes of it, in its reason, is the policy's own.
        let text = format!("{:?} {:?}", entry.failure, entry.kept);
        assert!(!text.contains("another of the same name"), "no value of a header is kept: {text}");
    }
}
