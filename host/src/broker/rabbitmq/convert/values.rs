//! Header values to and from AMQP field values, type for type.

use bytes::Bytes;
use lapin::types::{AMQPValue, DecimalValue, FieldTable};

use super::super::MAX_HEADER_DEPTH;
use super::short;
use crate::broker::PublishError;
use crate::message::{HeaderValue, Headers};

/// How deep headers may nest that are published. Twice what comes in, which goes on whole whatever is put around it.
const DEEPEST: usize = 2 * MAX_HEADER_DEPTH;

/// A field table as headers. A table has no order and no duplicates: names come sorted.
pub(super) fn headers(table: &FieldTable) -> Headers {
    table.into_iter().map(|(name, value)| (name.as_str().to_owned(), header_value(value))).collect()
}

/// Headers as a field table. Of headers with the same name the last counts. Refuses what nests too deep for a reader.
pub(super) fn table(headers: &Headers) -> Result<FieldTable, PublishError> {
    table_at(headers, 1)
}

fn table_at(headers: &Headers, depth: usize) -> Result<FieldTable, PublishError> {
    if depth > DEEPEST {
        return Err(too_deep());
    }
    let mut table = FieldTable::default();
    for (name, value) in headers.iter() {
        let name = short(name, || "the name of a header".to_owned())?;
        table.insert(name, field_value(value, depth)?);
    }
    Ok(table)
}

fn header_value(value: &AMQPValue) -> HeaderValue {
    match value {
        AMQPValue::Void => HeaderValue::Null,
        AMQPValue::Boolean(value) => HeaderValue::Bool(*value),
        AMQPValue::ShortShortInt(value) => HeaderValue::I8(*value),
        AMQPValue::ShortShortUInt(value) => HeaderValue::U8(*value),
        AMQPValue::ShortInt(value) => HeaderValue::I16(*value),
        AMQPValue::ShortUInt(value) => HeaderValue::U16(*value),
        AMQPValue::LongInt(value) => HeaderValue::I32(*value),
        AMQPValue::LongUInt(value) => HeaderValue::U32(*value),
        AMQPValue::LongLongInt(value) => HeaderValue::I64(*value),
        AMQPValue::Float(value) => HeaderValue::F32(*value),
        AMQPValue::Double(value) => HeaderValue::F64(*value),
        AMQPValue::DecimalValue(DecimalValue { scale, value }) => HeaderValue::Decimal { scale: *scale, value: *value },
        AMQPValue::ShortString(text) => HeaderValue::ShortText(text.as_str().to_owned()),
        AMQPValue::LongString(text) => HeaderValue::Text(Bytes::copy_from_slice(text.as_bytes())),
        AMQPValue::ByteArray(bytes) => HeaderValue::Bytes(Bytes::copy_from_slice(bytes.as_slice())),
        AMQPValue::Timestamp(seconds) => HeaderValue::Timestamp(*seconds),
        AMQPValue::FieldArray(values) => HeaderValue::Array(values.as_slice().iter().map(header_value).collect()),
        AMQPValue::FieldTable(table) => HeaderValue::Table(headers(table)),
    }
}

fn field_value(value: &HeaderValue, depth: usize) -> Result<AMQPValue, PublishError> {
    Ok(match value {
        HeaderValue::Null => AMQPValue::Void,
        HeaderValue::Bool(value) => AMQPValue::Boolean(*value),
        HeaderValue::I8(value) => AMQPValue::ShortShortInt(*value),
        HeaderValue::U8(value) => AMQPValue::ShortShortUInt(*value),
        HeaderValue::I16(value) => AMQPValue::ShortInt(*value),
        HeaderValue::U16(value) => AMQPValue::ShortUInt(*value),
        HeaderValue::I32(value) => AMQPValue::LongInt(*value),
        HeaderValue::U32(value) => AMQPValue::LongUInt(*value),
        HeaderValue::I64(value) => AMQPValue::LongLongInt(*value),
        HeaderValue::F32(value) => AMQPValue::Float(*value),
        HeaderValue::F64(value) => AMQPValue::Double(*value),
        HeaderValue::Decimal { scale, value } => AMQPValue::DecimalValue(DecimalValue { scale: *scale, value: *value }),
        // RabbitMQ has no short string in a table: it reads that type's letter as a 16-bit integer.
        HeaderValue::ShortText(text) => AMQPValue::LongString(text.as_bytes().into()),
        HeaderValue::Text(bytes) => AMQPValue::LongString(bytes.as_ref().into()),
        HeaderValue::Bytes(bytes) => AMQPValue::ByteArray(bytes.as_ref().into()),
        HeaderValue::Timestamp(seconds) => AMQPValue::Timestamp(*seconds),
        HeaderValue::Array(_) if depth >= DEEPEST => return Err(too_deep()),
        HeaderValue::Array(values) => {
            let values = values.iter().map(|value| field_value(value, depth + 1));
            AMQPValue::FieldArray(values.collect::<Result<Vec<_>, _>>()?.into())
        }
        HeaderValue::Table(headers) => AMQPValue::FieldTable(table_at(headers, depth + 1)?),
    })
}

