//! What the registry knows of one route, and the one place that decides what becomes live.

mod fall_back;
mod refused;

use std::sync::Arc;
use std::time::Instant;

use super::RoutePolicy;
use super::handle::Slot;
use super::load::{keep, load};
use super::reloader::Tools;
use crate::event::EventKind;
use crate::policy::embedded;
use crate::policy::engine::Revision;
use crate::policy::folder::PolicyFile;
use crate::policy::last_good::LastGood;
use crate::policy::status::{LastError, LiveStatus, RoutePolicyStatus, Source};
use crate::timestamp::Timestamp;
use refused::{Pair, Refusal, Refused};

/// What is where the route's policy should be.
#[derive(Debug, Clone)]
pub(super) enum Found {
    File(Source, PolicyFile),
    Missing(String),
    Unusable(String),
}

impl Found {
    /// The file's digest, or why there is none.
    fn identity(&self) -> &str {
        match self {
            Self::File(_, file) => &file.digest,
            Self::Missing(text) | Self::Unusable(text) => text,
        }
    }
}

/// Whether what cannot be used may still be on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// A file may be being written: look again after a while before saying anything.
    LookAgain,
    /// Somebody waits for the answer.
    None,
}

/// One route's configuration, what judges on it, and what was refused.
pub(super) struct RouteState {
    slot: Arc<Slot>,
    configured: Arc<RoutePolicy>,
    generation: u64,
    live: Option<Live>,
    refused: Option<Refused>,
    /// Why what is live could not be kept for the next start.
    unkept: Option<LastError>,
}

struct Live {
    pair: Pair,
    source: Source,
    since: Timestamp,
    revision: Arc<Revision>,
    /// What the revision was made from.
    policy: LastGood,
}

impl RouteState {
    pub(super) fn new(slot: Arc<Slot>, configured: RoutePolicy) -> Self {
        let configured = Arc::new(configured);
        Self { slot, configured, generation: 0, live: None, refused: None, unkept: None }
    }

    pub(super) fn route(&self) -> &Arc<str> {
        &self.slot.route
    }

    /// The file that the route names in the policies folder.
    pub(super) fn policy(&self) -> Option<&str> {
        self.configured.policy.as_deref()
    }

    /// Takes a new configuration. What was rejected is tried again even where nothing changed.
    pub(super) fn configure(&mut self, configured: RoutePolicy) {
        self.refused = None;
        if *self.configured != configured {
            self.configured = Arc::new(configured);
            self.generation += 1;
        }
    }

    /// Makes the pair of `found` and the configured settings live, unless it is already or was rejected before.
    /// Returns whether to look again soon.
    pub(super) async fn look(&mut self, found: &Found, patience: Patience, tools: &Tools) -> bool {
        let pair = Pair { content: found.identity().to_owned(), generation: Some(self.generation) };
        if let Some(live) = self.live.as_mut().filter(|live| live.pair == pair) {
            if let Found::File(source, _) = found {
                live.source = *source;
            }
            self.refused = None;
            self.keep_later(tools).await;
            return false;
        }
        let known = self.refused.take().filter(|refused| refused.pair == pair);
        let mut refused = match known {
            Some(known) if !known.may_pass => known,
            known => match self.try_found(found, &pair, tools).await {
                Ok(()) => return false,
                Err(refusal) => Refused::again(known, pair, refusal),
            },
        };
        let due = patience == Patience::None || refused.since.elapsed() >= tools.debounce;
        let newly = due && !refused.declared;
        refused.declared |= due;
        if newly {
            self.tell(&refused.error.text);
        }
        let look_again = !refused.declared;
        self.refused = Some(refused);
        if newly {
            self.fall_back(found, tools).await;
        }
        look_again
    }

    async fn try_found(&mut self, found: &Found, pair: &Pair, tools: &Tools) -> Result<(), Refusal> {
        let (source, file) = match found {
            Found::File(source, file) => (*source, file),
            Found::Missing(text) | Found::Unusable(text) => {
                return Err(Refusal::of_the_pair(text.clone()));
            }
        };
        let policy = LastGood {
            policy: self.policy_name().to_owned(),
            file: file.clone(),
            settings: self.configured.settings.clone(),
        };
        self.activate(policy, source, pair.clone(), tools).await
    }

    fn policy_name(&self) -> &str {
        self.policy().unwrap_or(embedded::STANDARD_NAME)
    }

    /// Loads, keeps, swaps.
    async fn activate(&mut self, policy: LastGood, source: Source, pair: Pair, tools: &Tools) -> Result<(), Refusal> {
        let started = Instant::now();
        let loaded = load(&tools.engine, &self.configured, &policy).await;
        let title = || tools.title(&policy.policy, source);
        let revision = loaded.map_err(|text| Refusal::of_the_pair(format!("{}: {text}", title())))?;
        // A swap that could not be undone by a restart is not made: the route has a policy, and the operator time.
        // A route without one is better off judging now than pausing for a full disk.
        self.unkept = match keep(&tools.store, self.route(), &policy).await {
            Ok(()) => None,
            Err(text) if self.live.is_some() => {
                let text = format!("{} was not activated: {text}", revision.maker());
                return Err(Refusal { text, may_pass: true });
            }
            Err(text) => {
                tracing::warn!(route = %self.route(), error = text, "the policy goes live, but a restart could not fall back on it");
                Some(LastError { at: Timestamp::now(), text })
            }
        };
        let before = self.slot.swap(Arc::clone(&revision)).map(|before| before.maker().as_ref().clone());
        tracing::info!(
            route = %self.route(),
            policy = policy.policy,
            revision = revision.maker().revision,
            took = ?started.elapsed(),
            "policy loaded"
        );
        let to = revision.maker().as_ref().clone();
        tools.observer.emit(self.route(), EventKind::PolicySwapped { from: before, to });
        self.live = Some(Live { pair, source, since: Timestamp::now(), revision, policy });
        Ok(())
    }

    /// Tries again to keep what went live without.
    async fn keep_later(&mut self, tools: &Tools) {
        let (Some(live), Some(unkept)) = (&self.live, &mut self.unkept) else { return };
        match keep(&tools.store, &self.slot.route, &live.policy).await {
            Ok(()) => self.unkept = None,
            Err(text) => unkept.text = text,
        }
    }

    fn tell(&self, error: &str) {
        let live = self.live.as_ref().map(|live| live.revision.maker().to_string());
        tracing::warn!(route = %self.route(), live, error, "the policy was not taken");
    }

    pub(super) fn status(&self) -> RoutePolicyStatus {
        let refused = self.refused.as_ref().filter(|refused| refused.declared).map(|refused| &refused.error);
        RoutePolicyStatus {
            route: self.route().to_string(),
            policy: self.live.as_ref().map_or_else(|| self.policy_name(), |live| &live.policy.policy).to_owned(),
            live: self.live.as_ref().map(|live| LiveStatus {
                revision: live.revision.maker().revision.clone(),
                file_digest: live.revision.file_digest().to_owned(),
                live_since: live.since,
                source: live.source,
                start: live.revision.start(),
            }),
            last_error: refused.or(self.unkept.as_ref()).cloned(),
        }
    }
}
