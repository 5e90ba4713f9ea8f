use serde_json::json;

use super::super::play::tests::{doubling, rules, says, script};
use super::super::play::{Play, play};
use super::*;
use crate::verdict::Action;

fn doubled() -> Play {
    play(&script(json!({}), 20), rules(), doubling)
}

fn delayed() -> Play {
    play(&script(json!({}), 20), rules(), |failure| match failure.attempt {
        1 | 2 => says(Action::Retry { delay_ms: 500 }),
        3 => says(Action::Delay { delay_ms: 20_000 }),
        4 | 5 => says(Action::DelayTo { tier: "5m".into() }),
        _ => says(Action::DelayTo { tier: "1h".into() }),
    })
}

fn drawn(plays: &[&Play], width: usize) -> String {
    let layout = Layout::new(plays, width, Style::PLAIN);
    plays.iter().flat_map(|play| layout.draw(play)).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_factor_of_two_is_seen_as_bars_that_double() {
    insta::assert_snapshot!(drawn(&[&doubled()], 80));
}

#[test]
fn retries_and_tiers_stand_on_one_line_of_time() {
    insta::assert_snapshot!(drawn(&[&delayed()], 100));
}

#[test]
fn plays_that_are_compared_share_a_scale() {
    insta::assert_snapshot!(drawn(&[&doubled(), &delayed()], 80));
}

#[test]
fn no_row_is_wider_than_it_may_be() {
    for width in [58, 60, 80, 120, 200] {
        for line in drawn(&[&doubled(), &delayed()], width).lines() {
            assert!(line.chars().count() <= width, "{} of {width}: {line}", line.chars().count());
        }
    }
}
