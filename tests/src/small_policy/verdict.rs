//! A verdict as it lies in a policy's memory.

/// A verdict that may be none: every number is as it is written here.
#[derive(Debug, Clone, Copy)]
pub struct RawVerdict {
    /// Which action: 0 retry, 1 delay, 2 delay-to, 3 dead-letter, 4 requeue, 5 drop; there are no others.
    pub action: u8,
    /// What belongs to the action: a delay, an option and a delay, or an option and a text's address and length.
    pub payload: [u32; 4],
    /// A pause, in milliseconds.
    pub pause: Option<u64>,
    /// The reason's address and length.
    pub reason: (u32, u32),
    /// The headers' address and number.
    pub headers: (u32, u32),
}

impl RawVerdict {
    /// A dead letter without a label.
    #[must_use]
    pub const fn dead_letter() -> Self {
        Self { action: 3, payload: [0; 4], pause: None, reason: (0, 0), headers: (0, 0) }
    }

    /// A retry after these milliseconds.
    #[must_use]
    pub const fn retry(delay_ms: u64) -> Self {
        Self { action: 0, payload: [low(delay_ms), high(delay_ms), 0, 0], ..Self::dead_letter() }
    }

    /// A delay of these milliseconds.
    #[must_use]
    pub const fn delay(delay_ms: u64) -> Self {
        Self { action: 1, ..Self::retry(delay_ms) }
    }

    /// The tier whose name has this address and length.
    #[must_use]
    pub const fn delay_to(address: u32, length: u32) -> Self {
        Self { action: 2, payload: [address, length, 0, 0], ..Self::dead_letter() }
    }

    /// A requeue after these milliseconds.
    #[must_use]
    pub const fn requeue(cooldown_ms: u64) -> Self {
        Self { action: 4, payload: [1, 0, low(cooldown_ms), high(cooldown_ms)], ..Self::dead_letter() }
    }

    /// As the canonical ABI lays it out.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let pause = self.pause.unwrap_or_default();
        let words = [u32::from(self.action), 0]
            .into_iter()
            .chain(self.payload)
            .chain([u32::from(self.pause.is_some()), 0, low(pause), high(pause)])
            .chain([self.reason.0, self.reason.1, self.headers.0, self.headers.1]);
        words.flat_map(u32::to_le_bytes).collect()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the other half is in `high`")]
const fn low(number: u64) -> u32 {
    number as u32
}

const fn high(number: u64) -> u32 {
    (number >> 32) as u32
}
