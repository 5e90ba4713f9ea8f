//! What a route runs on when what it should run on was refused.

use super::refused::Pair;
use super::{Found, RouteState};
use crate::policy::last_good::LastGood;
use crate::policy::registry::admitted::admit;
use crate::policy::registry::load::{read_kept, with_settings};
use crate::policy::registry::reloader::Tools;
use crate::policy::status::Source;

impl RouteState {
    /// After something was rejected: what else the route can run on. Where it runs already, that goes on, with new
    /// settings where only the file was taken away.
    pub(super) async fn fall_back(&mut self, found: &Found, tools: &Tools) {
        let missing = matches!(found, Found::Missing(_));
        let options = match &self.live {
            Some(live) if missing && live.pair.generation != Some(self.generation) => {
                Vec::from_iter(self.reconfigured(live.admitted.policy()))
            }
            Some(_) => return,
            None => self.kept_options(missing, tools).await,
        };
        for policy in options {
            let name = policy.policy.clone();
            let configured = name == self.policy_name() && policy.settings == self.configured.settings;
            let generation = configured.then_some(self.generation);
            let pair = Pair { content: policy.file.digest.clone(), generation };
            let admitted = admit(tools, &self.configured, Source::LastGood, policy).await;
            match self.try_admitted(admitted, pair, tools).await {
                Ok(()) => {
                    tracing::warn!(route = %self.route(), policy = name, "the route runs on its last good policy");
                    return;
                }
                Err(refusal) => {
                    tracing::warn!(route = %self.route(), policy = name, error = refusal.text, "the last good policy was rejected");
                    if let Some(refused) = &mut self.refused {
                        let more = format!("; and {}", refusal.text);
                        refused.error.text.push_str(&more);
                    }
                }
            }
        }
        if self.live.is_none() {
            tracing::error!(route = %self.route(), "the route has no policy and pauses until one can be loaded");
        }
    }

    /// What is live is not taken away, since a route without a policy helps nobody. Where it is no longer trusted, this is
    /// said beside what was refused.
    pub(super) async fn tell_of_lost_trust(&mut self, tools: &Tools) {
        let Some(live) = &self.live else { return };
        let (source, policy) = (live.admitted.source(), live.admitted.policy().clone());
        let Err(error) = admit(tools, &self.configured, source, policy).await else { return };
        let meanwhile =
            "the live policy is no longer trusted; it judges until another is taken, but not after a restart";
        tracing::warn!(route = %self.route(), error, "{meanwhile}");
        // What may pass is compared by its text when it is tried again.
        if let Some(refused) = self.refused.as_mut().filter(|refused| !refused.may_pass) {
            refused.error.text.push_str("; ");
            refused.error.text.push_str(meanwhile);
        }
    }

    /// What was kept over the restart, best first.
    async fn kept_options(&self, missing: bool, tools: &Tools) -> Vec<LastGood> {
        match read_kept(&tools.store, self.route(), tools.engine.limits().file_size as u64).await {
            Ok(Some(kept)) => {
                let mut options = Vec::from_iter(self.reconfigured(&kept));
                // New settings may be meant for the file that was refused. Without a file, they are meant for this one.
                options.insert(if missing { options.len() } else { 0 }, kept);
                options.dedup();
                options
            }
            Ok(None) => Vec::new(),
            Err(error) => {
                tracing::warn!(route = %self.route(), error, "the last good policy cannot be used");
                Vec::new()
            }
        }
    }

    /// The kept policy with the settings of today, where the route still names it.
    fn reconfigured(&self, kept: &LastGood) -> Option<LastGood> {
        let named = self.policy_name() == kept.policy;
        named.then(|| with_settings(kept, &self.configured.settings))
    }
}
