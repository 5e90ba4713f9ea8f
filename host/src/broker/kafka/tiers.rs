//! The topics that records of one route wait on.

use crate::topic::{TIER_QUEUE_PREFIX, Tier};

/// Such as `reprieve.tier.orders.30s`.
pub(super) fn topic(route: &str, tier: &Tier) -> String {
    format!("{TIER_QUEUE_PREFIX}{route}.{}", tier.name)
}

/// On a record of a tier: the topic that it returns to. Ours alone, and gone when the record comes out.
pub(super) const BACK_TO: &str = "reprieve-back-to";
