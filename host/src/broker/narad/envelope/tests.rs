use super::*;

fn prefixes() -> Vec<String> {
    vec!["reprieve-".to_owned()]
}

fn counted_form() -> Envelope {
    Envelope::Counted { route: "orders".to_owned(), prefix: "reprieve-".to_owned() }
}

fn full() -> Message {
    Message {
        id: Some("m-1".to_owned()),
        headers: [
            ("tenant".to_owned(), "acme".into()),
            ("n".to_owned(), HeaderValue::I32(5)),
            ("tenant".to_owned(), HeaderValue::Bytes(Bytes::from_static(b"\xff"))),
            ("reprieve-attempts".to_owned(), 3_u32.into()),
        ]
        .into_iter()
        .collect(),
        properties: Properties { content_type: Some("text/plain".to_owned()), ..Properties::default() },
        timestamp: Some(Timestamp(1_700_000_000_123)),
        ..Message::new("not JSON")
    }
}

#[test]
fn a_message_comes_back_from_our_envelope_as_it_was() {
    for body in [None, Some(Bytes::new()), Some(Bytes::from_static(b"\0\xff")), Some(Bytes::from_static(b"[1, 2]"))] {
        let message = Message { body, ..full() };
        let sealed = seal(&message, Some("orders"), &Envelope::Ours, &prefixes()).unwrap();
        let opened = open(sealed, &Envelope::Ours);
        assert_eq!(opened, Opened { message, back_to: Some("orders".to_owned()) });
    }
}

