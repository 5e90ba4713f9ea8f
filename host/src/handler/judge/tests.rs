use super::*;
use crate::message::HeaderValue;

/// An entry as RabbitMQ writes it.
fn entry(queue: &str, reason: &str, count: i64) -> HeaderValue {
    HeaderValue::Table(Headers::from_iter([
        ("count".to_owned(), HeaderValue::I64(count)),
        ("reason".to_owned(), reason.into()),
        ("queue".to_owned(), queue.into()),
        ("time".to_owned(), HeaderValue::Timestamp(1_700_000_000)),
        ("exchange".to_owned(), "".into()),
        ("routing-keys".to_owned(), HeaderValue::Array(vec![queue.into()])),
    ]))
}

fn died(entries: Vec<HeaderValue>) -> Message {
    let mut message = Message::new("body");
    message.headers.push("x-death", HeaderValue::Array(entries));
    message
}

fn read_plainly(message: &Message) -> Reading {
    read(message, &JudgeSettings::default())
}

#[test]
fn a_rejected_message_is_a_failure_that_goes_back_to_its_queue() {
    let reading = read_plainly(&died(vec![entry("orders", "rejected", 1)]));
    assert_eq!(reading.error, HandlerError::new("rejected", "rejected from the queue orders"));
    assert_eq!(reading.back_to.as_deref(), Some("orders"));
    assert_eq!(reading.died_of, DeathReason::Rejected);
    assert_eq!(reading.unjudged, None);
}

#[test]
fn a_delivery_limit_is_a_failure_of_its_own_kind() {
    let reading = read_plainly(&died(vec![entry("orders", "delivery_limit", 1)]));
    assert_eq!((reading.error.kind.as_str(), reading.unjudged), ("delivery-limit", None));
}

#[test]
fn what_expired_or_was_pushed_out_did_not_fail() {
    for (reason, kind) in [("expired", "expired"), ("maxlen", "maxlen")] {
        let message = died(vec![entry("orders", reason, 1)]);
        let reading = read_plainly(&message);
        assert_eq!(reading.error.kind, kind);
        assert_eq!(reading.unjudged.as_deref(), Some(reading.error.text.as_str()));
        assert!(reading.error.text.contains("the queue orders"), "{}", reading.error.text);

        let asked_for = JudgeSettings { judge_expired: true, ..JudgeSettings::default() };
        assert_eq!(read(&message, &asked_for).unjudged, None);
    }
}

#[test]
fn a_round_trip_through_our_tiers_does_not_hide_the_failure() {
    // The tier's entry is older than the rejection when the consumer fails again, and newer in the odd case that a
    // message comes here straight from a tier.
    for entries in [
        vec![entry("orders", "rejected", 1), entry("reprieve.tier.30s", "expired", 1)],
        vec![entry("reprieve.tier.30s", "expired", 4), entry("orders", "rejected", 2)],
    ] {
        let reading = read_plainly(&died(entries));
        assert_eq!((reading.died_of, reading.back_to.as_deref()), (DeathReason::Rejected, Some("orders")));
    }
}

#[test]
fn a_message_that_only_our_tiers_handled_did_not_die() {
    let mut message = died(vec![entry("reprieve.tier.30s", "expired", 1)]);
    message.headers.push("x-first-death-queue", "reprieve.tier.30s");
    message.headers.push("x-first-death-reason", "expired");
    let reading = read_plainly(&message);
    assert_eq!((reading.died_of, reading.back_to, reading.unjudged), (DeathReason::None, None, None));
}

#[test]
fn the_newest_of_several_deaths_counts() {
    let reading = read_plainly(&died(vec![entry("payments", "rejected", 7), entry("orders", "expired", 1)]));
    assert_eq!(reading.back_to.as_deref(), Some("payments"));
    assert_eq!(reading.deaths, Some(7));
}

#[test]
fn a_reason_of_the_future_is_a_failure_under_its_own_name() {
    let reading = read_plainly(&died(vec![entry("orders", "consumer_gone", 1)]));
    assert_eq!((reading.error.kind.as_str(), reading.unjudged), ("consumer-gone", None));
}

#[test]
fn without_x_death_its_companions_are_read() {
    let last = Message::new("")
        .with_header("x-first-death-queue", "older")
        .with_header("x-first-death-reason", "rejected")
        .with_header("x-last-death-queue", "orders")
        .with_header("x-last-death-reason", "delivery_limit");
    let reading = read_plainly(&last);
    assert_eq!((reading.died_of, reading.back_to.as_deref()), (DeathReason::DeliveryLimit, Some("orders")));

    let first =
        Message::new("").with_header("x-first-death-queue", "older").with_header("x-first-death-reason", "rejected");
    assert_eq!(read_plainly(&first).back_to.as_deref(), Some("older"));
}

