//! The size of a content header frame, so that one that the broker would not take is never sent: an oversized
//! frame costs the whole connection and what everybody else has under way on it.

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable, ShortString};

/// Frame type, channel, length and end mark; then class, weight, body length and property flags.
const FIXED: usize = (1 + 2 + 4 + 1) + (2 + 2 + 8 + 2);

/// The bytes that `properties` take as one frame.
pub(in crate::broker::rabbitmq) fn content_header_frame(properties: &BasicProperties) -> usize {
    let texts = [
        properties.content_type(),
        properties.content_encoding(),
        properties.correlation_id(),
        properties.reply_to(),
        properties.expiration(),
        properties.message_id(),
        properties.kind(),
        properties.user_id(),
        properties.app_id(),
        properties.cluster_id(),
    ];
    FIXED
        + texts.into_iter().flatten().map(short_string).sum::<usize>()
        + properties.headers().as_ref().map_or(0, table)
        + properties.delivery_mode().map_or(0, |_| 1)
        + properties.priority().map_or(0, |_| 1)
        + properties.timestamp().map_or(0, |_| 8)
}

fn short_string(text: &ShortString) -> usize {
    1 + text.as_str().len()
}

fn table(table: &FieldTable) -> usize {
    4 + table.into_iter().map(|(name, field)| short_string(name) + value(field)).sum::<usize>()
}

/// A value with the letter of its type.
fn value(value: &AMQPValue) -> usize {
    1 + match value {
        AMQPValue::Void => 0,
        AMQPValue::Boolean(_) | AMQPValue::ShortShortInt(_) | AMQPValue::ShortShortUInt(_) => 1,
        AMQPValue::ShortInt(_) | AMQPValue::ShortUInt(_) => 2,
        AMQPValue::LongInt(_) | AMQPValue::LongUInt(_) | AMQPValue::Float(_) => 4,
        AMQPValue::DecimalValue(_) => 5,
        AMQPValue::LongLongInt(_) | AMQPValue::Double(_) | AMQPValue::Timestamp(_) => 8,
        AMQPValue::ShortString(text) => short_string(text),
        AMQPValue::LongString(text) => 4 + text.len(),
        AMQPValue::ByteArray(bytes) => 4 + bytes.len(),
        AMQPValue::FieldArray(values) => 4 + values.as_slice().iter().map(self::value).sum::<usize>(),
        AMQPValue::FieldTable(fields) => table(fields),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapin::protocol::basic::gen_properties;
    use lapin::types::{ByteArray, DecimalValue, FieldArray};

    /// The client library's own encoding: flags and properties, without the frame around them.
    fn encoded(properties: &BasicProperties) -> usize {
        let mut buffer = vec![0; 4096];
        let written = gen_properties(properties)(std::io::Cursor::new(&mut buffer[..]).into());
        usize::try_from(written.expect("4 KiB are enough").position).unwrap()
    }

    #[test]
    fn the_size_is_what_the_encoder_writes() {
        let fields: Vec<AMQPValue> = vec![
            AMQPValue::Void,
            AMQPValue::Boolean(true),
            AMQPValue::ShortShortInt(1),
            AMQPValue::ShortShortUInt(1),
            AMQPValue::ShortInt(1),
            AMQPValue::ShortUInt(1),
            AMQPValue::LongInt(1),
            AMQPValue::LongUInt(1),
            AMQPValue::LongLongInt(1),
            AMQPValue::Float(1.0),
            AMQPValue::Double(1.0),
            AMQPValue::DecimalValue(DecimalValue { scale: 1, value: 1 }),
            AMQPValue::LongString("long".into()),
            AMQPValue::ByteArray(ByteArray::from(&[1u8, 2][..])),
            AMQPValue::Timestamp(1),
            AMQPValue::FieldArray(FieldArray::default()),
            AMQPValue::FieldTable(FieldTable::default()),
        ];
        let mut inner = FieldTable::default();
        inner.insert("list".into(), AMQPValue::FieldArray(fields.clone().into()));
        for (at, field) in fields.into_iter().enumerate() {
            inner.insert(format!("field{at}").into(), field);
        }
        let mut outer = FieldTable::default();
        outer.insert("inner".into(), AMQPValue::FieldTable(inner));

        let bare = BasicProperties::default();
        let full = bare
            .clone()
            .with_content_type("a".into())
            .with_content_encoding("bb".into())
            .with_headers(outer)
            .with_delivery_mode(2)
            .with_priority(1)
            .with_correlation_id("ccc".into())
            .with_reply_to("dddd".into())
            .with_expiration("5".into())
            .with_message_id("ffffff".into())
            .with_timestamp(1)
            .with_type("g".into())
            .with_user_id("hh".into())
            .with_app_id("iii".into())
            .with_cluster_id("jjjj".into());
        // What surrounds the properties, flags excepted, which the encoder writes too.
        let around = FIXED - 2;
        for properties in [bare, full] {
            assert_eq!(content_header_frame(&properties), around + encoded(&properties));
        }
    }
}
