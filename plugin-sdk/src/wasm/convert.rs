//! Between the interface's types and the SDK's own.

use std::time::{Duration, SystemTime};

use super::bindings::reprieve::policy::types as wit;
use crate::duration::to_millis;
use crate::{
    Action, Failure, HandlerError, HeaderNeeds, HeaderValue, Health, Jitter, Limits, Needs, Problem, RetryPolicy,
    Route, Tier, Verdict,
};

// ===== from the host =====

impl From<wit::Route> for Route {
    fn from(route: wit::Route) -> Self {
        let tier = |tier: wit::Tier| Tier { name: tier.name, delay: Duration::from_millis(tier.delay) };
        Self {
            name: route.name,
            source: route.source,
            tiers: route.tiers.into_iter().map(tier).collect(),
            dead_letters: route.dead_letters,
            retry: route.retry.into(),
            limits: Limits {
                max_retry_delay: Duration::from_millis(route.limits.max_retry_delay),
                max_body: route.limits.max_body,
            },
            attributes: route.attributes,
        }
    }
}

impl From<wit::RetrySettings> for RetryPolicy {
    fn from(retry: wit::RetrySettings) -> Self {
        Self {
            max_attempts: retry.max_attempts,
            initial_delay: Duration::from_millis(retry.initial_delay),
            max_delay: Duration::from_millis(retry.max_delay),
            factor: retry.factor,
            jitter: match retry.jitter {
                wit::Jitter::None => Jitter::None,
                wit::Jitter::Equal => Jitter::Equal,
                wit::Jitter::Full => Jitter::Full,
            },
        }
    }
}

impl From<wit::Failure> for Failure {
    fn from(failure: wit::Failure) -> Self {
        Self {
            id: failure.id,
            key: failure.key,
            headers: failure.headers.into_iter().map(|header| (header.name, header.value.into())).collect(),
            body: failure.body,
            body_size: failure.body_size,
            content_type: failure.content_type,
            attempt: failure.attempt,
            interruptions: failure.interruptions,
            redelivered: failure.redelivered,
            tier: failure.tier,
            age: Duration::from_millis(failure.age),
            expires_in: failure.expires_in.map(Duration::from_millis),
            error: failure.error.into(),
            health: failure.health.into(),
            now: SystemTime::UNIX_EPOCH + Duration::from_millis(failure.now),
            seed: failure.seed,
            attributes: failure.attributes,
        }
    }
}

impl From<wit::Error> for HandlerError {
    fn from(error: wit::Error) -> Self {
        Self {
            kind: error.kind,
            text: error.text,
            status: error.status,
            retry_after: error.retry_after.map(Duration::from_millis),
            detail: error.detail,
            panicked: error.panicked,
            timed_out: error.timed_out,
        }
    }
}

impl From<wit::Health> for Health {
    fn from(health: wit::Health) -> Self {
        Self {
            attempts: health.attempts,
            failures: health.failures,
            retries: health.retries,
            failures_of_this_kind: health.failures_of_this_kind,
            consecutive_failures: health.consecutive_failures,
        }
    }
}

impl From<wit::HeaderValue> for HeaderValue {
    fn from(value: wit::HeaderValue) -> Self {
        match value {
            wit::HeaderValue::Null => Self::Null,
            wit::HeaderValue::Boolean(value) => Self::Bool(value),
            wit::HeaderValue::Integer(number) => Self::Integer(number),
            wit::HeaderValue::Float(number) => Self::Float(number),
            wit::HeaderValue::Text(text) => Self::Text(text),
            wit::HeaderValue::Bytes(bytes) => Self::Bytes(bytes),
            wit::HeaderValue::Timestamp(millis) => Self::Timestamp(Duration::from_millis(millis)),
            wit::HeaderValue::Json(json) => Self::Json(json),
        }
    }
}

// ===== to the host =====

impl From<Needs> for wit::Needs {
    fn from(needs: Needs) -> Self {
        Self {
            body: needs.body,
            headers: match needs.headers {
                HeaderNeeds::All => wit::HeaderNeeds::All,
                HeaderNeeds::Named(names) => wit::HeaderNeeds::Named(names),
            },
            attributes: needs.attributes,
        }
    }
}

impl From<Problem> for wit::Problem {
    fn from(problem: Problem) -> Self {
        Self { path: problem.path, message: problem.message }
    }
}

impl From<Verdict> for wit::Verdict {
    fn from(verdict: Verdict) -> Self {
        Self {
            action: match verdict.action {
                Action::Retry(wait) => wit::Action::Retry(to_millis(wait)),
                Action::Delay(delay) => wit::Action::Delay(to_millis(delay)),
                Action::DelayTo(tier) => wit::Action::DelayTo(tier),
                Action::DeadLetter(label) => wit::Action::DeadLetter(label),
                Action::Requeue(cooldown) => wit::Action::Requeue(cooldown.map(to_millis)),
                Action::Drop => wit::Action::Drop,
            },
            pause_intake: verdict.pause_intake.map(to_millis),
            reason: verdict.reason,
            headers: verdict.headers,
        }
    }
}
