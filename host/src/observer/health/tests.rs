use super::*;

const START: u64 = 1_700_000_000_000;

fn at(seconds: u64) -> Timestamp {
    Timestamp(START + seconds * 1000)
}

#[test]
fn a_failure_is_counted_with_everything_of_the_last_minute() {
    let window = HealthWindow::new();
    window.record_success(at(0));
    window.record_success(at(1));
    window.record_failure("timeout", at(2));
    window.record_retry(at(2));
    window.record_failure("http-503", at(3));

    let health = window.record_failure("timeout", at(59));

    let expected = Health { attempts: 5, failures: 3, retries: 1, failures_of_this_kind: 2, consecutive_failures: 3 };
    assert_eq!(health, expected);
}

#[test]
fn what_is_a_minute_old_no_longer_counts() {
    let window = HealthWindow::new();
    window.record_success(at(0));
    window.record_failure("timeout", at(0));
    window.record_retry(at(0));

    let health = window.record_failure("timeout", at(60));

    assert_eq!((health.attempts, health.failures, health.retries, health.failures_of_this_kind), (1, 1, 0, 1));
}

#[test]
fn a_bucket_is_emptied_before_it_serves_another_minute() {
    let window = HealthWindow::new();
    window.record_success(at(0));
    window.record_success(at(60));
    window.record_retry(at(0));
    window.record_retry(at(60));

    let health = window.record_failure("timeout", at(60));

    assert_eq!((health.attempts, health.retries), (2, 1));
}

#[test]
fn consecutive_failures_outlast_the_window_and_end_with_a_success() {
    let window = HealthWindow::new();
    window.record_failure("timeout", at(0));
    assert_eq!(window.record_failure("timeout", at(3600)).consecutive_failures, 2);

    window.record_success(at(3600));
    assert_eq!(window.record_failure("timeout", at(3600)).consecutive_failures, 1);
}

#[test]
fn a_clock_set_back_does_not_count_the_future() {
    let window = HealthWindow::new();
    window.record_failure("timeout", at(3601));
    window.record_success(at(3601));

    assert_eq!(window.record_failure("timeout", at(0)).failures, 1);
}

#[test]
fn kinds_past_the_bound_are_counted_together() {
    let window = HealthWindow::new();
    for n in 0..crate::observer::error_kinds::MAX_KINDS {
        window.record_failure(&format!("kind-{n}"), at(0));
    }
    window.record_failure("late-one", at(0));

    assert_eq!(window.record_failure("late-two", at(0)).failures_of_this_kind, 2);
    assert_eq!(window.record_failure("kind-0", at(0)).failures_of_this_kind, 2);
}

#[test]
fn the_ends_of_time_are_times_too() {
    let window = HealthWindow::new();
    window.record_success(Timestamp(u64::MAX));
    window.record_retry(Timestamp(u64::MAX));
    assert_eq!(window.record_failure("timeout", Timestamp(u64::MAX)).attempts, 2);
    assert_eq!(window.record_failure("timeout", Timestamp(0)).failures, 1);
}

#[test]
fn successes_from_many_threads_are_all_counted() {
    let window = HealthWindow::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1000).for_each(|_| window.record_success(at(0))));
        }
    });
    assert_eq!(window.record_failure("timeout", at(0)).attempts, 4001);
}
