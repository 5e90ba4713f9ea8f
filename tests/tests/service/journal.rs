//! The journal's file, as the program leaves it: after an orderly end, after a kill, damaged, and held by somebody else.

use std::fs;
use std::path::PathBuf;

use nix::sys::signal::Signal;
use reprieve::journal::{Entry, FILE, Filter, Log, Order, OutcomeKind, Reader, Step, StepKind};
use reprieve::timestamp::Timestamp;

use crate::place::Place;
use crate::program::Program;
use crate::wait_for;

/// Every message fails, and is dead-lettered after its second attempt.
const ROUTE: &str = r#"
[brokers.local]
kind = "memory"

[[routes]]
name = "orders"
broker = "local"
source = "orders"
handler = { kind = "command", program = ["false"] }
dead_letters = { default = "orders.dlq" }
retry = { max_attempts = 2, initial_delay = "1ms" }
"#;

struct Recorded {
    place: Place,
    journal: PathBuf,
}

impl Recorded {
    fn new(journal: &str) -> Self {
        let place = Place::new("", &format!("{journal}\n{ROUTE}"));
        let journal = place.path("state").join(FILE);
        Self { place, journal }
    }

    /// A host that takes messages.
    fn host(&self) -> Program {
        let program = self.place.run(&[], &[]);
        program.wait_for_line("ready: every route takes messages");
        // For `send`, which asks the configuration where the host is.
        let text = fs::read_to_string(self.place.path("reprieve.toml")).unwrap();
        self.place.write("send.toml", text.replace("127.0.0.1:0", &program.admin.to_string()));
        program
    }

    fn send(&self, messages: usize) {
        let count = messages.to_string();
        let (code, text) = self.place.call(&["send", "-c", "send.toml", "orders", "body", "-n", &count], &[]);
        assert_eq!(code, Some(0), "{text}");
    }

    /// Waits until so many messages of the running host are dead letters.
    fn dead_letters(&self, program: &Program, messages: usize) {
        wait_for("the dead letters", || (metric(program, "event=\"dead-lettered\"") >= messages).then_some(()));
    }

    fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        let reader = Reader::open(&self.journal).unwrap();
        reader
            .entries(&Filter::default(), Order::OldestFirst, |entry| {
                entries.push(entry);
                true
            })
            .unwrap();
        entries
    }
}

/// The sum of a metric's samples whose line holds this.
fn metric(program: &Program, part: &str) -> usize {
    let text = program.get("/metrics", "").1;
    let samples = text.lines().filter(|line| !line.starts_with('#') && line.contains(part));
    samples.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok()).sum()
}

#[test]
fn all_that_failed_is_in_the_file_when_the_host_says_that_it_has_stopped() {
    let recorded = Recorded::new("[journal]\nhost = \"host-a\"");
    let program = recorded.host();
    recorded.send(50);
    recorded.dead_letters(&program, 50);
    program.stop();
    let entries = recorded.entries();
    let of = |kind| {
        entries.iter().filter(|entry| entry.outcome.as_ref().is_some_and(|outcome| outcome.kind == kind)).count()
    };
    assert_eq!((entries.len(), of(OutcomeKind::RetryScheduled), of(OutcomeKind::DeadLettered)), (100, 50, 50));
    assert!(entries.iter().all(|entry| entry.failure.error.kind == "exit-1" && entry.maker.is_some()));
    let reader = Reader::open(&recorded.journal).unwrap();
    assert_eq!(reader.host().unwrap().as_deref(), Some("host-a"));
    let live: Vec<_> =
        reader.steps(Some("orders")).unwrap().into_iter().filter(|step| step.kind == StepKind::WentLive).collect();
    assert_eq!(live.len(), 1, "{live:?}");
    assert_eq!(live[0].maker, entries[0].maker);
    assert!(live[0].digest.is_some() && live[0].size.is_some());
}

#[test]
fn a_kill_leaves_a_journal_that_is_read_and_goes_on() {
    let recorded = Recorded::new("");
    let mut program = recorded.host();
    recorded.send(200);
    recorded.dead_letters(&program, 1);
    program.signal(Signal::SIGKILL);
    program.wait_for_end();
    // Read as it was left, while nobody writes.
    let before = recorded.entries();

    let program = recorded.host();
    recorded.send(10);
    recorded.dead_letters(&program, 10);
    program.stop();
    let after = recorded.entries();
    assert_eq!(after.len(), before.len() + 20);
    assert_eq!(after[..before.len()], before);
    let ids: Vec<_> = after.iter().map(|entry| entry.id).collect();
    assert!(ids.is_sorted_by(|one, next| one < next), "numbers rise: {ids:?}");
}

#[test]
fn a_damaged_journal_is_set_aside_and_a_new_one_begun() {
    let recorded = Recorded::new("");
    fs::create_dir(recorded.place.path("state")).unwrap();
    fs::write(&recorded.journal, "this is no database ".repeat(500)).unwrap();
    let program = recorded.host();
    recorded.send(5);
    recorded.dead_letters(&program, 5);
    let log = program.stop();
    assert!(log.contains("set aside"), "{log}");
    assert_eq!(recorded.entries().len(), 10);
    let aside = fs::read_dir(recorded.place.path("state")).unwrap().filter(|file| {
        file.as_ref().is_ok_and(|file| file.file_name().to_string_lossy().starts_with(&format!("{FILE}.corrupt-")))
    });
    assert_eq!(aside.count(), 1);
}

#[test]
fn messages_go_on_while_somebody_else_holds_the_file() {
    let recorded = Recorded::new("");
    let program = recorded.host();
    recorded.send(1);
    recorded.dead_letters(&program, 1);
    wait_for("the first entries", || (recorded.entries().len() == 2).then_some(()));
    let mut other = Log::open(&recorded.journal).unwrap();
    other
        .write(|batch| {
            batch.add_step(&step())?;
            // From here on no other can write.
            recorded.send(300);
            recorded.dead_letters(&program, 301);
            Ok(())
        })
        .unwrap();
    recorded.send(1);
    recorded.dead_letters(&program, 302);
    wait_for("what comes after", || (recorded.entries().len() >= 4).then_some(()));
    // What is not there was counted.
    let lost = || metric(&program, "reprieve_journal_lost_total");
    wait_for("every failure written or counted", || (recorded.entries().len() + lost() >= 604).then_some(()));
    program.stop();
}

fn step() -> Step {
    Step {
        at: Timestamp(1),
        route: "another".to_owned(),
        kind: StepKind::Held,
        maker: None,
        replaced: None,
        digest: None,
        size: None,
        signed_by: None,
        decisions: None,
        faults: None,
        reason: "to hold the file".to_owned(),
    }
}

#[test]
fn nothing_is_recorded_where_that_is_not_wanted() {
    let recorded = Recorded::new("[journal]\nenabled = false");
    let program = recorded.host();
    recorded.send(3);
    recorded.dead_letters(&program, 3);
    program.stop();
    assert!(!recorded.journal.exists());
}
