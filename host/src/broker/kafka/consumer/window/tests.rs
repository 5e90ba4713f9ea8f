use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn window(position: Option<i64>, widest: i64, narrowest: i64) -> Window {
    Window::new(Start { position, ..Start::default() }, Limits { widest, narrowest })
}

fn commit(window: &mut Window) -> Progress {
    let progress = window.progress(false).expect("there is something to commit");
    window.confirm(progress.clone());
    progress
}

fn take(window: &mut Window, offset: i64) -> Ticket {
    match window.take(offset) {
        Taken::Yes { ticket, .. } => ticket,
        other => panic!("{offset}: {other:?}"),
    }
}

/// A window that has been committed, with these records out.
fn with_records(widest: i64, offsets: &[i64]) -> (Window, Vec<Ticket>) {
    let mut window = window(Some(offsets[0]), widest, widest);
    assert_eq!(window.take(offsets[0]), Taken::NoRoom, "nothing is handed out before a commit tells of it");
    commit(&mut window);
    let tickets = offsets.iter().map(|offset| take(&mut window, *offset)).collect();
    (window, tickets)
}

#[test]
fn the_position_passes_a_record_only_once_all_before_it_are_decided() {
    let (mut window, tickets) = with_records(10, &[5, 6, 7]);
    window.decide(tickets[1], 0);
    window.decide(tickets[2], 0);
    assert_eq!(window.position(), Some(5));
    window.decide(tickets[0], 0);
    assert_eq!(window.position(), Some(8));
}

#[test]
fn offsets_that_no_record_has_are_passed() {
    let (mut window, tickets) = with_records(100, &[5, 9, 30]);
    window.decide(tickets[0], 0);
    assert_eq!(window.position(), Some(9));
    window.decide(tickets[1], 0);
    assert_eq!(window.position(), Some(30));
}

#[test]
fn a_gap_wider_than_the_window_does_not_hold_the_partition_up() {
    let (mut window, tickets) = with_records(10, &[5]);
    assert_eq!(window.take(5000), Taken::NoRoom);
    assert!(window.decide(tickets[0], 0), "one waits for it");
    assert_eq!(window.take(5000), Taken::NoRoom, "no commit tells of it yet");
    assert!(window.wants_commit());
    assert_eq!(commit(&mut window).position, 5000);
    take(&mut window, 5000);
}

#[test]
fn a_requeued_record_pins_the_commit_until_it_is_decided() {
    let (mut window, tickets) = with_records(10, &[5, 6]);
    assert!(window.may_return(tickets[0]));
    window.decide(tickets[1], 0);
    assert_eq!(window.progress(false), None, "there is nothing new to tell");
    window.decide(tickets[0], 0);
    assert_eq!(commit(&mut window).position, 7);
}

#[test]
fn a_record_that_fills_the_window_alone_cannot_go_back_again() {
    let (mut window, tickets) = with_records(3, &[5, 6, 7]);
    window.decide(tickets[1], 0);
    assert!(window.may_return(tickets[0]), "nothing waits for room");
    assert_eq!(window.take(8), Taken::NoRoom);
    assert!(!window.may_return(tickets[0]));
    assert!(window.may_return(tickets[2]), "it is not the one that holds the window up");
}

#[test]
fn hand_outs_go_farther_ahead_where_much_happens_and_less_far_where_little_does() {
    let mut window = window(Some(0), 64, 4);
    commit(&mut window);
    for offset in 0..4 {
        take(&mut window, offset);
    }
    assert_eq!(window.take(4), Taken::NoRoom);
    let hurried = window.progress(true).expect("it wants more");
    assert_eq!(hurried.limit, 4 + 8);
    window.confirm(hurried);
    take(&mut window, 4);
    assert_eq!(window.progress(false).expect("one more is out").limit, 5 + 8, "one record more is no reason");
    window.take(4);
    let calm = window.progress(false).expect("nothing more is out");
    assert_eq!(calm.limit, 5 + 4);
}

#[test]
fn records_that_the_last_owner_may_have_had_in_work_are_told_and_stay_told_for_the_next() {
    let interruptions = BTreeMap::from([(6, 2)]);
    let start = Start { position: Some(5), suspect_below: Some(8), interruptions };
    let mut window = Window::new(start, Limits { widest: 100, narrowest: 1 });
    let first = commit(&mut window);
    assert_eq!((first.limit, first.interruptions), (8, vec![(6, 2)]));
    let told = |taken| match taken {
        Taken::Yes { interrupted, .. } => interrupted,
        other => panic!("{other:?}"),
    };
    assert_eq!(told(window.take(5)), Some(0));
    assert_eq!(told(window.take(6)), Some(2));
    assert_eq!(told(window.take(7)), Some(0));
    assert_eq!(window.take(8), Taken::NoRoom);
    commit(&mut window);
    assert_eq!(told(window.take(8)), None);
}

#[test]
fn what_runs_and_what_was_noted_is_in_the_next_commit() {
    let (mut window, tickets) = with_records(10, &[5, 6]);
    window.begin(tickets[1]);
    let note = window.note(tickets[0], 3);
    let progress = commit(&mut window);
    assert_eq!((progress.under_way, progress.interruptions), (vec![6], vec![(5, 3)]));
    assert!(window.confirmed_notes() >= Some(note));
    window.end(tickets[1]);
    window.decide(tickets[0], 0);
    let progress = commit(&mut window);
    assert_eq!((progress.under_way, progress.interruptions), (vec![], vec![]));
    assert_eq!(window.progress(false), None, "nothing has changed");
}

