//! Rust code as a handler.
//!
//! ```
//! use reprieve::handler::closure::handler_fn;
//! use reprieve::handler_error::HandlerError;
//!
//! let handler = handler_fn(|call| async move {
//!     let body = call.message.body.as_deref().unwrap_or_default();
//!     let text = std::str::from_utf8(body).map_err(|error| HandlerError::new("validation", error.to_string()))?;
//!     println!("attempt {} on {text}", call.attempt);
//!     Ok::<(), HandlerError>(())
//! });
//! # let _ = handler;
//! ```
//!
//! The error may be anything that converts into a [`HandlerError`]: itself, an `anyhow::Error` or a boxed
//! error. The latter two have the kind `error`, unless what they hold is a [`HandlerError`].

mod convert;
#[cfg(test)]
mod tests;

use std::future::Future;

use async_trait::async_trait;

use super::{Call, Handler, panic};
use crate::handler_error::HandlerError;

/// A handler out of an asynchronous closure. A panic in it is an error of kind `panic`, with the stack trace as
/// its detail, as long as the closure's own task panics and the program does not abort on panics.
///
/// The first call puts a hook in front of the program's panic hook, which still runs; a hook that the program
/// sets later replaces ours, and panics then have no stack trace.
pub fn handler_fn<F, R, E>(function: F) -> ClosureHandler<F>
where
    F: Fn(Call) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), E>> + Send + 'static,
    E: Into<HandlerError> + 'static,
{
    ClosureHandler { function }
}

/// See [`handler_fn`].
#[derive(Debug, Clone)]
pub struct ClosureHandler<F> {
    function: F,
}

#[async_trait]
impl<F, R, E> Handler for ClosureHandler<F>
where
    F: Fn(Call) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), E>> + Send + 'static,
    E: Into<HandlerError> + 'static,
{
    async fn handle(&self, call: &Call) -> Result<(), HandlerError> {
        let call = call.clone();
        // The call itself is inside, so that a closure that panics before its first await is caught too.
        panic::caught(async move { (self.function)(call).await.map_err(Into::into) }).await?
    }
}