#[test]
fn our_envelope_can_be_read_by_those_who_write_payload_and_delivery_count() {
    let message = Message { body: Some(Bytes::from_static(br#"{"order_id": "o-1"}"#)), ..full() };
    let sealed = seal(&message, None, &Envelope::Ours, &prefixes()).unwrap();
    let text = std::str::from_utf8(&sealed).unwrap();
    assert!(
        text.starts_with(r#"{"payload":{"order_id": "o-1"},"delivery_count":3,"reprieve":{"envelope":1,"#),
        "{text}"
    );
}

#[test]
fn a_users_own_envelope_is_never_mistaken_for_ours() {
    for payload in [
        r#"{"payload": {"a": 1}, "delivery_count": 2}"#,
        r#"{"payload": 1, "delivery_count": 2, "reprieve": true}"#,
        r#"{"payload": 1, "delivery_count": 2, "reprieve": {"envelope": 2, "encoding": "json", "headers": []}}"#,
        r#"{"payload": 1, "delivery_count": 2, "reprieve": {"envelope": 1, "encoding": "json", "headers": [], "x": 1}}"#,
        r#"{"payload": 1, "delivery_count": 2, "reprieve": {"encoding": "json", "headers": []}}"#,
        r#"{"payload": 1, "reprieve": {"envelope": 1, "encoding": "json", "headers": []}}"#,
        r#"{"payload": 1, "payload": 2, "delivery_count": 2, "reprieve": {"envelope": 1, "encoding": "json", "headers": []}}"#,
        r#"{"payload": 1, "delivery_count": 2, "reprieve": {"envelope": 1, "encoding": "base64", "headers": []}}"#,
        r#"{"id": "1", "body": {}, "attempts": 2}"#,
        r#"{"_narad": 2, "id": "1", "body": {}}"#,
        "[1]",
        "text",
    ] {
        let opened = open(Bytes::from(payload), &Envelope::Ours);
        assert_eq!(opened.message, Message::new(payload), "{payload}");
    }
}

#[test]
fn what_senders_count_is_believed_only_where_the_route_says_so() {
    let payload = r#"{"trace":"t-1","payload":{"a": 1},"delivery_count":2}"#;
    let opened = open(Bytes::from(payload), &counted_form()).message;
    assert_eq!(opened.body.as_deref(), Some(&br#"{"a": 1}"#[..]));
    assert_eq!(opened.headers.get("reprieve-attempts"), Some(&HeaderValue::I64(2)));
    assert_eq!(opened.headers.text("reprieve-route"), Some("orders"));
    let again = open(Bytes::from(payload), &Envelope::Ours).message;
    assert_eq!(again, Message::new(payload));
}

#[test]
fn the_members_that_a_sender_added_to_the_envelope_are_kept() {
    let payload = r#"{"trace":"t-1","payload":{"a": 1},"delivery_count":2,"n":1.0}"#;
    let opened = open(Bytes::from(payload), &counted_form()).message;
    let sealed = seal(&opened, None, &counted_form(), &prefixes()).unwrap();
    let text = std::str::from_utf8(&sealed).unwrap();
    assert!(text.starts_with(r#"{"payload":{"a": 1},"delivery_count":2,"#), "{text}");
    assert!(text.ends_with(r#","trace":"t-1","n":1.0}"#), "{text}");
    assert_eq!(open(sealed.clone(), &counted_form()).message, opened);
}

#[test]
fn the_go_sdks_envelope_is_read() {
    let payload = r#"{"_narad":1,"id":"0190","body":{"a": 1},"produced_at":1700000000123,"attempts":3,"last_error":"x",
        "headers":{"tenant":"acme"}}"#;
    let opened = open(Bytes::from(payload), &Envelope::Ours).message;
    assert_eq!(opened.id.as_deref(), Some("0190"));
    assert_eq!(opened.body.as_deref(), Some(&br#"{"a": 1}"#[..]));
    assert_eq!(opened.timestamp, Some(Timestamp(1_700_000_000_123)));
    assert_eq!((opened.headers.len(), opened.headers.text("tenant")), (1, Some("acme")));
    let counted = open(Bytes::from(payload), &counted_form()).message;
    assert_eq!(counted.headers.get("reprieve-attempts"), Some(&HeaderValue::I64(2)));
}

#[test]
fn without_an_envelope_a_payload_is_left_alone_both_ways() {
    let ours = seal(&full(), None, &Envelope::Ours, &prefixes()).unwrap();
    assert_eq!(open(ours.clone(), &Envelope::None).message, Message::new(ours));
    assert_eq!(seal(&full(), None, &Envelope::None, &prefixes()).unwrap(), "not JSON");
    for body in [None, Some(Bytes::new())] {
        let refused = seal(&Message { body, ..full() }, None, &Envelope::None, &prefixes());
        assert!(matches!(refused, Err(PublishError::Refused(_))), "{refused:?}");
    }
}

#[test]
fn what_narad_would_refuse_for_its_size_is_too_large() {
    let message = Message { body: Some(vec![b'x'; LARGEST].into()), ..full() };
    let refused = seal(&message, None, &Envelope::Ours, &prefixes());
    assert!(matches!(refused, Err(PublishError::TooLarge(_))), "{refused:?}");
    let larger = Message::new(vec![b'x'; LARGEST + 1]);
    let refused = seal(&larger, None, &Envelope::None, &prefixes());
    assert!(matches!(refused, Err(PublishError::TooLarge(_))), "{refused:?}");
}

#[test]
fn the_last_form_of_a_large_message_is_its_raw_bytes() {
    let message = Message { headers: Headers::new(), body: Some(vec![b'x'; LARGEST].into()), ..full() };
    let sealed = seal(&message, None, &Envelope::Ours, &prefixes()).unwrap();
    assert_eq!(Some(&sealed), message.body.as_ref());
}

#[test]
fn raw_bytes_that_would_be_read_as_an_envelope_are_not_published_bare() {
    let filler = "x".repeat(LARGEST - 110);
    let poser = format!(
        r#"{{"payload":"{filler}","delivery_count":1,"reprieve":{{"envelope":1,"encoding":"text","headers":[]}}}}"#
    );
    let message = Message::new(poser);
    assert!(message.body_size() <= LARGEST);
    let refused = seal(&message, None, &Envelope::Ours, &prefixes());
    assert!(matches!(refused, Err(PublishError::TooLarge(_))));
}

#[test]
fn a_senders_own_header_in_the_name_of_ours_comes_back_as_it_was() {
    for text in ["{}", r#"{"payload":1}"#, r#"{ "a": 1 }"#, r#"{"a":1,"delivery_count":9}"#, "no JSON", "[]"] {
        let message = Message::new("1").with_header(MEMBERS, text);
        let sealed = seal(&message, None, &counted_form(), &prefixes()).unwrap();
        assert_eq!(open(sealed, &counted_form()).message.headers.text(MEMBERS), Some(text));
    }
    let mut several = Message::new("1");
    for text in [r#"{"a":1}"#, r#"{"b":2}"#] {
        several.headers.push(MEMBERS, text);
    }
    let sealed = seal(&several, None, &Envelope::Ours, &prefixes()).unwrap();
    assert_eq!(open(sealed, &Envelope::Ours).message.headers, several.headers);
}

#[test]
fn raw_bytes_that_a_counted_reader_takes_for_an_envelope_are_refused_and_not_sent_bare() {
    let filler = "x".repeat(LARGEST - 60);
    let body = format!(r#"{{"payload":"{filler}","delivery_count":2}}"#);
    assert!(body.len() <= LARGEST);
    let message = Message::new(body);
    assert!(seal(&message, None, &Envelope::Ours, &prefixes()).is_ok(), "no reader of ours is misled");
    assert!(matches!(seal(&message, None, &counted_form(), &prefixes()), Err(PublishError::TooLarge(_))));
}
