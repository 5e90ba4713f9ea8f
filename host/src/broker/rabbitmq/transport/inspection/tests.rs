use lapin::types::parsing::parse_field_table;
use proptest::prelude::*;

use super::*;
use crate::broker::rabbitmq::MAX_HEADER_DEPTH;

/// Flags that say: only headers.
const HEADERS_ONLY: u16 = 1 << 13;

fn frame_of(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![kind, 0, 1];
    frame.extend(u32::try_from(payload.len()).unwrap().to_be_bytes());
    frame.extend(payload);
    frame.push(0xce);
    frame
}

/// A content header with these properties, already encoded.
fn content_header(flags: u16, properties: &[u8]) -> Vec<u8> {
    let mut payload = vec![0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4];
    payload.extend(flags.to_be_bytes());
    payload.extend(properties);
    frame_of(CONTENT_HEADER, &payload)
}

fn with_length(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat()
}

/// A header table in which containers lie in each other, so that the innermost is at `depth`; `array` says of which kind
/// those at each depth are.
fn nested(depth: usize, array: impl Fn(usize) -> bool) -> Vec<u8> {
    let mut inner = Vec::new();
    for at in (2..=depth).rev() {
        let mut field = if at > 2 && array(at - 1) { Vec::new() } else { b"\x01n".to_vec() };
        field.push(if array(at) { b'A' } else { b'F' });
        field.extend(with_length(&inner));
        inner = field;
    }
    with_length(&inner)
}

/// How deep the containers lie that a reader of this header table would open.
fn depth(table: &[u8]) -> usize {
    let (mut deepest, mut rest) = (1, &table[4..]);
    while let Some(tag) = rest.iter().position(|byte| matches!(byte, b'A' | b'F' | b'x')) {
        if rest[tag] == b'x' {
            break;
        }
        deepest += 1;
        rest = &rest[tag + 5..];
    }
    deepest
}

/// What comes out of an inspection of `bytes` that come in such pieces, read out by so many bytes at a time.
fn inspected(bytes: &[u8], pieces: &[usize], room: usize) -> Vec<u8> {
    let (mut inspection, mut out, mut at, mut turn) = (Inspection::default(), Vec::new(), 0, 0);
    let mut buffer = vec![0; room];
    loop {
        let handed = inspection.hand_out(&mut buffer);
        if handed > 0 {
            out.extend(&buffer[..handed]);
            continue;
        }
        if at == bytes.len() {
            return out;
        }
        let piece = pieces[turn % pieces.len()].clamp(1, room).min(bytes.len() - at);
        turn += 1;
        if let Some(missing) = inspection.missing() {
            let piece = piece.min(missing);
            inspection.take(&bytes[at..at + piece]);
            at += piece;
        } else {
            buffer[..piece].copy_from_slice(&bytes[at..at + piece]);
            let passed = inspection.look(&mut buffer[..piece]);
            out.extend(&buffer[..passed]);
            at += piece;
        }
    }
}

fn whole(bytes: &[u8]) -> Vec<u8> {
    inspected(bytes, &[usize::MAX], bytes.len().max(1))
}

#[test]
fn headers_down_to_the_bound_pass_as_they_are_and_one_deeper_become_bytes() {
    for array in [|_: usize| false, |_: usize| true, |at: usize| at.is_multiple_of(2)] {
        let allowed = content_header(HEADERS_ONLY, &nested(MAX_HEADER_DEPTH, array));
        assert_eq!(whole(&allowed), allowed);

        let deep = content_header(HEADERS_ONLY, &nested(MAX_HEADER_DEPTH + 1, array));
        let harmless = whole(&deep);
        let changed: Vec<_> = deep.iter().zip(&harmless).filter(|(before, after)| before != after).collect();
        assert!(matches!(changed[..], [(b'A' | b'F', b'x')]), "{changed:?}");
    }
}

#[test]
fn twenty_thousand_levels_are_read_by_the_client_library_afterwards() {
    let table = nested(20_000, |_| true);
    let frame = content_header(HEADERS_ONLY, &table);
    let harmless = whole(&frame);
    let table = &harmless[HEAD + 14..harmless.len() - 1];
    assert_eq!(depth(table), MAX_HEADER_DEPTH);
    let (rest, read) = parse_field_table(table).expect("a table");
    assert!(rest.is_empty() && read.into_iter().count() == 1);
}

#[test]
fn a_deep_table_is_found_behind_other_properties_and_fields_of_every_type() {
    let fields = [
        &b"\x01aV\x01bt\x01\x01cb\x01\x01dB\x01\x01es\0\x01\x01fU\0\x01\x01gu\0\x01"[..],
        b"\x01hI\0\0\0\x01\x01ii\0\0\0\x01\x01jf\0\0\0\0\x01kD\x01\0\0\0\x01",
        b"\x01lL\0\0\0\0\0\0\0\x01\x01ml\0\0\0\0\0\0\0\x01\x01nd\0\0\0\0\0\0\0\0\x01oT\0\0\0\0\0\0\0\x01",
        b"\x01pS\0\0\0\x03FFF\x01qx\0\0\0\x03AAA",
        &nested(40, |_| false)[4..],
        b"\x01zt\x01",
    ]
    .concat();
    let before = b"\x0atext/plain\x04gzip";
    let properties = [&before[..], &with_length(&fields), b"\x02\x05\x02c1"].concat();
    let frame = content_header((0b1111_1100) << 8, &properties);
    let harmless = whole(&frame);
    assert_eq!(frame.iter().zip(&harmless).filter(|(a, b)| a != b).count(), 1);
}

