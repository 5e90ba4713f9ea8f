//! These run without WebAssembly: `cargo test`.

use reprieve_sdk::{Action, configure};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn judge(settings: &str, failure: &Failure) -> Action {
    let route = Route::new("orders").with_dead_letter("default");
    match configure::<MyPolicy>(settings, &route) {
        Ok(policy) => policy.decide(failure).action,
        Err(problems) => panic!("{problems:?}"),
    }
}

#[test]
fn an_invalid_message_is_parked_at_once() {
    let invalid = Failure::new("validation");
    assert_eq!(judge("{}", &invalid), Action::DeadLetter(None));
}

#[test]
fn a_time_out_is_tried_again_until_the_attempts_are_used_up() {
    let settings = r#"{"max_attempts": 3}"#;
    let action = |attempt| judge(settings, &Failure::new("timeout").attempt(attempt));
    assert_eq!(action(2), Action::Retry(SECOND));
    assert_eq!(action(3), Action::DeadLetter(None));
}

#[test]
fn the_failing_side_gets_the_time_that_it_asks_for() {
    let action = |failure| judge(r#"{"delay": "10s"}"#, &failure);
    let limited = Failure::new("http-429").status(429);
    assert_eq!(action(limited.clone()), Action::Delay(10 * SECOND));
    let asking = limited.retry_after(90 * SECOND);
    assert_eq!(action(asking), Action::Delay(90 * SECOND));
}

#[test]
fn a_setting_that_makes_no_sense_is_refused_by_name() {
    let refused = configure::<MyPolicy>(r#"{"max_attempts": 0}"#, &Route::new("orders"));
    assert_eq!(refused.err().expect("problems")[0].path, "/max_attempts");
}
