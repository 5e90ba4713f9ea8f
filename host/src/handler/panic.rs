//! Panics of handlers, caught with their stack trace.

use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use futures_util::FutureExt;

use crate::handler::excerpt;
use crate::handler_error::HandlerError;

tokio::task_local! {
    /// Where the hook leaves the trace of a panic in a handler. The hook runs on the panicking thread, inside the
    /// poll of the handler's own task, so handlers that run side by side cannot mix their traces up.
    static TRACE: Cell<Option<String>>;
}

/// The future's result, or its panic as an error.
///
/// What a panic leaves behind in the closure's own state is the closure's affair, as with any thread.
pub(crate) async fn caught<T>(future: impl Future<Output = T>) -> Result<T, HandlerError> {
    install_hook();
    let watched = async {
        match AssertUnwindSafe(future).catch_unwind().await {
            Ok(value) => Ok(value),
            Err(payload) => Err(error(&*payload, TRACE.with(Cell::take))),
        }
    };
    TRACE.scope(Cell::new(None), watched).await
}

fn error(payload: &(dyn Any + Send), trace: Option<String>) -> HandlerError {
    let message = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
    let text = message.and_then(excerpt::first_line).unwrap_or_else(|| "a panic without a message".to_owned());
    HandlerError { panicked: true, detail: trace, ..HandlerError::new("panic", text) }
}

fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // Outside of a handler there is nowhere to keep a trace, and none is taken.
            let _ = TRACE.try_with(|slot| slot.set(excerpt::detail(&trace(info))));
            previous(info);
        }));
    });
}

fn trace(info: &PanicHookInfo<'_>) -> String {
    let place = info.location().map(|place| format!("panicked at {place}\n")).unwrap_or_default();
    format!("{place}{}", Backtrace::force_capture())
}
