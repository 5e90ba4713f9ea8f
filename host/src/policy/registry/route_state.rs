//! What the registry knows of one route, and the one place that decides what becomes live.

mod candidate;
mod fall_back;
mod refused;

use std::sync::Arc;
use std::time::Instant;

use super::RoutePolicy;
use super::admitted::{Admitted, admit};
use super::announce;
use super::handle::Slot;
use super::load::{keep, load};
use super::reloader::Tools;
use crate::event::EventKind;
use crate::policy::embedded;
use crate::policy::engine::Revision;
use crate::policy::folder::PolicyFile;
use crate::policy::history::History;
use crate::policy::last_good::LastGood;
use crate::policy::status::{LastError, LiveStatus, RoutePolicyStatus, Source};
use crate::policy::trust::FileDigest;
use crate::timestamp::Timestamp;
use candidate::{NotTried, Tried};
use refused::{Pair, Refusal, Refused};

/// What is where the route's policy should be.
#[derive(Debug, Clone)]
pub(super) enum Found {
    File(Source, PolicyFile),
    Missing(String),
    Unusable(String),
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
    /// The digest of the file in the folder, as it was last seen.
    in_folder: Option<String>,
    /// What the state folder knows of earlier versions; `None` before it was read.
    history: Option<History>,
    tried: Option<Tried>,
    not_tried: Option<NotTried>,
}

struct Live {
    pair: Pair,
    since: Timestamp,
    revision: Arc<Revision>,
    /// What the revision was made from.
    admitted: Admitted,
}

impl RouteState {
    pub(super) fn new(slot: Arc<Slot>, configured: RoutePolicy) -> Self {
        let configured = Arc::new(configured);
        Self {
            slot,
            configured,
            generation: 0,
            live: None,
            refused: None,
            unkept: None,
            in_folder: None,
            history: None,
            tried: None,
            not_tried: None,
        }
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
        (self.refused, self.not_tried) = (None, None);
        if *self.configured != configured {
            let before = std::mem::replace(&mut self.configured, Arc::new(configured));
            // Another plan for candidates is no other policy.
            let as_before = RoutePolicy { candidate: before.candidate.clone(), ..RoutePolicy::clone(&self.configured) };
            if as_before == *before {
                return;
            }
            self.generation += 1;
            let (before, now) = (before.policy_digest.as_ref(), self.configured.policy_digest.as_ref());
            if before != now {
                announce::pin(self.route(), self.policy_name(), before, now);
            }
        }
    }

    /// Says at the start whether the route is pinned.
    pub(super) fn announce_pin(&self) {
        announce::pin(self.route(), self.policy_name(), None, self.configured.policy_digest.as_ref());
    }

