//! Whatever stands in a sender's headers comes in and goes out again, type for type, or is refused; nothing panics.

use lapin::types::ShortString;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Any value of AMQP that does not hold others.
fn flat() -> impl Strategy<Value = AMQPValue> {
    prop_oneof![
        Just(AMQPValue::Void),
        any::<bool>().prop_map(AMQPValue::Boolean),
        any::<i8>().prop_map(AMQPValue::ShortShortInt),
        any::<u8>().prop_map(AMQPValue::ShortShortUInt),
        any::<i16>().prop_map(AMQPValue::ShortInt),
        any::<u16>().prop_map(AMQPValue::ShortUInt),
        any::<i32>().prop_map(AMQPValue::LongInt),
        any::<u32>().prop_map(AMQPValue::LongUInt),
        any::<i64>().prop_map(AMQPValue::LongLongInt),
        any::<f32>().prop_map(AMQPValue::Float),
        any::<f64>().prop_map(AMQPValue::Double),
        any::<(u8, u32)>().prop_map(|(scale, value)| AMQPValue::DecimalValue(DecimalValue { scale, value })),
        any_short().prop_map(AMQPValue::ShortString),
        vec(any::<u8>(), 0..64).prop_map(|bytes| AMQPValue::LongString(bytes.into())),
        vec(any::<u8>(), 0..64).prop_map(|bytes| AMQPValue::ByteArray(bytes.into())),
        any::<u64>().prop_map(AMQPValue::Timestamp),
    ]
}

fn any_short() -> impl Strategy<Value = ShortString> {
    any::<String>().prop_filter_map("at most 255 bytes", |text| ShortString::try_new(text).ok())
}

fn table_of(values: impl Strategy<Value = AMQPValue>) -> impl Strategy<Value = FieldTable> {
    vec((any_short(), values), 0..6).prop_map(|fields| {
        let mut table = FieldTable::default();
        for (name, value) in fields {
            table.insert(name, value);
        }
        table
    })
}

fn any_table() -> impl Strategy<Value = FieldTable> {
    table_of(flat().prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(|values| AMQPValue::FieldArray(values.into())),
            table_of(inner).prop_map(AMQPValue::FieldTable),
        ]
    }))
}

/// What goes out of what came in: RabbitMQ has no short strings in a table.
fn as_sent(table: &FieldTable) -> FieldTable {
    fn value_as_sent(value: &AMQPValue) -> AMQPValue {
        match value {
            AMQPValue::ShortString(text) => AMQPValue::LongString(text.as_str().into()),
            AMQPValue::FieldArray(values) => {
                AMQPValue::FieldArray(values.as_slice().iter().map(value_as_sent).collect::<Vec<_>>().into())
            }
            AMQPValue::FieldTable(table) => AMQPValue::FieldTable(as_sent(table)),
            other => other.clone(),
        }
    }
    let mut sent = FieldTable::default();
    for (name, value) in table {
        sent.insert(name.clone(), value_as_sent(value));
    }
    sent
}

/// As text, in which what is not a number equals itself.
fn told(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn whatever_a_sender_wrote_goes_out_as_it_came_in(came in any_table()) {
        let sent = table(&headers(&came)).unwrap();
        prop_assert_eq!(told(&sent), told(&as_sent(&came)));
    }

    #[test]
    fn names_of_any_length_and_number_are_sent_or_refused(
        named in vec(("[ -~é]{0,300}", any::<i64>()), 0..8),
    ) {
        let mut wanted = Headers::new();
        named.iter().for_each(|(name, value)| wanted.push(name.clone(), *value));
        match table(&wanted) {
            Ok(sent) => {
                let last = |name: &str| named.iter().rev().find(|(other, _)| other == name).map(|(_, value)| *value);
                for (name, _) in &named {
                    prop_assert_eq!(headers(&sent).get(name).and_then(HeaderValue::as_i64), last(name));
                }
            }
            Err(error) => {
                prop_assert!(matches!(error, PublishError::TooLarge(_)), "{error}");
                prop_assert!(named.iter().any(|(name, _)| name.len() > 255));
            }
        }
    }
}
