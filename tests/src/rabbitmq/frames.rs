//! The methods that a client sends, read off the wire (AMQP 0-9-1, sections 2.3.5 and 4.2).

/// What comes before the first frame.
const PROTOCOL_HEADER: usize = 8;
/// Type, channel and length; and the end mark behind the payload.
const FRAME_HEADER: usize = 7;
const FRAME_END: usize = 1;
const METHOD_FRAME: u8 = 1;

/// A method by its class and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method(pub u16, pub u16);

impl Method {
    /// `basic.ack`
    pub const ACK: Self = Self(60, 80);
    /// `basic.reject`
    pub const REJECT: Self = Self(60, 90);
    /// `basic.nack`
    pub const NACK: Self = Self(60, 120);
}

/// Finds methods in one connection's bytes, however they are cut into pieces.
#[derive(Default)]
pub(super) struct Frames {
    begun: bool,
    rest: Vec<u8>,
}

impl Frames {
    /// The methods that these bytes complete.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Method> {
        self.rest.extend_from_slice(bytes);
        if !self.begun && self.rest.len() >= PROTOCOL_HEADER {
            self.rest.drain(..PROTOCOL_HEADER);
            self.begun = true;
        }
        let mut methods = Vec::new();
        while self.begun
            && let Some(&[kind, _, _, a, b, c, d]) = self.rest.first_chunk::<FRAME_HEADER>()
        {
            let payload = u32::from_be_bytes([a, b, c, d]) as usize;
            let end = FRAME_HEADER + payload + FRAME_END;
            if self.rest.len() < end {
                break;
            }
            if kind == METHOD_FRAME
                && let Some(&[a, b, c, d]) = self.rest[FRAME_HEADER..].first_chunk::<4>()
            {
                methods.push(Method(u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])));
            }
            self.rest.drain(..end);
        }
        methods
    }
}
