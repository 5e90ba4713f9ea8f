//! One turn: an attack, while messages of the witness fail too, and what became of each.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reprieve::event::{Event, EventKind, Ruling, Subject};
use reprieve::verdict::{Action, Fault, Verdict};
use tokio::sync::broadcast::Receiver;
use tokio::time::timeout;

use crate::arena::{Arena, WITNESS};

/// Messages of the witness in each turn, and what they fail with.
const WITNESSED: [&str; 6] = ["busy", "invalid", "busy", "busy", "invalid", "busy"];
const PATIENCE: Duration = Duration::from_secs(120);

/// One ruling on one message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ruled {
    /// The event's name.
    pub(crate) event: &'static str,
    pub(crate) attempt: u32,
    pub(crate) verdict: Verdict,
    pub(crate) fault: Option<Fault>,
    pub(crate) overridden: Option<String>,
    /// The policy's revision.
    pub(crate) revision: Option<String>,
}

/// The rulings on each message of a route in a turn, in the order that the messages were sent, each message's in theirs.
pub(crate) type Rulings = Vec<Vec<Ruled>>;

/// The rulings on the witness's messages where nobody attacks, checked against what its settings ask for.
pub(crate) async fn calm(arena: &Arena) -> Rulings {
    let calm = play(arena, WITNESS, "busy", 0).await.1;
    for (kind, rulings) in WITNESSED.iter().zip(&calm) {
        let seen: Vec<_> =
            rulings.iter().map(|ruled| (ruled.event, ruled.attempt, ruled.verdict.action.clone())).collect();
        let retried = |attempt: u32, delay_ms| ("retry-scheduled", attempt, Action::Retry { delay_ms });
        let invalid = Action::DeadLetter { label: Some("invalid".to_owned()) };
        let expected = match *kind {
            "invalid" => vec![("dead-lettered", 1, invalid)],
            _ => vec![retried(1, 1), retried(2, 2), ("dead-lettered", 3, Action::DeadLetter { label: None })],
        };
        assert_eq!(seen, expected);
        assert!(rulings.iter().all(|ruled| ruled.fault.is_none() && ruled.overridden.is_none()), "{rulings:?}");
    }
    calm
}

/// Sends `count` messages that fail with `kind` to the route, and some to the witness in between. Gives the rulings once
/// every message is dead-lettered, having checked that none is lost and none is there twice, and that the rulings on the
/// witness's messages are the calm ones.
pub(crate) async fn attack(arena: &Arena, calm: &Rulings, route: &str, kind: &str, count: usize) -> Rulings {
    attack_and_wait(arena, calm, route, kind, count).await.0
}

/// The same, with how many of the attacking messages came to their end after the last of the witness's: those for which the
/// witness did not have to wait.
pub(crate) async fn attack_and_wait(
    arena: &Arena,
    calm: &Rulings,
    route: &str,
    kind: &str,
    count: usize,
) -> (Rulings, usize) {
    let (attacked, witnessed, outlasting) = play(arena, route, kind, count).await;
    assert_eq!(&witnessed, calm, "the witness feels {route} with {kind}");
    (attacked, outlasting)
}

async fn play(arena: &Arena, route: &str, kind: &str, count: usize) -> (Rulings, Rulings, usize) {
    let mut events = arena.host.observer().subscribe();
    let turn = arena.next_turn();
    let ids = |route: &str, count: usize| (0..count).map(|n| format!("{turn}-{route}-{n}")).collect::<Vec<_>>();
    let (attacked, witnessed) = (ids(route, count), ids("w", WITNESSED.len()));
    for n in 0..count.max(witnessed.len()) {
        if let Some(id) = attacked.get(n) {
            arena.send(route, id, kind);
        }
        if let (Some(id), Some(kind)) = (witnessed.get(n), WITNESSED.get(n)) {
            arena.send(WITNESS, id, kind);
        }
    }
    let all = rulings(&mut events, count + witnessed.len());
    let Ok((mut rulings, ends)) = timeout(PATIENCE, all).await else {
        panic!("{route} with {kind}: not every message came to its end, {:?}", arena.broker.depth(route))
    };
    if count > 0 {
        check_places(arena, route, &attacked).await;
    }
    check_places(arena, WITNESS, &witnessed).await;
    let mut of = |ids: &[String]| ids.iter().map(|id| rulings.remove(id).unwrap_or_default()).collect();
    let (of_attacked, of_witnessed) = (of(&attacked), of(&witnessed));
    assert!(rulings.is_empty(), "rulings on other messages: {rulings:?}");
    let outlasting = ends.iter().rev().take_while(|id| !witnessed.contains(id)).count();
    (of_attacked, of_witnessed, outlasting)
}

/// Every message's rulings, until so many are dead-lettered; and the messages in the order of their ends.
async fn rulings(events: &mut Receiver<Arc<Event>>, count: usize) -> (BTreeMap<String, Vec<Ruled>>, Vec<String>) {
    let (mut rulings, mut ends) = (BTreeMap::<String, Vec<Ruled>>::new(), Vec::new());
    while ends.len() < count {
        let event = events.recv().await.expect("no event is missed");
        let Some((subject, ruling)) = ruling(&event.kind) else { continue };
        let id = subject.id.clone().unwrap_or_default();
        if event.kind.name() == "dead-lettered" {
            ends.push(id.clone());
        }
        rulings.entry(id).or_default().push(Ruled {
            event: event.kind.name(),
            attempt: subject.attempt,
            verdict: ruling.verdict.clone(),
            fault: ruling.fault.clone(),
            overridden: ruling.overridden.clone(),
            revision: ruling.maker.as_ref().map(|maker| maker.revision.clone()),
        });
    }
    (rulings, ends)
}

fn ruling(event: &EventKind) -> Option<(&Subject, &Ruling)> {
    match event {
        EventKind::RetryScheduled { subject, ruling, .. }
        | EventKind::Delayed { subject, ruling, .. }
        | EventKind::DeadLettered { subject, ruling, .. }
        | EventKind::Requeued { subject, ruling, .. }
        | EventKind::Dropped { subject, ruling } => Some((subject, ruling)),
        _ => None,
    }
}

/// Every message is in a dead-letter topic of its route, once, and nowhere else.
async fn check_places(arena: &Arena, route: &str, ids: &[String]) {
    let quiet = arena.broker.wait_for(route, |depth| depth.ready == 0 && depth.unsettled == 0 && depth.delayed == 0);
    timeout(PATIENCE, quiet).await.expect("nothing is left on the route");
    let mut letters = arena.broker.drain(&format!("{route}.dlq"));
    letters.extend(arena.broker.drain(&format!("{route}.invalid")));
    let mut found: Vec<_> = letters.iter().filter_map(|letter| letter.id.clone()).collect();
    let mut sent = ids.to_vec();
    found.sort();
    sent.sort();
    assert_eq!(found, sent, "the dead letters of {route}");
}
