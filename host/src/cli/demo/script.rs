//! What is sent, and what each message is made to meet. All of it follows from a message's number.

/// The queue of orders: its route has tiers and two dead-letter topics.
pub(super) const ORDERS: &str = "orders";
/// The queue of previews: its route has neither.
pub(super) const PREVIEWS: &str = "previews";

/// The five ways to fail, and none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trouble {
    /// The handler succeeds at once.
    None,
    /// The message is invalid and stays so.
    Validation,
    /// The handler hangs until the host stops waiting.
    TimeOut,
    /// The other side asks to be left alone for a while.
    RateLimit,
    /// The connection is refused, twice.
    Flaky,
    /// The handler panics, every time.
    Crash,
}

impl Trouble {
    /// What the table calls it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::None => "no trouble",
            Self::Validation => "validation",
            Self::TimeOut => "time-out",
            Self::RateLimit => "rate limit",
            Self::Flaky => "flaky",
            Self::Crash => "crash",
        }
    }
}

/// Where a message is sent, and what it meets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    pub(super) queue: &'static str,
    pub(super) trouble: Trouble,
}

impl Kind {
    /// Every kind that is sent, in the table's order.
    pub(super) const ALL: [Self; 8] = [
        order(Trouble::None),
        order(Trouble::Validation),
        order(Trouble::TimeOut),
        order(Trouble::RateLimit),
        order(Trouble::Flaky),
        order(Trouble::Crash),
        preview(Trouble::Validation),
        preview(Trouble::RateLimit),
    ];

    /// What the message of this number is.
    pub(super) const fn of(number: u32) -> Self {
        CYCLE[number as usize % CYCLE.len()]
    }

    /// What the message of this id is; `None` where the id is none of ours.
    pub(super) fn of_id(id: &str) -> Option<Self> {
        Some(Self::of(id.rsplit_once('-')?.1.parse().ok()?))
    }

    /// It ends by being dropped, whichever policy judges: an invalid message, and no topic to park it in.
    pub(super) fn is_dropped(self) -> bool {
        self == preview(Trouble::Validation)
    }

    /// How many of the first `messages` are of this kind.
    pub(super) fn among(self, messages: u32) -> u64 {
        let count = |kinds: &[Self]| kinds.iter().filter(|kind| **kind == self).count() as u64;
        let (cycles, rest) = (u64::from(messages) / CYCLE.len() as u64, messages as usize % CYCLE.len());
        cycles * count(&CYCLE) + count(&CYCLE[..rest])
    }
}

/// Every kind is among the first ten. Those that the two policies treat most differently are also near each end.
const CYCLE: [Kind; 20] = [
    order(Trouble::None),
    order(Trouble::Validation),
    order(Trouble::RateLimit),
    order(Trouble::TimeOut),
    preview(Trouble::Validation),
    preview(Trouble::RateLimit),
    order(Trouble::Flaky),
    order(Trouble::Crash),
    order(Trouble::Validation),
    order(Trouble::RateLimit),
    order(Trouble::None),
    order(Trouble::None),
    order(Trouble::TimeOut),
    order(Trouble::None),
    order(Trouble::Validation),
    order(Trouble::None),
    order(Trouble::RateLimit),
    order(Trouble::Flaky),
    order(Trouble::None),
    order(Trouble::None),
];

/// The id of the message of this number, such as `order-00017`.
pub(super) fn id(number: u32) -> String {
    let name = if Kind::of(number).queue == ORDERS { "order" } else { "preview" };
    format!("{name}-{number:05}")
}

const fn order(trouble: Trouble) -> Kind {
    Kind { queue: ORDERS, trouble }
}

const fn preview(trouble: Trouble) -> Kind {
    Kind { queue: PREVIEWS, trouble }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_among_the_fewest_messages_that_can_be_sent() {
        for kind in Kind::ALL {
            assert!(kind.among(10) > 0, "{kind:?}");
        }
        assert_eq!(Kind::ALL.iter().map(|kind| kind.among(47)).sum::<u64>(), 47);
    }

    #[test]
    fn an_id_tells_the_kind() {
        for number in 0..40 {
            assert_eq!(Kind::of_id(&id(number)), Some(Kind::of(number)));
        }
        assert_eq!(Kind::of_id("somebody-elses"), None);
    }
}
