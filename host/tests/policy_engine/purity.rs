//! A policy that keeps something between decisions is found out, which a host's clean instances hide.

use reprieve::policy::purity::{Order, Purity, examine};
use serde_json::json;

use crate::support::{load, module};

#[test]
fn a_static_counter_is_hidden_state_and_shows_at_the_second_decision() {
    let revision = load(&module("counter"), &json!({})).unwrap();
    let Purity::Impure(impurity) = examine(&revision) else { panic!("it counts") };
    assert_eq!((impurity.order, impurity.after), (Order::Forwards, 1));
    assert_eq!(impurity.clean.reason, "1");
    assert_eq!(impurity.used.unwrap().reason, "2");
}
