use super::*;

fn verdict(action: wit::Action) -> wit::Verdict {
    wit::Verdict { action, pause_intake: None, reason: "because".into(), headers: Vec::new() }
}

fn with_headers(headers: impl IntoIterator<Item = (String, String)>) -> wit::Verdict {
    wit::Verdict { headers: headers.into_iter().collect(), ..verdict(wit::Action::Drop) }
}

fn invalid_text(verdict: wit::Verdict) -> String {
    let fault = lift(verdict).expect_err("this breaks a rule");
    assert_eq!(fault.kind, FaultKind::InvalidVerdict);
    fault.text
}

#[test]
fn every_action_is_what_it_was() {
    let lifted = |action| lift(verdict(action)).unwrap().action;
    assert_eq!(lifted(wit::Action::Retry(u64::MAX)), Action::Retry { delay_ms: u64::MAX });
    assert_eq!(lifted(wit::Action::Delay(0)), Action::Delay { delay_ms: 0 });
    assert_eq!(lifted(wit::Action::DelayTo("30s".into())), Action::DelayTo { tier: "30s".into() });
    assert_eq!(lifted(wit::Action::DeadLetter(None)), Action::DeadLetter { label: None });
    assert_eq!(lifted(wit::Action::DeadLetter(Some("a".into()))), Action::DeadLetter { label: Some("a".into()) });
    assert_eq!(lifted(wit::Action::Requeue(Some(1))), Action::Requeue { cooldown_ms: Some(1) });
    assert_eq!(lifted(wit::Action::Drop), Action::Drop);
}

#[test]
fn a_reason_becomes_one_bounded_line() {
    let lifted = lift(wit::Verdict { reason: "a\nb".repeat(MAX_REASON), ..verdict(wit::Action::Drop) }).unwrap();
    assert!(lifted.reason.starts_with("a ba b") && lifted.reason.ends_with('…'));
    assert!(lifted.reason.len() <= MAX_REASON);
}

#[test]
fn a_name_that_cannot_be_one_is_invalid() {
    for name in ["".to_owned(), "a\0b".to_owned(), "n".repeat(MAX_NAME + 1)] {
        assert!(invalid_text(verdict(wit::Action::DelayTo(name.clone()))).starts_with("the tier"));
        assert!(invalid_text(verdict(wit::Action::DeadLetter(Some(name)))).starts_with("the label"));
    }
    let longest = "n".repeat(MAX_NAME);
    assert_eq!(lift(verdict(wit::Action::DelayTo(longest.clone()))).unwrap().action, Action::DelayTo { tier: longest });
}

#[test]
fn headers_of_the_host_and_of_brokers_are_invalid_in_any_case() {
    for name in ["reprieve-attempts", "Reprieve-x", "x-death", "X-First-Death-Queue", "x-delivery-count", "CC", "BCC"] {
        let text = invalid_text(with_headers([(name.into(), "value".into())]));
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn header_names_have_visible_ascii_characters() {
    for name in ["", "two words", "two\r\nlines", "ä", &"n".repeat(MAX_HEADER_NAME + 1)] {
        invalid_text(with_headers([(name.into(), "value".into())]));
    }
    let headers = vec![("Content-Encoding_2".to_owned(), "any value\nat all".to_owned())];
    assert_eq!(lift(with_headers(headers.clone())).unwrap().headers, headers);
}

#[test]
fn headers_are_bounded_in_number_and_size() {
    let many = |count: usize| with_headers((0..count).map(|n| (format!("h{n}"), String::new())));
    assert!(lift(many(MAX_HEADERS)).is_ok());
    invalid_text(many(MAX_HEADERS + 1));
    invalid_text(with_headers([("h".into(), "v".repeat(MAX_HEADER_BYTES))]));
}
