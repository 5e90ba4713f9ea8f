//! Errors that closures return, as handler errors.

use crate::handler::excerpt;
use crate::handler_error::HandlerError;

impl From<anyhow::Error> for HandlerError {
    /// The [`HandlerError`] inside, where there is one, with any context as its detail; else kind `error`, the chain
    /// of causes as the text, and anyhow's report, with its backtrace where one was captured, as the detail.
    fn from(error: anyhow::Error) -> Self {
        let chain = format!("{error:#}");
        let report = format!("{error:?}");
        match error.downcast::<Self>() {
            Ok(inner) => {
                let context = (chain != inner.to_string()).then_some(chain);
                Self { detail: inner.detail.clone().or(context), ..inner }
            }
            Err(_) => plain(&chain, &report),
        }
    }
}

impl From<Box<dyn std::error::Error + Send + Sync>> for HandlerError {
    /// The [`HandlerError`] in the box, else kind `error` with the chain of causes.
    fn from(error: Box<dyn std::error::Error + Send + Sync>) -> Self {
        match error.downcast::<Self>() {
            Ok(inner) => *inner,
            Err(error) => anyhow::Error::from_boxed(error).into(),
        }
    }
}

fn plain(chain: &str, report: &str) -> HandlerError {
    let text = excerpt::first_line(chain).unwrap_or_else(|| "an error without a text".to_owned());
    let detail = excerpt::detail(report).filter(|detail| *detail != text);
    HandlerError { detail, ..HandlerError::new("error", text) }
}
