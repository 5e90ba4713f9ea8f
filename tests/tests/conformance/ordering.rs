//! Messages of one key, one at a time and in order.

use reprieve::message::Message;
use reprieve::route::KeySource;
use reprieve::verdict::Action;

use crate::cases::on_every_broker;
use crate::running::Running;
use crate::stage::Stage;

on_every_broker! {
    a_retry_holds_back_its_key_and_no_other,
}

async fn a_retry_holds_back_its_key_and_no_other(stage: Stage) {
    let mut running = Running::start(&stage, &[Action::Retry { delay_ms: 500 }], |spec| {
        spec.ordering = Some(KeySource::Header("customer".to_owned()));
    })
    .await;
    for (id, customer) in [("a1", "a"), ("a2", "a"), ("b1", "b"), ("a3", "a"), ("b2", "b")] {
        stage.send(&Message::new("body").with_id(id).with_header("customer", customer)).await;
    }
    let (first, second) = (running.attempt().await, running.attempt().await);
    let (a, b) = if first.id() == "a1" { (first, second) } else { (second, first) };
    assert_eq!((a.id(), b.id()), ("a1", "b1"));
    running.assert_no_attempt().await;
    a.fail();
    b.succeed();
    assert_eq!(running.attempt().await.succeed().message.id.as_deref(), Some("b2"), "b goes on while a1 sleeps");
    for (id, attempt) in [("a1", 2), ("a2", 1), ("a3", 1)] {
        let call = running.attempt().await.succeed();
        assert_eq!((call.message.id.as_deref(), call.attempt), (Some(id), attempt));
    }
    running.stop().await;
    stage.assert_empty().await;
}