    /// Makes the pair of `found` and the configured settings live, unless it is already or was rejected before.
    /// Returns whether to look again soon.
    pub(super) async fn look(&mut self, found: &Found, patience: Patience, tools: &Tools) -> bool {
        self.remember(tools).await;
        if let Found::File(Source::Folder | Source::Embedded, file) = found {
            self.in_folder = Some(file.digest.clone());
        }
        let promoted = self.promoted(found, tools).await;
        let found = promoted.as_ref().unwrap_or(found);
        let admitted = self.admitted(found, tools).await;
        let content = match &admitted {
            Ok(admitted) => &admitted.policy().file.digest,
            Err(text) => text,
        };
        let pair = Pair { content: content.clone(), generation: Some(self.generation) };
        if let (Ok(admitted), Some(live)) = (&admitted, self.live.as_mut().filter(|live| live.pair == pair)) {
            let signature = &admitted.policy().file.signature;
            // The same bytes with another signature, by a new key perhaps, are no swap, but a restart needs the signature.
            let signed_anew = signature.is_some() && *signature != live.admitted.policy().file.signature;
            live.admitted = admitted.clone();
            self.refused = None;
            if signed_anew || self.unkept.is_some() {
                self.keep_later(tools).await;
            }
            return false;
        }
        let known = self.refused.take().filter(|refused| refused.pair == pair);
        let mut refused = match known {
            Some(known) if !known.may_pass => known,
            known => match self.try_admitted(admitted, pair.clone(), tools).await {
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
            self.tell_of_lost_trust(tools).await;
        }
        look_again
    }

    /// What was found, with the configured settings, or why it cannot be loaded.
    async fn admitted(&self, found: &Found, tools: &Tools) -> Result<Admitted, String> {
        let (source, file) = match found {
            Found::File(source, file) => (*source, file.clone()),
            Found::Missing(text) | Found::Unusable(text) => return Err(text.clone()),
        };
        let settings = self.configured.settings.clone();
        if let Some(refusal) = self.history.as_ref().and_then(|history| history.refusal(&file.digest)) {
            return Err(format!("{}: {refusal}", tools.title(self.policy_name(), source)));
        }
        let policy = LastGood { policy: self.policy_name().to_owned(), file, settings };
        admit(tools, &self.configured, source, policy).await
    }

    async fn try_admitted(
        &mut self,
        admitted: Result<Admitted, String>,
        pair: Pair,
        tools: &Tools,
    ) -> Result<(), Refusal> {
        self.activate(admitted.map_err(Refusal::of_the_pair)?, pair, tools).await
    }

    fn policy_name(&self) -> &str {
        self.policy().unwrap_or(embedded::STANDARD_NAME)
    }

    /// Loads, keeps, swaps.
    async fn activate(&mut self, admitted: Admitted, pair: Pair, tools: &Tools) -> Result<(), Refusal> {
        let started = Instant::now();
        let loaded = load(tools, &self.configured, &admitted).await;
        let policy = admitted.policy();
        let title = || tools.title(&policy.policy, admitted.source());
        let revision = loaded.map_err(|text| Refusal::of_the_pair(format!("{}: {text}", title())))?;
        // A swap that could not be undone by a restart is not made: the route has a policy, and the operator time.
        // A route without one is better off judging now than pausing for a full disk.
        self.unkept = match keep(&tools.store, self.route(), policy).await {
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
            digest = %FileDigest::of(&policy.file),
            signed_by = admitted.signed_by().map(tracing::field::display),
            took = ?started.elapsed(),
            "policy loaded"
        );
        let to = revision.maker().as_ref().clone();
        let file = candidate::facts(&admitted);
        tools.observer.emit(self.route(), EventKind::PolicySwapped { from: before, to, file });
        self.live = Some(Live { pair, since: Timestamp::now(), revision, admitted });
        Ok(())
    }

    /// Keeps what is live already.
    async fn keep_later(&mut self, tools: &Tools) {
        let Some(live) = &self.live else { return };
        self.unkept = match keep(&tools.store, &self.slot.route, live.admitted.policy()).await {
            Ok(()) => None,
            Err(text) => {
                let at = self.unkept.take().map_or_else(Timestamp::now, |before| before.at);
                Some(LastError { at, text })
            }
        };
    }

    fn tell(&self, error: &str) {
        let live = self.live.as_ref().map(|live| live.revision.maker().to_string());
        tracing::warn!(route = %self.route(), live, error, "the policy was not taken");
    }

    pub(super) fn status(&self) -> RoutePolicyStatus {
        let refused = self.refused.as_ref().filter(|refused| refused.declared).map(|refused| &refused.error);
        let live = self.live.as_ref();
        RoutePolicyStatus {
            route: self.route().to_string(),
            policy: live.map_or_else(|| self.policy_name(), |live| &live.admitted.policy().policy).to_owned(),
            policy_digest: self.configured.policy_digest.clone(),
            live: live.map(|live| LiveStatus {
                revision: live.revision.maker().revision.clone(),
                file_digest: live.revision.file_digest().to_owned(),
                live_since: live.since,
                source: live.admitted.source(),
                signed_by: live.admitted.signed_by(),
                start: live.revision.start(),
            }),
            candidate: self.candidate_status(),
            candidate_error: self.candidate_error(),
            last_error: refused.or(self.unkept.as_ref()).cloned(),
        }
    }
}
