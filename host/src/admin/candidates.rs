//! What a person does about a candidate.

use axum::extract::{Path, State};
use axum::http::StatusCode;

use super::AdminState;
use crate::policy::registry::CandidateAction;

/// 200 with what was done, 409 with why it cannot be, 404 for an action that there is not.
pub(super) async fn steer(
    State(state): State<AdminState>,
    Path((route, action)): Path<(String, String)>,
) -> (StatusCode, String) {
    let action = match action.as_str() {
        "promote" => CandidateAction::Promote,
        "hold" => CandidateAction::Hold,
        "resume" => CandidateAction::Resume,
        "rollback" => CandidateAction::RollBack,
        other => {
            let text = format!("there is no action {other:?}; there are promote, hold, resume and rollback\n");
            return (StatusCode::NOT_FOUND, text);
        }
    };
    match state.source.steer(route, action).await {
        Ok(said) => (StatusCode::OK, format!("{said}\n")),
        Err(why) => (StatusCode::CONFLICT, format!("{why}\n")),
    }
}
