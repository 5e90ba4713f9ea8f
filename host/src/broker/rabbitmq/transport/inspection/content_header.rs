//! The payload of a content header frame: class, weight, body size, flags, and the properties that the flags name.

use super::super::super::MAX_HEADER_DEPTH;

/// Class, weight, body size and flags.
const FIXED: usize = 2 + 2 + 8 + 2;
/// The properties in their order, by their bit in the flags.
const PROPERTIES: [Property; 14] = [
    Property::ShortString, // content-type
    Property::ShortString, // content-encoding
    Property::Headers,
    Property::Fixed(1),    // delivery-mode
    Property::Fixed(1),    // priority
    Property::ShortString, // correlation-id
    Property::ShortString, // reply-to
    Property::ShortString, // expiration
    Property::ShortString, // message-id
    Property::Fixed(8),    // timestamp
    Property::ShortString, // type
    Property::ShortString, // user-id
    Property::ShortString, // app-id
    Property::ShortString, // cluster-id
];

#[derive(Clone, Copy)]
enum Property {
    ShortString,
    Headers,
    Fixed(usize),
}

/// An open table or array: where it ends, and whether its fields have names.
struct Open {
    end: usize,
    named: bool,
}

/// Whether nothing can be wrong with a payload of this size: it has no property.
pub(super) const fn is_harmless(payload: usize) -> bool {
    payload <= FIXED
}

/// Turns tables and arrays that lie deeper than [`MAX_HEADER_DEPTH`] into byte arrays of the same bytes, and what is no
/// UTF-8 in names and short strings into question marks. Nothing moves. Where the payload breaks its own rules, the
/// rest stays as it is: a reader gets no further either.
pub(super) fn make_harmless(payload: &mut [u8]) {
    let _ = Walk { payload, at: FIXED }.properties();
}

/// A place in the payload. Every method gives none where the payload ends before it should.
struct Walk<'p> {
    payload: &'p mut [u8],
    at: usize,
}

impl Walk<'_> {
    fn properties(&mut self) -> Option<()> {
        let flags = u16::from_be_bytes([*self.payload.get(FIXED - 2)?, *self.payload.get(FIXED - 1)?]);
        for (index, property) in PROPERTIES.iter().enumerate() {
            if flags & (1 << (15 - index)) == 0 {
                continue;
            }
            match *property {
                Property::ShortString => self.short_string(self.payload.len())?,
                Property::Fixed(size) => self.skip(size, self.payload.len())?,
                Property::Headers => self.headers()?,
            }
        }
        Some(())
    }

    fn headers(&mut self) -> Option<()> {
        let end = self.length(self.payload.len())?;
        let mut open = vec![Open { end, named: true }];
        while let Some(&Open { end, named }) = open.last() {
            if self.at == end {
                open.pop();
                continue;
            }
            if named {
                self.short_string(end)?;
            }
            if let Some(inner) = self.value(end, open.len())? {
                open.push(inner);
            }
        }
        Some(())
    }

    /// Passes a value, or opens it where it is a table or array.
    fn value(&mut self, end: usize, depth: usize) -> Option<Option<Open>> {
        let tag = self.at;
        let letter = self.byte(end)?;
        let size = match letter {
            b'V' => 0,
            b't' | b'b' | b'B' => 1,
            b's' | b'U' | b'u' => 2,
            b'I' | b'i' | b'f' => 4,
            b'D' => 5,
            b'L' | b'l' | b'd' | b'T' => 8,
            b'S' | b'x' => {
                self.at = self.length(end)?;
                return Some(None);
            }
            b'F' | b'A' => {
                let inner_end = self.length(end)?;
                if depth < MAX_HEADER_DEPTH {
                    return Some(Some(Open { end: inner_end, named: letter == b'F' }));
                }
                self.payload[tag] = b'x';
                self.at = inner_end;
                return Some(None);
            }
            _ => return None,
        };
        self.skip(size, end)?;
        Some(None)
    }

    /// Reads a length of four bytes, and gives the place that it leads to.
    fn length(&mut self, end: usize) -> Option<usize> {
        let start = self.at;
        self.skip(4, end)?;
        let bytes = self.payload[start..].first_chunk()?;
        let to = self.at.checked_add(usize::try_from(u32::from_be_bytes(*bytes)).ok()?)?;
        (to <= end).then_some(to)
    }

    fn short_string(&mut self, end: usize) -> Option<()> {
        let length = self.byte(end)?;
        let start = self.at;
        self.skip(length.into(), end)?;
        make_text(&mut self.payload[start..self.at]);
        Some(())
    }

    fn byte(&mut self, end: usize) -> Option<u8> {
        let at = self.at;
        self.skip(1, end)?;
        Some(self.payload[at])
    }

    fn skip(&mut self, count: usize, end: usize) -> Option<()> {
        let to = self.at.checked_add(count).filter(|to| *to <= end)?;
        self.at = to;
        Some(())
    }
}

/// Turns what is no UTF-8 into question marks.
pub(super) fn make_text(mut bytes: &mut [u8]) {
    while let Err(error) = std::str::from_utf8(bytes) {
        let from = error.valid_up_to();
        let to = error.error_len().map_or(bytes.len(), |length| from + length);
        bytes[from..to].fill(b'?');
        bytes = &mut bytes[to..];
    }
}
