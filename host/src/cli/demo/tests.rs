//! The demo on brokers that keep what they confirm, and on some that do not.

use std::future::pending;
use std::sync::LazyLock;
use std::time::Duration;

use tokio::runtime::Runtime;

use super::occurrence::{Fate, Judge};
use super::report::{Counts, Report};
use super::script::{Kind, ORDERS};
use super::show::Show;
use super::stage::{ORDERS_DLQ, ORDERS_INVALID};
use super::view::{View, summary};
use crate::broker::memory::MemoryBroker;
use crate::cli::style::Style;

const MESSAGES: u32 = 40;

/// The same demo in less time.
async fn run(broker: MemoryBroker) -> Report {
    let show = Show { messages: MESSAGES, sending: Duration::from_millis(500) };
    show.run(broker, &mut View::Silent, pending()).await.unwrap()
}

/// One undisturbed run, which several tests look at.
static UNDISTURBED: LazyLock<Report> = LazyLock::new(|| Runtime::new().unwrap().block_on(run(MemoryBroker::default())));

#[test]
fn every_message_comes_to_its_end_and_every_attempt_has_an_outcome() {
    let counts = UNDISTURBED.counts();
    let Counts { consumed, succeeded, retried, delayed, dead_lettered, requeued, dropped, lost, swaps } = counts;
    assert_eq!(consumed, succeeded + retried + delayed + dead_lettered + requeued + dropped, "{counts:?}");
    assert_eq!(succeeded + dead_lettered + dropped, u64::from(MESSAGES), "{counts:?}");
    assert!([retried, delayed, dead_lettered, requeued, dropped].iter().all(|count| *count > 0), "{counts:?}");
    assert_eq!((lost, swaps), (0, 1));
    assert!(UNDISTURBED.is_good());
    for kind in Kind::ALL {
        assert_eq!(UNDISTURBED.tally.row(kind).ended(), kind.among(MESSAGES), "{kind:?}");
    }
}

#[test]
fn invalid_orders_are_parked_elsewhere_once_the_policy_is_swapped() {
    let row = UNDISTURBED.tally.row(Kind::of(1));
    let parked = |judge, topic: &str| row.failures.contains_key(&(judge, Fate::DeadLettered(topic.to_owned())));
    assert!(parked(Judge::Standard, ORDERS_DLQ), "{row:?}");
    assert!(parked(Judge::ByErrorKind, ORDERS_INVALID), "{row:?}");
}

#[test]
fn the_summary_fits_an_ordinary_terminal() {
    let text = summary::text(&UNDISTURBED, true, Style::PLAIN);
    for line in text.lines() {
        assert!(line.chars().count() < 80, "{line:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_the_broker_throws_away_is_lost() {
    let broker = MemoryBroker::default();
    broker.faults().lose(ORDERS, 1);
    let report = run(broker).await;
    assert_eq!(report.lost, ["order-00000"]);
    assert_eq!(report.counts().lost, 1);
    assert!(!report.is_good());
    assert!(summary::text(&report, true, Style::PLAIN).contains("lost: 1 (order-00000)"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_lost_wherever_the_broker_throws_it_away() {
    let broker = MemoryBroker::default();
    // Between two attempts, on its way to where it is parked, and before it could be dropped as the script wants it.
    for target in ["tier 500ms back to orders", ORDERS_DLQ, "previews"] {
        broker.faults().lose(target, 1);
    }
    let report = run(broker).await;
    assert_eq!(report.counts().lost, 3, "{:?}", report.lost);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_work_when_the_user_stops_is_still_in_its_queue_and_not_lost() {
    let broker = MemoryBroker::default();
    let show = Show { messages: MESSAGES, sending: Duration::from_millis(500) };
    let at_work = async {
        broker.wait_for(ORDERS, |depth| depth.unsettled >= 3).await;
    };
    let report = show.run(broker.clone(), &mut View::Silent, at_work).await.unwrap();
    assert!(report.stopped_early);
    assert!(broker.depth(ORDERS).ready > 0);
    assert!(report.lost.is_empty(), "{:?}", report.lost);
    assert!(report.is_good());
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
