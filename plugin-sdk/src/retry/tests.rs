use proptest::prelude::*;

use super::*;

fn any_jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![Just(Jitter::None), Just(Jitter::Equal), Just(Jitter::Full)]
}

fn any_duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        any::<u64>().prop_map(Duration::from_millis),
        any::<Duration>(),
        Just(Duration::ZERO),
        Just(Duration::MAX),
        (0u64..100_000).prop_map(Duration::from_millis),
    ]
}

fn any_factor() -> impl Strategy<Value = f64> {
    prop_oneof![
        proptest::num::f64::ANY,
        1.0..10.0,
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(0.0),
        Just(-2.0),
        Just(1.0),
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
    ]
}

prop_compose! {
    fn any_policy()(
        max_attempts in any::<u32>(),
        initial_delay in any_duration(),
        max_delay in any_duration(),
        factor in any_factor(),
        jitter in any_jitter(),
    ) -> RetryPolicy {
        RetryPolicy { max_attempts, initial_delay, max_delay, factor, jitter }
    }
}

proptest! {
    #[test]
    fn a_delay_stays_within_its_bounds_for_any_settings(policy in any_policy(), attempt in any::<u32>(), seed in any::<u64>()) {
        let base = RetryPolicy { jitter: Jitter::None, ..policy }.delay(attempt, seed);
        prop_assert!(base <= policy.max_delay);
        prop_assert!(base >= policy.initial_delay.min(policy.max_delay));

        let delay = policy.delay(attempt, seed);
        prop_assert!(delay >= base, "jitter shortened {base:?} to {delay:?}");
        let longest = match policy.jitter {
            Jitter::None => base,
            // A nanosecond for rounding.
            Jitter::Equal => base.saturating_add(base / 2).saturating_add(Duration::from_nanos(1)),
            Jitter::Full => base.saturating_add(base),
        };
        // An f64 of seconds holds 15 digits: beyond a thousand days, whole nanoseconds are not told apart.
        let rounding = Duration::from_secs_f64(base.as_secs_f64() * 1e-15);
        prop_assert!(delay <= longest.saturating_add(rounding), "{delay:?} is longer than {longest:?}");
    }

    #[test]
    fn a_later_attempt_never_waits_less(policy in any_policy(), attempt in any::<u32>()) {
        let policy = RetryPolicy { jitter: Jitter::None, ..policy };
        prop_assert!(policy.delay(attempt.saturating_add(1), 0) >= policy.delay(attempt, 0));
    }

    #[test]
    fn the_same_seed_gives_the_same_delay(policy in any_policy(), attempt in any::<u32>(), seed in any::<u64>()) {
        prop_assert_eq!(policy.delay(attempt, seed), policy.delay(attempt, seed));
    }

    #[test]
    fn exactly_the_attempts_below_the_maximum_are_followed_by_another(max_attempts in any::<u32>(), attempt in 1..=u32::MAX) {
        let policy = RetryPolicy { max_attempts, ..RetryPolicy::default() };
        prop_assert_eq!(policy.exhausted(attempt), attempt >= max_attempts.max(1));
    }

    #[test]
    fn what_is_written_is_read_back(policy in any_policy(), factor in -100_000i32..100_000) {
        // Not any f64: serde_json reads some of seventeen digits one bit off.
        let policy = RetryPolicy { factor: f64::from(factor) / 1000.0, ..policy };
        let json = serde_json::to_string(&policy).unwrap();
        let read: RetryPolicy = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(read, policy, "{}", json);
    }
}

#[test]
fn without_settings_nothing_is_retried() {
    let policy: RetryPolicy = serde_json::from_str("{}").unwrap();
    assert_eq!(policy, RetryPolicy::default());
    assert!(policy.exhausted(1));
}

#[test]
fn delays_double_up_to_the_longest() {
    let policy = RetryPolicy::default();
    let delays: Vec<u128> = (1..=9).map(|attempt| policy.delay(attempt, 0).as_millis()).collect();
    assert_eq!(delays, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
    assert_eq!(policy.delay(u32::MAX, 0), policy.max_delay);
}

#[test]
fn jitter_spreads_what_failed_together_over_its_whole_range() {
    for (jitter, longest) in [(Jitter::Equal, 1.5), (Jitter::Full, 2.0)] {
        let policy = RetryPolicy { jitter, ..RetryPolicy::default() };
        let delays: Vec<f64> = (0..1000).map(|seed| policy.delay(1, seed).as_secs_f64() / 0.1).collect();
        let mean = delays.iter().sum::<f64>() / 1000.0;
        assert!((mean - (1.0 + longest) / 2.0).abs() < 0.05, "{jitter:?} lengthens by {mean} on average");
        assert!(delays.iter().any(|delay| *delay < 1.02));
        assert!(delays.iter().any(|delay| *delay > longest - 0.02));
    }
}

#[test]
fn a_nonsense_factor_counts_as_one_and_is_refused() {
    for factor in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -2.0, 0.0, 0.5] {
        let policy = RetryPolicy { factor, ..RetryPolicy::default() };
        assert_eq!(policy.delay(7, 0), policy.initial_delay, "factor {factor}");
        assert_eq!(policy.check().len(), 1, "factor {factor}");
        assert_eq!(policy.check()[0].path, "/factor");
    }
    assert_eq!(RetryPolicy::default().check(), []);
}

#[test]
fn a_first_wait_beyond_the_longest_is_refused_with_the_cure() {
    let policy = RetryPolicy { initial_delay: Duration::from_secs(30), ..RetryPolicy::default() };
    assert_eq!(
        policy.check()[0].to_string(),
        "/initial_delay: the first wait of 30s is longer than max_delay, 10s: raise max_delay or lower initial_delay"
    );
}

#[test]
fn durations_are_text_or_milliseconds_and_nothing_else() {
    let read = |json: &str| serde_json::from_str::<RetryPolicy>(json).map(|policy| policy.initial_delay);
    assert_eq!(read(r#"{"initial_delay": "1m 30s"}"#).unwrap(), Duration::from_secs(90));
    assert_eq!(read(r#"{"initial_delay": 250}"#).unwrap(), Duration::from_millis(250));
    for wrong in [r#""fast""#, "-1", "true", "null", r#""""#, "1.5", r#""99999999999999999999y""#] {
        let error = read(&format!(r#"{{"initial_delay": {wrong}}}"#)).unwrap_err().to_string();
        assert!(error.contains("duration"), "{wrong}: {error}");
    }
}

#[test]
fn an_unknown_setting_is_refused() {
    let error = serde_json::from_str::<RetryPolicy>(r#"{"attempts": 3}"#).unwrap_err().to_string();
    assert!(error.contains("unknown field `attempts`") && error.contains("max_attempts"), "{error}");
}
