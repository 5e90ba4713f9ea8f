//! The demo on brokers that keep what they confirm, and on some that do not.

use std::future::pending;
use std::time::Duration;

use super::report::{Counts, Report};
use super::script::Kind;
use super::show::Show;
use super::stage::ORDERS_DLQ;
use super::view::style::Style;
use super::view::{View, summary};
use crate::broker::memory::MemoryBroker;

const MESSAGES: u32 = 40;

/// The same demo in less time.
async fn run(broker: MemoryBroker) -> Report {
    let show = Show { messages: MESSAGES, sending: Duration::from_millis(500) };
    show.run(broker, &mut View::Silent, pending()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_comes_to_its_end_and_every_attempt_has_an_outcome() {
    let report = run(MemoryBroker::default()).await;
    let counts = report.counts();
    let Counts { consumed, succeeded, retried, delayed, dead_lettered, requeued, dropped, lost, swaps } = counts;
    assert_eq!(consumed, succeeded + retried + delayed + dead_lettered + requeued + dropped, "{counts:?}");
    assert_eq!(succeeded + dead_lettered + dropped, u64::from(MESSAGES), "{counts:?}");
    assert!([retried, delayed, dead_lettered, requeued, dropped].iter().all(|count| *count > 0), "{counts:?}");
    assert_eq!((lost, swaps), (0, 1));
    assert!(report.is_good());
    for kind in Kind::ALL {
        assert_eq!(report.tally.row(kind).ended(), kind.among(MESSAGES), "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_the_broker_throws_away_is_lost_wherever_that_happens() {
    // On its way to the handler, between two attempts, on its way to where it is parked, and one that would have
    // been dropped if it had been seen.
    for target in ["orders", "tier 500ms back to orders", ORDERS_DLQ, "previews"] {
        let broker = MemoryBroker::default();
        broker.faults().lose(target, 1);
        let report = run(broker).await;
        assert_eq!(report.counts().lost, 1, "{target}: {:?}", report.lost);
        assert!(!report.is_good(), "{target}");
        assert!(summary::text(&report, true, Style::PLAIN).contains("lost: 1 ("), "{target}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_work_when_the_user_stops_is_not_lost() {
    let show = Show { messages: MESSAGES, sending: Duration::from_secs(60) };
    let soon = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
    };
    // Slow enough that no message is sent after the first, which the handler is still to see or has seen.
    let report = show.run(MemoryBroker::default(), &mut View::Silent, soon).await.unwrap();
    assert!(report.stopped_early);
    assert_eq!(report.counts().lost, 0, "{:?}", report.lost);
    assert!(report.is_good());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_summary_fits_an_ordinary_terminal() {
    let report = run(MemoryBroker::default()).await;
    let text = summary::text(&report, true, Style::PLAIN);
    let table = text.lines().take_while(|line| !line.contains("messages in"));
    for line in table {
        assert!(line.chars().count() < 80, "{line:?}");
    }
}

#[test]
fn the_counts_are_printed_under_the_names_that_scripts_know() {
    let counts = Counts {
        consumed: 1,
        succeeded: 2,
        retried: 3,
        delayed: 4,
        dead_lettered: 5,
        requeued: 6,
        dropped: 7,
        lost: 8,
        swaps: 9,
    };
    let expected = r#"{"consumed":1,"succeeded":2,"retried":3,"delayed":4,"dead_lettered":5,"requeued":6,"dropped":7,"lost":8,"swaps":9}"#;
    assert_eq!(serde_json::to_string(&counts).unwrap(), expected);
}
