//! The same work by a route and by a bare client, in turn.

use std::time::Duration;

use crate::table::{Table, median};

const ROUNDS: usize = 7;

/// What is compared, and what the route is held against.
pub(super) struct Comparison {
    pub(super) what: &'static str,
    pub(super) messages: usize,
    /// The part of the bare client's speed that the route is to reach.
    pub(super) goal: f64,
}

impl Comparison {
    /// First the route each time, which declares what the other then uses.
    pub(super) async fn measure(
        &self,
        table: &mut Table,
        mut route: impl AsyncFnMut() -> anyhow::Result<Duration>,
        mut bare: impl AsyncFnMut() -> anyhow::Result<Duration>,
    ) -> anyhow::Result<()> {
        let Self { what, goal, .. } = self;
        let (mut ratios, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        for round in 1..=ROUNDS {
            let with = self.rate(route().await?);
            let without = self.rate(bare().await?);
            eprintln!("{what}, round {round}: bare {without:.0}/s, route {with:.0}/s");
            ratios.push(with / without);
            ours.push(with);
            theirs.push(without);
        }
        table.row(&format!("{what}, bare client, messages a second"), format!("{:.0}", median(&mut theirs)), "-", true);
        table.row(&format!("{what}, route, messages a second"), format!("{:.0}", median(&mut ours)), "-", true);
        let ratio = median(&mut ratios);
        let wanted = format!(">= {goal:.2}");
        table.row(&format!("{what}, route / bare, median of seven"), format!("{ratio:.2}"), &wanted, ratio >= *goal);
        Ok(())
    }

    fn rate(&self, took: Duration) -> f64 {
        self.messages as f64 / took.as_secs_f64()
    }
}