#[test]
fn what_is_no_utf_8_in_names_becomes_question_marks_and_values_stay() {
    let table = with_length(b"\x03a\xffbS\0\0\0\x02\xff\xfe\x04gr\xc3\xbcV\x02\xe2\x82V");
    let frame = content_header(HEADERS_ONLY | 1 << 7, &[&table[..], b"\x03i\xf0d"].concat());
    let harmless = whole(&frame);
    let expected = with_length(b"\x03a?bS\0\0\0\x02\xff\xfe\x04gr\xc3\xbcV\x02??V");
    let expected = content_header(HEADERS_ONLY | 1 << 7, &[&expected[..], b"\x03i?d"].concat());
    assert_eq!(harmless, expected);
}

#[test]
fn a_frame_is_the_same_wherever_it_is_cut() {
    let mut frames = frame_of(1, b"a method that looks like F\0\0\0\xff");
    frames.extend(content_header(HEADERS_ONLY, &nested(40, |at| at.is_multiple_of(3))));
    frames.extend(frame_of(3, b"body"));
    frames.extend(content_header(0, b""));
    frames.extend(frame_of(8, b""));
    let expected = whole(&frames);
    assert_ne!(expected, frames);
    for cut in 1..frames.len() {
        assert_eq!(inspected(&frames, &[cut, usize::MAX], frames.len()), expected, "cut at {cut}");
    }
    for size in [1, 2, 3, 5, 7, 8, 64] {
        assert_eq!(inspected(&frames, &[size], size), expected, "in pieces of {size}");
    }
}

#[test]
fn a_stream_that_ends_inside_a_frame_has_not_ended_well() {
    let mut inspection = Inspection::default();
    assert!(inspection.ended().is_ok());
    assert_eq!(inspection.look(&mut [CONTENT_HEADER, 0, 1]), 0);
    assert!(inspection.ended().is_err());
}

proptest! {
    #[test]
    fn bytes_at_random_neither_panic_nor_change_in_number(
        payload in prop::collection::vec(any::<u8>(), 0..400),
        flags in any::<u16>(),
        pieces in prop::collection::vec(1_usize..50, 1..20),
    ) {
        let frame = content_header(flags, &payload);
        let out = inspected(&frame, &pieces, 64);
        prop_assert_eq!(out.len(), frame.len());
        prop_assert_eq!(&out, &whole(&frame));
    }

    #[test]
    fn no_container_stays_deeper_than_the_bound(kinds in prop::collection::vec(any::<bool>(), 2..200)) {
        let table = nested(kinds.len(), |at| kinds[at - 1]);
        let harmless = whole(&content_header(HEADERS_ONLY, &table));
        let table = &harmless[HEAD + 14..harmless.len() - 1];
        prop_assert_eq!(depth(table), kinds.len().min(MAX_HEADER_DEPTH));
    }
}

#[test]
fn where_a_message_was_published_to_is_read_as_text_however_it_comes_in() {
    let deliver = |key: &[u8]| {
        let tag = [0, 0, 0, 0, 0, 0, 0, 7, 1];
        let arguments =
            [&[0, 60, 0, 60, 3][..], b"tag", &tag, &[4], b"\xff\xfeok", &[u8::try_from(key.len()).unwrap()], key];
        frame_of(METHOD, &arguments.concat())
    };
    let got = |exchange: &[u8]| {
        let arguments = [&[0, 60, 0, 71, 0, 0, 0, 0, 0, 0, 0, 7, 0, 2][..], exchange, &[0, 0, 0, 0, 9]];
        frame_of(METHOD, &arguments.concat())
    };
    let bytes = [deliver(b"order.\xe9"), got(b"\xc3\xa9"), got(b"\xc3("), deliver(&[0xff; 255])].concat();
    let mut expected = [deliver(b"order.?"), got(b"\xc3\xa9"), got(b"?("), deliver(&[b'?'; 255])].concat();
    while let Some(at) = expected.windows(4).position(|bytes| bytes == b"\xff\xfeok") {
        expected[at..at + 2].fill(b'?');
    }
    for pieces in [&[1][..], &[8], &[3, 500], &[4096]] {
        assert_eq!(inspected(&bytes, pieces, 4096), expected, "{pieces:?}");
    }
}

#[test]
fn other_methods_and_broken_ones_pass_as_they_are() {
    for payload in
        [&b""[..], b"\0\x3c", b"\0\x3c\0\x3c", b"\0\x3c\0\x3c\xff\xff", b"\0\x3c\0\x50\xff\xff\xff", &[0xff; 900]]
    {
        let bytes = frame_of(METHOD, payload);
        assert_eq!(inspected(&bytes, &[5], 64), bytes, "{payload:?}");
    }
}
