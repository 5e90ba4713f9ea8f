//! What groups are called where nobody says it.

use crate::broker::Plan;

/// The group that consumes a route's source and tiers.
pub(super) fn of_route(plan: &Plan) -> String {
    plan.group.clone().unwrap_or_else(|| format!("reprieve.{}", plan.route))
}

/// The group that keeps how far the dead letters of a topic were put back.
pub(super) fn of_redrive(topic: &str) -> String {
    format!("reprieve.redrive.{topic}")
}