fn too_deep() -> PublishError {
    PublishError::Refused(format!("headers nest deeper than {DEEPEST} tables and arrays"))
}

#[cfg(test)]
mod any_table;
#[cfg(test)]
mod tests {
    use super::*;

    /// One header of every AMQP field type, named so that they stand in a table's order.
    fn one_of_each() -> Headers {
        let inner: Headers = [
            ("list".to_owned(), HeaderValue::Array(vec![HeaderValue::Null, HeaderValue::U8(1)])),
            ("text".to_owned(), "within".into()),
        ]
        .into_iter()
        .collect();
        let values = [
            HeaderValue::Null,
            HeaderValue::Bool(true),
            HeaderValue::I8(i8::MIN),
            HeaderValue::U8(u8::MAX),
            HeaderValue::I16(i16::MIN),
            HeaderValue::U16(u16::MAX),
            HeaderValue::I32(i32::MIN),
            HeaderValue::U32(u32::MAX),
            HeaderValue::I64(i64::MIN),
            HeaderValue::F32(1.5),
            HeaderValue::F64(-0.1),
            HeaderValue::Decimal { scale: 2, value: 12_345 },
            HeaderValue::Text("text".into()),
            HeaderValue::Text(Bytes::from_static(&[0xff, 0x00, 0xfe])),
            HeaderValue::Bytes(Bytes::from_static(&[0, 1, 2])),
            HeaderValue::Timestamp(1_700_000_000),
            HeaderValue::Array(vec!["a".into(), HeaderValue::Array(vec![]), HeaderValue::Table(inner.clone())]),
            HeaderValue::Table(inner),
        ];
        values.into_iter().enumerate().map(|(at, value)| (format!("h{at:02}"), value)).collect()
    }

    #[test]
    fn every_field_type_survives_both_ways() {
        assert_eq!(headers(&table(&one_of_each()).unwrap()), one_of_each());
    }

    #[test]
    fn each_type_goes_to_the_field_type_of_its_own_letter() {
        let table = table(&one_of_each()).unwrap();
        let letters: String = table.into_iter().map(|(_, value)| value.get_type().get_id()).collect();
        assert_eq!(letters, "VtbBsuIilfdDSSxTAF");
    }

    #[test]
    fn short_text_is_sent_as_the_string_type_that_rabbitmq_reads() {
        let sent = table(&[("h".to_owned(), HeaderValue::ShortText("text".into()))].into_iter().collect()).unwrap();
        assert_eq!(headers(&sent).text("h"), Some("text"));
        assert_eq!(sent.inner()["h"].get_type().get_id(), 'S');
    }

    #[test]
    fn of_headers_with_one_name_the_last_counts() {
        let mut twice = Headers::new();
        twice.push("n", "first");
        twice.push("n", "last");
        assert_eq!(headers(&table(&twice).unwrap()).text("n"), Some("last"));
    }

    #[test]
    fn a_header_name_over_255_bytes_is_too_large_at_any_depth() {
        let long = Headers::from_iter([("n".repeat(256), HeaderValue::Null)]);
        let nested = Headers::from_iter([("t".to_owned(), HeaderValue::Array(vec![HeaderValue::Table(long.clone())]))]);
        for headers in [long, nested] {
            assert!(matches!(table(&headers), Err(PublishError::TooLarge(_))));
        }
    }

    #[test]
    fn headers_that_nest_too_deep_are_refused_rather_than_sent() {
        let nested = |depth: usize, wrap: fn(HeaderValue) -> HeaderValue| {
            Headers::from_iter([("n".to_owned(), (1..depth).fold(HeaderValue::Null, |inner, _| wrap(inner)))])
        };
        let wraps: [fn(HeaderValue) -> HeaderValue; 2] = [
            |inner| HeaderValue::Array(vec![inner]),
            |inner| HeaderValue::Table(Headers::from_iter([("n".to_owned(), inner)])),
        ];
        for wrap in wraps {
            assert!(table(&nested(DEEPEST, wrap)).is_ok());
            assert!(matches!(table(&nested(DEEPEST + 1, wrap)), Err(PublishError::Refused(_))));
        }
    }
}