#[test]
fn a_published_message_is_a_failure_that_its_headers_describe() {
    let message = Message::new("")
        .with_header("reprieve-error-kind", "validation")
        .with_header("reprieve-error", "no such item\nsecond line")
        .with_header("reprieve-origin-topic", "orders");
    let reading = read_plainly(&message);
    assert_eq!(reading.error, HandlerError::new("validation", "no such item"));
    assert_eq!((reading.died_of, reading.back_to.as_deref()), (DeathReason::None, Some("orders")));
}

#[test]
fn a_published_message_without_headers_is_a_failure_of_unknown_kind() {
    let reading = read_plainly(&Message::default());
    assert_eq!((reading.error.kind.as_str(), reading.back_to, reading.unjudged), ("unknown", None, None));
}

#[test]
fn headers_of_an_earlier_failure_are_not_believed_after_a_rejection() {
    let message = died(vec![entry("orders", "rejected", 1)])
        .with_header("reprieve-error-kind", "delivery-limit")
        .with_header("reprieve-error", "an old story")
        .with_header("x-exception-stacktrace", "an old trace")
        .with_header("reprieve-origin-topic", "elsewhere");
    let reading = read_plainly(&message);
    assert_eq!(reading.error, HandlerError::new("rejected", "rejected from the queue orders"));
    assert_eq!(reading.back_to.as_deref(), Some("orders"));
}

#[test]
fn configured_headers_go_before_everything_else() {
    let settings = JudgeSettings {
        error_kind_header: Some("why".to_owned()),
        error_header: Some("what".to_owned()),
        error_detail_header: Some("trace".to_owned()),
        retry_after_header: Some("wait".to_owned()),
        origin_header: Some("from".to_owned()),
        ..JudgeSettings::default()
    };
    let message = died(vec![entry("orders", "rejected", 1)])
        .with_header("why", "rate limit")
        .with_header("what", "too many calls")
        .with_header("trace", "at pay()")
        .with_header("wait", HeaderValue::I32(30))
        .with_header("from", "payments");
    let reading = read(&message, &settings);
    assert_eq!(
        reading.error,
        HandlerError {
            retry_after: Some(30_000),
            detail: Some("at pay()".to_owned()),
            ..HandlerError::new("rate-limit", "too many calls")
        }
    );
    assert_eq!(reading.back_to.as_deref(), Some("payments"));
}

#[test]
fn a_configured_origin_is_where_every_message_goes_back_to() {
    let settings = JudgeSettings {
        origin: Some("orders".to_owned()),
        origin_header: Some("from".to_owned()),
        ..JudgeSettings::default()
    };
    for message in [
        Message::new(""),
        died(vec![entry("payments", "rejected", 1)]),
        Message::new("").with_header("from", "payments"),
    ] {
        assert_eq!(read(&message, &settings).back_to.as_deref(), Some("orders"));
    }
}

#[test]
fn a_configured_header_that_is_missing_or_empty_leaves_the_rest_to_x_death() {
    let settings = JudgeSettings {
        error_kind_header: Some("why".to_owned()),
        origin_header: Some("from".to_owned()),
        ..JudgeSettings::default()
    };
    let message = died(vec![entry("orders", "rejected", 1)]).with_header("why", " ");
    let reading = read(&message, &settings);
    assert_eq!((reading.error.kind.as_str(), reading.back_to.as_deref()), ("rejected", Some("orders")));
}

#[test]
fn nonsense_in_x_death_is_passed_over() {
    let table = |pairs: &[(&str, HeaderValue)]| {
        HeaderValue::Table(pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
    };
    let nonsense = || {
        vec![
            HeaderValue::Null,
            HeaderValue::I64(5),
            table(&[]),
            table(&[("queue", "orders".into())]),
            table(&[("queue", HeaderValue::I64(1)), ("reason", "rejected".into())]),
            table(&[("queue", "".into()), ("reason", "rejected".into())]),
            table(&[("queue", "q".repeat(300).into()), ("reason", "rejected".into())]),
        ]
    };
    assert_eq!(read_plainly(&died(nonsense())).died_of, DeathReason::None);

    let mut followed = nonsense();
    followed.push(entry("orders", "rejected", -3));
    let reading = read_plainly(&died(followed));
    assert_eq!((reading.back_to.as_deref(), reading.deaths), (Some("orders"), None));

    for value in [HeaderValue::Null, "text".into(), table(&[])] {
        let message = Message::new("").with_header("x-death", value);
        assert_eq!(read_plainly(&message).died_of, DeathReason::None);
    }
}

#[test]
fn a_huge_header_gives_a_bounded_error_and_no_queue() {
    let huge = "x".repeat(100_000);
    let message = Message::new("")
        .with_header("reprieve-error-kind", huge.clone())
        .with_header("reprieve-error", huge.clone())
        .with_header("x-exception-stacktrace", huge.clone())
        .with_header("reprieve-origin-topic", huge);
    let reading = read_plainly(&message);
    assert_eq!(reading.error.kind.len(), 64);
    assert!(reading.error.text.len() <= 1024);
    assert!(reading.error.detail.is_some_and(|detail| detail.len() <= 8192));
    assert_eq!(reading.back_to, None);
}
