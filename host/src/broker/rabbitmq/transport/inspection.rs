//! Follows the frames that come in, and makes harmless what the client library would die of.
//!
//! The library reads header tables by recursion: a few hundred nested ones end its thread, and with it the process.
//! It also ends the connection over a name that is not UTF-8. Both come from whoever may publish, and come back with
//! every redelivery. So a content header is looked through before the library sees it, and so is the method before it,
//! which says where the message was published to; everything else passes.

mod content_header;
mod delivery;

use std::io;

/// Type, channel and length of a frame stand before its payload, one byte behind it.
const HEAD: usize = 7;
const END_MARK: usize = 1;
/// The frame types that are looked through.
const METHOD: u8 = 1;
const CONTENT_HEADER: u8 = 2;

/// Where in the stream of frames the last byte was.
#[derive(Debug, Default)]
pub(super) struct Inspection {
    /// Bytes that pass without a look before the next frame begins.
    passing: usize,
    /// The beginning of a frame that is not whole yet, or a whole one of which the rest is still to be handed out.
    held: Vec<u8>,
    /// How much of a whole frame in `held` was handed out.
    handed_out: usize,
}

impl Inspection {
    /// Looks at bytes that have just come in. Gives how many of them, from the beginning, may go on now; the others are held.
    pub(super) fn look(&mut self, bytes: &mut [u8]) -> usize {
        debug_assert!(self.held.is_empty(), "held bytes come before new ones");
        let mut at = 0;
        loop {
            let passed = self.passing.min(bytes.len() - at);
            self.passing -= passed;
            at += passed;
            let rest = &mut bytes[at..];
            match frame(rest) {
                _ if rest.is_empty() => return at,
                Frame::Passes(length) => self.passing = length,
                Frame::Whole(length) => {
                    make_harmless(&mut rest[..length]);
                    self.passing = length;
                }
                Frame::Partial { .. } => {
                    self.held.extend_from_slice(rest);
                    return at;
                }
            }
        }
    }

    /// How many more bytes are needed of the frame that is held; none where nothing is held or all of it is here.
    pub(super) fn missing(&self) -> Option<usize> {
        match frame(&self.held) {
            Frame::Partial { missing } if !self.held.is_empty() => Some(missing),
            _ => None,
        }
    }

    /// Takes up to [`Self::missing`] bytes that have come in.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
        match frame(&self.held) {
            Frame::Partial { .. } => {}
            Frame::Whole(length) => make_harmless(&mut self.held[..length]),
            // It was held for its length alone, and is of no interest.
            Frame::Passes(length) => self.passing = length - self.held.len(),
        }
    }

    /// Fills `buffer` with what was held and may go on.
    pub(super) fn hand_out(&mut self, buffer: &mut [u8]) -> usize {
        if self.missing().is_some() {
            return 0;
        }
        let ready = &self.held[self.handed_out..];
        let count = ready.len().min(buffer.len());
        buffer[..count].copy_from_slice(&ready[..count]);
        self.handed_out += count;
        if self.handed_out == self.held.len() {
            self.held = Vec::new();
            self.handed_out = 0;
        }
        count
    }

    /// The error for a stream that ended inside a frame, where it did.
    pub(super) fn ended(&self) -> io::Result<()> {
        if self.held.is_empty() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// What is to be done with the frame that these bytes begin with. Lengths are those of the whole frame.
enum Frame {
    Passes(usize),
    Whole(usize),
    Partial { missing: usize },
}

fn frame(bytes: &[u8]) -> Frame {
    let Some(&[kind, _, _, a, b, c, d]) = bytes.first_chunk::<HEAD>() else {
        return Frame::Partial { missing: HEAD - bytes.len() };
    };
    let payload = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    let length = payload.saturating_add(HEAD + END_MARK);
    let is_harmless = match kind {
        METHOD => delivery::is_harmless(payload),
        CONTENT_HEADER => content_header::is_harmless(payload),
        _ => true,
    };
    if is_harmless {
        Frame::Passes(length)
    } else if bytes.len() < length {
        Frame::Partial { missing: length - bytes.len() }
    } else {
        Frame::Whole(length)
    }
}

fn make_harmless(frame: &mut [u8]) {
    let payload = HEAD..frame.len() - END_MARK;
    match frame[0] {
        METHOD => delivery::make_harmless(&mut frame[payload]),
        _ => content_header::make_harmless(&mut frame[payload]),
    }
}

#[cfg(test)]
mod tests;
