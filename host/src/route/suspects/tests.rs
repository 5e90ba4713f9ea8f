use super::*;
use crate::broker::{SettleError, Settlement};

fn message(id: &str) -> Message {
    Message::new("body").with_id(id)
}

fn suspects(state: &Path) -> Arc<Suspects> {
    Suspects::open(Some(state), true, false).expect("it ended badly")
}

fn suspicion(suspects: &Arc<Suspects>, concurrency: u16) -> Suspicion {
    Suspicion::new(Arc::clone(suspects), "orders".into(), concurrency, false)
}

/// A broker that keeps what it is told.
#[derive(Default)]
struct Keeping(std::sync::Mutex<Vec<u32>>);

#[async_trait::async_trait]
impl Settler for Keeping {
    async fn settle(&self, _: Settlement) -> Result<(), SettleError> {
        Ok(())
    }

    async fn note_interruptions(&self, count: u32) -> Result<(), SettleError> {
        self.0.lock().unwrap().push(count);
        Ok(())
    }
}

fn is_suspect(part: &Option<Part>) -> bool {
    part.as_ref().is_some_and(|part| part.suspected.is_some())
}

#[test]
fn after_an_orderly_end_nothing_is_suspected() {
    let state = tempfile::tempdir().unwrap();
    assert!(Suspects::open(Some(state.path()), false, false).is_none());
}

#[test]
fn what_is_left_of_an_earlier_end_is_suspected_after_an_orderly_one_too() {
    let state = tempfile::tempdir().unwrap();
    let key = CopyKey::alike(&message("m1"));
    suspects(state.path())
        .ledger
        .as_ref()
        .unwrap()
        .note(&key, KnownStarts { interruptions: 2, ..KnownStarts::default() })
        .unwrap();
    let next = Suspects::open(Some(state.path()), false, false).expect("it is noted");
    let part = suspicion(&next, 1).arrives(&message("m1"), true, Earlier::Nothing).unwrap();
    assert_eq!(part.known().unwrap().interruptions, 2);
}

