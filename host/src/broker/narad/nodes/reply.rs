//! What came back.

use bytes::Bytes;
use reqwest::StatusCode;
use serde::Deserialize;

use super::address::Address;

/// Of a text that is no error of Narad's own, so much is shown.
const SHOWN: usize = 200;

/// A node's answer.
pub(in crate::broker::narad) struct Reply {
    pub(in crate::broker::narad) status: StatusCode,
    pub(in crate::broker::narad) body: Bytes,
    pub(super) node: usize,
}

impl Reply {
    /// This node cannot do it now, and another may.
    pub(in crate::broker::narad) fn is_trouble(&self) -> bool {
        self.status.is_server_error() || self.status == StatusCode::MISDIRECTED_REQUEST
    }

    /// The body as a `T`.
    pub(in crate::broker::narad) fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, String> {
        serde_json::from_slice(&self.body).map_err(|error| format!("it answered something else than expected: {error}"))
    }

    /// The status and what it says, which is JSON as a rule, and plain text where a request was forwarded.
    pub(in crate::broker::narad) fn shown(&self) -> String {
        #[derive(Deserialize)]
        struct Problem {
            error: String,
        }
        let said = match serde_json::from_slice::<Problem>(&self.body) {
            Ok(problem) => problem.error,
            Err(_) => String::from_utf8_lossy(&self.body).into_owned(),
        };
        let said = said.trim().escape_debug().to_string();
        let said = &said[..said.floor_char_boundary(SHOWN)];
        let separator = if said.is_empty() { "" } else { ": " };
        format!("{}{separator}{said}", self.status.as_u16())
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::broker::narad) enum NoReply {
    /// The request never reached a node.
    #[error("{0}")]
    Unsent(String),
    /// It may have, and may have been carried out.
    #[error("{0}")]
    Unanswered(String),
}

impl NoReply {
    /// The URL stays out: a receipt handle or key is in it.
    pub(super) fn read(address: &Address, error: reqwest::Error) -> Self {
        let (unsent, timed_out) = (error.is_connect(), error.is_timeout());
        let error = error.without_url();
        let mut deepest: &dyn std::error::Error = &error;
        while let Some(source) = deepest.source() {
            deepest = source;
        }
        match (unsent, timed_out) {
            (true, _) => Self::Unsent(format!("no connection to {address} ({deepest})")),
            (false, true) => Self::Unanswered(format!("no answer from {address} in time")),
            (false, false) => Self::Unanswered(format!("no answer from {address} ({deepest})")),
        }
    }
}
