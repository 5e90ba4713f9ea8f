use std::sync::Arc;

use super::*;
use crate::broker::Origin;
use crate::message::Message;

fn call(id: &str) -> Call {
    Call {
        message: Arc::new(Message::new("body").with_id(id)),
        origin: Origin::default(),
        route: "orders".into(),
        attempt: 1,
        redelivered: false,
        own_traceparent: None,
    }
}

#[inline(never)]
fn a_function_that_breaks(id: &str) {
    panic!("no stock for {id}\nsecond line");
}

#[tokio::test]
async fn a_closure_succeeds_or_fails_as_it_says() {
    let handler = handler_fn(|call| async move {
        match call.message.id.as_deref() {
            Some("good") => Ok(()),
            _ => Err(HandlerError::new("validation", "not good")),
        }
    });
    assert_eq!(handler.handle(&call("good")).await, Ok(()));
    assert_eq!(handler.handle(&call("bad")).await, Err(HandlerError::new("validation", "not good")));
}

#[tokio::test]
async fn a_panic_is_an_error_with_its_message_and_stack_trace() {
    let handler = handler_fn(|call| async move {
        tokio::task::yield_now().await;
        a_function_that_breaks(call.message.id.as_deref().unwrap_or_default());
        Ok::<_, HandlerError>(())
    });
    let error = handler.handle(&call("m-1")).await.unwrap_err();
    assert_eq!((error.kind.as_str(), error.text.as_str()), ("panic", "no stock for m-1"));
    assert!(error.panicked && !error.timed_out);
    let trace = error.detail.unwrap();
    assert!(trace.starts_with("panicked at host/src/handler/closure/tests.rs:"), "{trace}");
    assert!(trace.contains("a_function_that_breaks"), "{trace}");
}

#[tokio::test]
async fn a_panic_before_the_first_await_is_caught_too() {
    let handler = handler_fn(|call| {
        a_function_that_breaks(call.message.id.as_deref().unwrap_or_default());
        async { Ok::<_, HandlerError>(()) }
    });
    assert_eq!(handler.handle(&call("m-1")).await.unwrap_err().kind, "panic");
}

#[tokio::test]
async fn a_panic_with_no_text_is_still_an_error() {
    let handler = handler_fn(|_| async {
        std::panic::panic_any(7);
        #[allow(unreachable_code)]
        Ok::<_, HandlerError>(())
    });
    let error = handler.handle(&call("m-1")).await.unwrap_err();
    assert_eq!((error.kind.as_str(), error.text.as_str()), ("panic", "a panic without a message"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_that_panic_side_by_side_keep_their_own_messages() {
    let handler = Arc::new(handler_fn(|call| async move {
        tokio::task::yield_now().await;
        a_function_that_breaks(call.message.id.as_deref().unwrap_or_default());
        Ok::<_, HandlerError>(())
    }));
    let runs: Vec<_> = (0..8)
        .map(|number| {
            let handler = Arc::clone(&handler);
            tokio::spawn(async move { handler.handle(&call(&number.to_string())).await.unwrap_err() })
        })
        .collect();
    for (number, run) in runs.into_iter().enumerate() {
        let error = run.await.unwrap();
        assert_eq!(error.text, format!("no stock for {number}"));
        assert!(error.detail.is_some_and(|trace| trace.contains("a_function_that_breaks")));
    }
}

#[tokio::test]
async fn an_anyhow_error_is_told_with_its_causes() {
    let handler = handler_fn(|_| async {
        let cause = std::io::Error::other("disk full");
        Err::<(), _>(anyhow::Error::new(cause).context("cannot store the order"))
    });
    let error = handler.handle(&call("m-1")).await.unwrap_err();
    assert_eq!((error.kind.as_str(), error.text.as_str()), ("error", "cannot store the order: disk full"));
}

#[tokio::test]
async fn a_handler_error_inside_another_error_keeps_its_kind() {
    let handler = handler_fn(|_| async {
        let inner = HandlerError { retry_after: Some(5), ..HandlerError::new("rate-limit", "slow down") };
        Err::<(), _>(anyhow::Error::new(inner).context("while paying"))
    });
    let error = handler.handle(&call("m-1")).await.unwrap_err();
    assert_eq!((error.kind.as_str(), error.text.as_str()), ("rate-limit", "slow down"));
    assert_eq!(error.retry_after, Some(5));
    assert_eq!(error.detail.as_deref(), Some("while paying: rate-limit: slow down"));

    let boxed: Box<dyn std::error::Error + Send + Sync> = HandlerError::new("validation", "no").into();
    assert_eq!(HandlerError::from(boxed), HandlerError::new("validation", "no"));
    let boxed: Box<dyn std::error::Error + Send + Sync> = "plain".into();
    // Its detail is anyhow's report, which has a backtrace or not as the environment says.
    let error = HandlerError::from(boxed);
    assert_eq!((error.kind.as_str(), error.text.as_str()), ("error", "plain"));
}
