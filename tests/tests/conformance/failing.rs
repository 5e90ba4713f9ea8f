//! Failures that end in a dead letter.

use std::time::Duration;

use reprieve::event::{EventKind, SkipReason};
use reprieve::handler_error::HandlerError;
use reprieve::message::Message;
use reprieve::verdict::Action;

use crate::carrying::{came, full_message, kept};
use crate::cases::on_every_broker;
use crate::running::Running;
use crate::stage::Stage;
use crate::watching::CutAfterPublishing;

on_every_broker! {
    a_dead_letter_is_the_message_and_says_what_happened,
    an_error_of_any_length_and_headers_of_any_size_end_in_a_dead_letter_that_can_be_read,
    a_delivery_is_held_while_its_dead_letter_finds_no_topic,
    an_outcome_is_not_repeated_when_the_ack_behind_it_is_lost,
}

pub(crate) const DEAD_LETTER: Action = Action::DeadLetter { label: None };

async fn a_dead_letter_is_the_message_and_says_what_happened(stage: Stage) {
    let verdicts = [Action::Retry { delay_ms: 10 }, DEAD_LETTER];
    let mut running = Running::start(&stage, &verdicts, |_| {}).await;
    stage.send(&full_message()).await;
    running.attempt().await.fail();
    running.attempt().await.fail_with(HandlerError::new("no-stock", "the shelf is empty"));
    running.event("dead-lettered").await;
    running.stop().await;

    let letter = stage.take_letters(1).await.remove(0);
    let text = |name: &str| {
        letter.headers.text(&format!("reprieve-{name}")).unwrap_or_else(|| panic!("{name} of {letter:#?}"))
    };
    assert_eq!(text("error-kind"), "no-stock");
    assert_eq!(text("error"), "the shelf is empty");
    assert_eq!(text("route"), stage.route);
    assert_eq!(text("origin-topic"), stage.source);
    assert_eq!(text("reason"), "scripted");
    assert_eq!(letter.headers.get("reprieve-attempts").and_then(|count| count.as_i64()), Some(2));
    for time in ["first-failed-at", "failed-at"] {
        assert!(humantime::parse_rfc3339(text(time)).is_ok(), "{time} is {}", text(time));
    }

    let keeps = stage.capabilities().keeps;
    let mut senders = came(&letter, &keeps);
    senders.headers.retain(|name| !name.starts_with("reprieve-"));
    assert_eq!(senders, kept(full_message(), &keeps));
    stage.assert_empty().await;
}

async fn an_error_of_any_length_and_headers_of_any_size_end_in_a_dead_letter_that_can_be_read(stage: Stage) {
    let prepared = stage.onlooker.prepare(&stage.plan()).await.unwrap();
    // As much as a sender can write, and so much that there is some room left.
    let most = prepared.max_header_bytes.unwrap_or(100_000);
    let mut running = Running::start(&stage, &vec![DEAD_LETTER; 3], |_| {}).await;
    for (id, size) in [("plain", 10), ("large", most / 4 * 3), ("full", most - 64)] {
        stage.send(&Message::new("body").with_id(id).with_header("big", "h".repeat(size))).await;
        let text = format!("it began with this{}", "…".repeat(100_000));
        running.attempt().await.fail_with(HandlerError::new("exploded", text));
        running.event("dead-lettered").await;

        let letter = stage.take_letters(1).await.remove(0);
        assert_eq!((letter.id.as_deref(), letter.body.as_deref()), (Some(id), Some(&b"body"[..])));
        let text = |name: &str| letter.headers.text(name).unwrap_or_else(|| panic!("{id}: no {name}"));
        assert_eq!(text("reprieve-error-kind"), "exploded", "{id}");
        let error = text("reprieve-error");
        assert!(error.starts_with("it began with this") && error.ends_with("(cut)") && error.len() <= 4096, "{id}");
        assert!(
            id == "full" || letter.headers.text("big").is_some_and(|big| big.len() == size),
            "{id}: what fits is kept"
        );
    }
    running.stop().await;
    stage.assert_empty().await;
}

async fn a_delivery_is_held_while_its_dead_letter_finds_no_topic(stage: Stage) {
    let mut running = Running::start(&stage, &[DEAD_LETTER], |spec| {
        spec.publish.backoff.initial = Duration::from_millis(20);
    })
    .await;
    stage.place.take_away(&stage.letters).await;
    stage.send_ids(&["m"]).await;
    running.attempt().await.fail();
    for _ in 0..2 {
        let EventKind::PublishFailed { intake_paused, .. } = running.event("publish-failed").await else {
            unreachable!()
        };
        assert!(intake_paused, "an outage concerns the route");
    }
    stage.send_ids(&["next"]).await;
    running.assert_no_attempt().await;
    stage.place.bring_back(&stage.letters).await;
    running.event("dead-lettered").await;
    assert_eq!(running.attempt().await.succeed().message.id.as_deref(), Some("next"), "intake goes on by itself");
    running.stop().await;
    assert_eq!(stage.take_letters(1).await[0].id.as_deref(), Some("m"));
    stage.assert_empty().await;
}

async fn an_outcome_is_not_repeated_when_the_ack_behind_it_is_lost(stage: Stage) {
    let broker = CutAfterPublishing::on(&stage);
    let mut running = Running::start(&stage, &[DEAD_LETTER], |spec| {
        // Or it came back, and ran beside itself, before its outcome is known to be durable.
        (spec.broker, spec.concurrency) = (broker, 1);
    })
    .await;
    stage.send_ids(&["m"]).await;
    running.attempt().await.fail();
    let EventKind::Skipped { subject, why } = running.event("skipped").await else { unreachable!() };
    assert_eq!((subject.id.as_deref(), why), (Some("m"), SkipReason::AckLost));
    stage.send_ids(&["next"]).await;
    assert_eq!(running.attempt().await.succeed().message.id.as_deref(), Some("next"), "m is not run again");
    running.stop().await;
    assert_eq!(stage.take_letters(1).await[0].id.as_deref(), Some("m"));
    stage.assert_empty().await;
}
