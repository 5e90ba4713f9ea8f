//! What the handler does with each message: the seed decides by its number, and the attempt goes on from there.

use std::time::Duration;

use crate::random::Random;

/// The kind of error on which some policies drop a message. No other message may be dropped.
pub(crate) const UNWANTED: &str = "unwanted";

/// What the handler does with one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// 200, after so long.
    Success(Duration),
    /// An error, with a kind and a text of so many bytes.
    Failure { status: u16, kind: &'static str, text: usize, retry_after: Option<u8> },
    /// No answer, until the other side gives up.
    Hang,
    /// The connection is closed without an answer.
    Close,
}

const SHORT: usize = 60;
/// More than RabbitMQ's frames hold.
const LONG: usize = 300_000;
const AT_ONCE: Answer = Answer::Success(Duration::ZERO);

/// The answer to this attempt, counted from 1, on the message of this number.
pub(crate) fn answer(seed: u64, number: u64, attempt: u32) -> Answer {
    let mut random = Random::new(seed, number.wrapping_add(1 << 32));
    let fate = random.below(100);
    let times = u32::try_from(random.between(1, 3)).expect("at most three");
    let failure = |status, kind, text| Answer::Failure { status, kind, text, retry_after: None };
    // What fails a few times, and is handled then.
    let passing = |answer| if attempt <= times { answer } else { AT_ONCE };
    match fate {
        0..50 => AT_ONCE,
        50..56 => Answer::Success(Duration::from_millis(random.between(20, 400))),
        56..68 => passing(failure(503, "unavailable", SHORT)),
        68..73 => passing(Answer::Failure { status: 429, kind: "rate-limit", text: SHORT, retry_after: Some(1) }),
        73..76 => passing(Answer::Close),
        76..78 if attempt == 1 => Answer::Hang,
        76..78 => AT_ONCE,
        78..81 => passing(failure(500, "stack-trace", LONG)),
        81..87 => failure(422, "invalid-order", SHORT),
        87..93 => failure(500, "broken", SHORT),
        93..95 => failure(500, "stack-trace", LONG),
        _ => failure(410, UNWANTED, SHORT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_occurs_and_the_same_seed_gives_the_same_ones() {
        let answers = |seed| (0..500).map(|number| answer(seed, number, 1)).collect::<Vec<_>>();
        assert_eq!(answers(1), answers(1));
        assert_ne!(answers(1), answers(2));
        let first = answers(1);
        let has = |is: fn(&Answer) -> bool| assert!(first.iter().any(is));
        has(|answer| *answer == AT_ONCE);
        has(|answer| *answer == Answer::Hang);
        has(|answer| *answer == Answer::Close);
        has(|answer| matches!(answer, Answer::Failure { text: LONG, .. }));
        has(|answer| matches!(answer, Answer::Failure { kind: UNWANTED, .. }));
        has(|answer| matches!(answer, Answer::Failure { retry_after: Some(_), .. }));
    }
}