#[test]
fn a_route_is_trusted_again_once_as_many_fresh_deliveries_in_a_row_have_come_as_were_under_way() {
    let state = tempfile::tempdir().unwrap();
    let suspects = suspects(state.path());
    let suspicion = suspicion(&suspects, 2);
    assert!(is_suspect(&suspicion.arrives(&message("m1"), true, Earlier::Nothing)));
    let fresh = suspicion.arrives(&message("m2"), false, Earlier::Nothing);
    assert!(fresh.is_some() && !is_suspect(&fresh));
    assert!(is_suspect(&suspicion.arrives(&message("m3"), true, Earlier::Nothing)), "not two in a row");
    for id in ["m4", "m5"] {
        suspicion.arrives(&message(id), false, Earlier::Nothing);
    }
    assert!(suspicion.arrives(&message("m6"), true, Earlier::Nothing).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_route_where_little_happens_is_trusted_again_after_a_while() {
    let state = tempfile::tempdir().unwrap();
    let suspicion = suspicion(&suspects(state.path()), 100);
    assert!(is_suspect(&suspicion.arrives(&message("m1"), true, Earlier::Nothing)));
    tokio::time::advance(LONGEST + Duration::from_secs(1)).await;
    assert!(
        !is_suspect(&suspicion.arrives(&message("m2"), true, Earlier::Nothing)),
        "a lost connection brings it back"
    );
    assert!(suspicion.arrives(&message("m3"), true, Earlier::Nothing).is_none());
}

#[test]
fn the_routes_that_are_trusted_stay_out_of_the_way_of_those_that_are_not() {
    let state = tempfile::tempdir().unwrap();
    let suspects = suspects(state.path());
    let (trusted, other) = (suspicion(&suspects, 1), suspicion(&suspects, 1));
    trusted.arrives(&message("m1"), false, Earlier::Nothing);
    assert!(trusted.arrives(&message("m2"), false, Earlier::Nothing).is_some());
    let last = other.arrives(&message("m3"), true, Earlier::Nothing);
    other.arrives(&message("m4"), false, Earlier::Nothing);
    assert!(trusted.arrives(&message("m5"), false, Earlier::Nothing).is_some(), "a suspect is here still");
    drop(last);
    assert!(trusted.arrives(&message("m6"), false, Earlier::Nothing).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_suspect_runs_alone_and_before_those_that_come_after_it() {
    let state = tempfile::tempdir().unwrap();
    let suspicion = suspicion(&suspects(state.path()), 9);
    let part = |redelivered| Arc::new(suspicion.arrives(&message("m"), redelivered, Earlier::Nothing).unwrap());
    let (first, second) = (part(false).turn().await, part(false).turn().await);
    let suspect = part(true);
    let mut waiting = std::pin::pin!(suspect.turn());
    assert!(tokio::time::timeout(Duration::from_secs(1), waiting.as_mut()).await.is_err(), "others run");
    let late = part(false);
    let mut behind = std::pin::pin!(late.turn());
    assert!(tokio::time::timeout(Duration::from_secs(1), behind.as_mut()).await.is_err(), "a suspect is first");
    drop((first, second));
    let alone = waiting.await;
    assert!(tokio::time::timeout(Duration::from_secs(1), behind.as_mut()).await.is_err(), "a suspect is alone");
    drop(alone);
    behind.await;
}

#[tokio::test]
async fn an_attempt_is_noted_on_disk_for_as_long_as_it_runs() {
    let state = tempfile::tempdir().unwrap();
    let suspicion = suspicion(&suspects(state.path()), 9);
    let part = Arc::new(suspicion.arrives(&message("m"), true, Earlier::Nothing).unwrap());
    let turn = part.turn().await;
    let note = turn.note(KnownStarts { starts: 1, interruptions: 0, requeues: 0 }, &Keeping::default()).await;
    let dies_now = Ledger::open(state.path()).known(&CopyKey::alike(&message("m")));
    assert_eq!(dies_now, Some(KnownStarts { starts: 1, interruptions: 1, requeues: 0 }));
    drop(note);
    assert!(Ledger::open(state.path()).is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_another_host_had_in_work_when_it_ended_runs_alone_and_its_broker_knows_before() {
    let suspects = Suspects::open(None, false, true).expect("a broker may tell of some");
    let suspicion = suspicion(&suspects, 9);
    let other = suspicion.arrives(&message("m1"), false, Earlier::Nothing).expect("it takes its turn");
    let running = other.turn_now().expect("nobody is in the way");
    let told = suspicion.arrives(&message("m2"), true, Earlier::UnderWay { interruptions: 2 });
    assert!(is_suspect(&told));
    let told = Arc::new(told.unwrap());
    let known = told.known().unwrap();
    assert_eq!((known.starts, known.interruptions), (2, 2));
    assert!(told.turn_now().is_none());
    let mut waiting = std::pin::pin!(told.turn());
    assert!(tokio::time::timeout(Duration::from_secs(1), waiting.as_mut()).await.is_err(), "another runs");
    drop(running);
    let alone = waiting.await;
    assert!(other.turn_now().is_none(), "it is alone");
    let broker = Keeping::default();
    alone.note(known, &broker).await;
    assert_eq!(*broker.0.lock().unwrap(), [3]);
}

#[tokio::test(start_paused = true)]
async fn what_another_host_may_have_had_in_work_runs_beside_others_once_its_broker_knows() {
    let suspects = Suspects::open(None, false, true).expect("a broker may tell of some");
    let suspicion = Suspicion::new(suspects, "orders".into(), 9, true);
    let doubtful = |id| Arc::new(suspicion.arrives(&message(id), true, Earlier::InDoubt).expect("it is to be noted"));
    let (one, two) = (doubtful("m1"), doubtful("m2"));
    let (first, second) = (one.turn_now().expect("not alone"), two.turn_now().expect("not alone"));
    let broker = Keeping::default();
    assert!(first.note(KnownStarts::default(), &broker).await.is_none(), "nothing of it is to be taken back");
    second.note(KnownStarts::default(), &broker).await;
    assert_eq!(*broker.0.lock().unwrap(), [0, 0], "no more than that it runs");
}

#[tokio::test(start_paused = true)]
async fn a_suspect_that_goes_on_for_long_has_company_in_the_end() {
    let state = tempfile::tempdir().unwrap();
    let suspicion = suspicion(&suspects(state.path()), 9);
    let part = |redelivered| Arc::new(suspicion.arrives(&message("m"), redelivered, Earlier::Nothing).unwrap());
    let (suspect, other) = (part(true), part(false));
    let alone = suspect.turn().await;
    let mut attempt = std::pin::pin!(alone.hold(std::future::pending::<()>()));
    assert!(tokio::time::timeout(LONGEST_ALONE - Duration::from_millis(1), attempt.as_mut()).await.is_err());
    assert!(other.turn_now().is_none(), "it is alone");
    assert!(tokio::time::timeout(Duration::from_millis(2), attempt.as_mut()).await.is_err());
    assert!(other.turn_now().is_some());
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_suspect_has_its_turn_before_the_next_suspect() {
    let state = tempfile::tempdir().unwrap();
    let suspicion = suspicion(&suspects(state.path()), 9);
    let part = |redelivered| Arc::new(suspicion.arrives(&message("m"), redelivered, Earlier::Nothing).unwrap());
    let (suspect, next, other) = (part(true), part(true), part(false));
    let alone = suspect.turn().await;
    let mut next = std::pin::pin!(next.turn());
    assert!(tokio::time::timeout(Duration::from_secs(1), next.as_mut()).await.is_err(), "a suspect is alone");
    let mut waiting = std::pin::pin!(other.turn());
    assert!(tokio::time::timeout(Duration::from_secs(1), waiting.as_mut()).await.is_err(), "a suspect is alone");
    drop(alone);
    let first = waiting.await;
    assert!(tokio::time::timeout(Duration::from_secs(1), next.as_mut()).await.is_err(), "another runs");
    drop(first);
    next.await;
}

#[tokio::test(start_paused = true)]
async fn a_suspect_that_goes_on_for_long_has_others_for_company_and_no_suspect() {
    let state = tempfile::tempdir().unwrap();
    let suspicion = suspicion(&suspects(state.path()), 9);
    let part = |redelivered| Arc::new(suspicion.arrives(&message("m"), redelivered, Earlier::Nothing).unwrap());
    let (suspect, next, other) = (part(true), part(true), part(false));
    let alone = suspect.turn().await;
    let mut next = std::pin::pin!(next.turn());
    let mut attempt = std::pin::pin!(alone.hold(std::future::pending::<()>()));
    let both = async { tokio::join!(attempt.as_mut(), next.as_mut()) };
    assert!(tokio::time::timeout(LONGEST_ALONE * 3, both).await.is_err());
    assert!(other.turn_now().is_some(), "it waits for the suspect, and nobody for it");
}

#[tokio::test(start_paused = true)]
async fn a_suspect_does_not_wait_for_long_attempts_of_others_while_everybody_waits_for_it() {
    let state = tempfile::tempdir().unwrap();
    let suspicion = suspicion(&suspects(state.path()), 9);
    let part = |redelivered| Arc::new(suspicion.arrives(&message("m"), redelivered, Earlier::Nothing).unwrap());
    let _long = part(false).turn().await;
    let suspect = part(true);
    tokio::time::timeout(LONGEST_ALONE, suspect.turn()).await.expect("it runs beside them then");
    assert!(part(false).turn_now().is_some());
}

#[test]
fn a_broker_that_tells_of_suspects_hands_nothing_else_over_again_that_is_one() {
    let state = tempfile::tempdir().unwrap();
    let suspicion = Suspicion::new(suspects(state.path()), "orders".into(), 9, true);
    assert!(suspicion.arrives(&message("m1"), true, Earlier::Nothing).is_none());
}