#[test]
fn an_attempt_that_did_not_end_its_host_leaves_no_note() {
    let start = Start { position: Some(5), suspect_below: Some(6), interruptions: BTreeMap::from([(5, 1)]) };
    let mut window = Window::new(start, Limits { widest: 10, narrowest: 10 });
    commit(&mut window);
    let ticket = take(&mut window, 5);
    window.note(ticket, 2);
    window.begin(ticket);
    assert_eq!(commit(&mut window).interruptions, [(5, 2)]);
    window.end(ticket);
    assert_eq!(commit(&mut window).interruptions, [(5, 1)]);
}

#[test]
fn what_is_decided_behind_an_open_record_is_left_to_be_remembered() {
    let (mut window, tickets) = with_records(10, &[5, 6, 7]);
    window.decide(tickets[1], 42);
    assert_eq!(window.leave(), (Some(8), BTreeMap::from([(6, 42)])));
    assert!(!window.decide(tickets[1], 42), "once");
}

#[test]
fn what_was_passed_without_a_confirmed_commit_is_left_to_be_remembered_too() {
    let (mut window, tickets) = with_records(10, &[5, 6]);
    window.decide(tickets[0], 50);
    assert_eq!(window.leave().1, BTreeMap::from([(5, 50)]));
    commit(&mut window);
    assert_eq!(window.leave().1, BTreeMap::new());
}

#[test]
fn another_log_under_the_same_name_begins_where_it_begins() {
    let mut fresh = window(Some(1000), 10, 10);
    assert_eq!(fresh.take(3), Taken::NoRoom);
    assert_eq!(commit(&mut fresh).position, 3);
    take(&mut fresh, 3);
    assert_eq!(fresh.take(2), Taken::Rewound, "it was another one a moment ago");
}

#[derive(Debug, Clone)]
enum Step {
    Offer { gap: i64 },
    Decide(prop::sample::Index),
    Return(prop::sample::Index),
    Send { hurried: bool },
    Answer { confirmed: bool },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => prop_oneof![9 => Just(0_i64), 1 => 0..40_i64].prop_map(|gap| Step::Offer { gap }),
        4 => any::<prop::sample::Index>().prop_map(Step::Decide),
        1 => any::<prop::sample::Index>().prop_map(Step::Return),
        2 => any::<bool>().prop_map(|hurried| Step::Send { hurried }),
        2 => prop::bool::weighted(0.8).prop_map(|confirmed| Step::Answer { confirmed }),
    ];
    prop::collection::vec(step, 1..200)
}

proptest! {
    /// Whatever is offered, decided and confirmed, in whatever order, and whenever the host dies.
    #[test]
    fn no_commit_passes_an_undecided_record_and_each_names_all_that_may_be_in_work(
        begin in prop::option::of(0..1000_i64),
        widest in 1..20_i64,
        narrowest in 1..20_i64,
        steps in steps(),
    ) {
        let mut window = window(begin, widest, narrowest);
        let mut offered = begin.unwrap_or(500);
        let mut open: Vec<(i64, Ticket)> = Vec::new();
        let mut decided: BTreeSet<i64> = BTreeSet::new();
        // Which of the two the broker has may be unknown: a commit without an answer may have got through.
        let (mut sent, mut at_broker): (Option<Progress>, Vec<Progress>) = (None, Vec::new());
        for step in steps {
            match step {
                Step::Offer { gap } => {
                    let offset = offered + gap;
                    match window.take(offset) {
                        Taken::Yes { ticket, .. } => {
                            open.push((offset, ticket));
                            offered = offset + 1;
                        }
                        Taken::NoRoom => offered = offset,
                        Taken::Rewound => prop_assert!(false, "offsets only grow here"),
                    }
                }
                Step::Decide(index) if !open.is_empty() => {
                    let (offset, ticket) = open.remove(index.index(open.len()));
                    window.decide(ticket, 0);
                    decided.insert(offset);
                }
                Step::Return(index) if !open.is_empty() => {
                    let (_, ticket) = open[index.index(open.len())];
                    window.may_return(ticket);
                }
                Step::Decide(_) | Step::Return(_) => {}
                Step::Send { hurried } => {
                    if sent.is_none() && let Some(progress) = window.progress(hurried) {
                        at_broker.push(progress.clone());
                        sent = Some(progress);
                    }
                }
                Step::Answer { confirmed } => {
                    if let Some(progress) = sent.take() && confirmed {
                        at_broker = vec![progress.clone()];
                        window.confirm(progress);
                    }
                }
            }
            let first_open = open.iter().map(|(offset, _)| *offset).min();
            if let (Some(first), Some(position)) = (first_open, window.position()) {
                prop_assert_eq!(position, first);
            }
            // The host may die here.
            for progress in &at_broker {
                prop_assert!(first_open.is_none_or(|first| progress.position <= first));
                for (offset, _) in &open {
                    prop_assert!((progress.position..progress.limit).contains(offset), "{offset} in {progress:?}");
                }
                let again = decided.range(progress.position..).count();
                prop_assert!(again as i64 <= widest, "{again} come again");
            }
            prop_assert!(open.is_empty() || !at_broker.is_empty(), "handed out before any commit");
        }
    }
}
