//! Who may ask for what.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use super::AdminState;
use crate::config::Secret;

/// Probes cannot be given a secret everywhere, and these answer without one.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];

impl AdminState {
    /// Whether a request with these headers may know and do everything here.
    pub(super) fn admits(&self, headers: &HeaderMap) -> bool {
        self.token.as_ref().is_none_or(|token| bearer(headers).is_some_and(|given| is_same(given, token)))
    }
}

/// Lets a request through that has the token, or needs none.
pub(super) async fn demand(State(state): State<AdminState>, request: Request, next: Next) -> Response {
    if OPEN.contains(&request.uri().path()) || state.admits(request.headers()) {
        return next.run(request).await;
    }
    let text = "send the token under `admin_token` in [host], as `Authorization: Bearer TOKEN`\n";
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], text).into_response()
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.as_bytes().split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token)
}

/// In a time that says nothing of either: digests are of one length, and all of their bytes are looked at.
fn is_same(given: &[u8], token: &Secret) -> bool {
    let (given, token) = (Sha256::digest(given), Sha256::digest(token.expose()));
    given.iter().zip(&token).fold(0, |differences, (one, other)| differences | (one ^ other)) == 0
}
