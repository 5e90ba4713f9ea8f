//! A route's candidate: when its trial begins, and what it comes to.

use std::sync::Arc;
use std::time::Instant;

use super::refused::Pair;
use super::{Found, Patience, RouteState};
use crate::event::{CandidateStep, EventKind, SwappedFile};
use crate::policy::candidate::{CandidateMode, Trial, Turn, percent};
use crate::policy::history::{History, Previous, Promoted};
use crate::policy::last_good::LastGood;
use crate::policy::registry::CandidateAction;
use crate::policy::registry::admitted::{Admitted, admit};
use crate::policy::registry::load::{keep_history, load, read_history, read_kept, read_previous};
use crate::policy::registry::reloader::Tools;
use crate::policy::status::{CandidateStatus, LastError, Source};
use crate::timestamp::Timestamp;

/// A candidate that is tried, and what it was made from.
pub(super) struct Tried {
    pub(super) trial: Arc<Trial>,
    admitted: Admitted,
    generation: u64,
}

/// A candidate that is not tried.
pub(super) struct NotTried {
    /// The file's digest, or why there is none; with the route's generation.
    pair: Pair,
    error: LastError,
    since: Instant,
    declared: bool,
}

impl RouteState {
    /// The candidate's file, without `.wasm`.
    pub(in crate::policy::registry) fn candidate_name(&self) -> String {
        let configured = self.configured.candidate.policy.clone();
        configured.unwrap_or_else(|| format!("{}.next", self.policy_name()))
    }

    pub(super) fn candidate_status(&self) -> Option<CandidateStatus> {
        self.tried.as_ref().map(|tried| CandidateStatus::new(&tried.trial))
    }

    pub(super) fn candidate_error(&self) -> Option<LastError> {
        self.not_tried.as_ref().filter(|not_tried| not_tried.declared).map(|not_tried| not_tried.error.clone())
    }

    /// Reads what the state folder says of earlier candidates, once.
    pub(super) async fn remember(&mut self, tools: &Tools) {
        if self.history.is_some() {
            return;
        }
        let history = read_history(&tools.store, self.route()).await.unwrap_or_else(|error| {
            tracing::warn!(route = %self.route(), error, "which files were rolled back, and which versions were live before, is not known");
            Default::default()
        });
        self.history = Some(history);
    }

    /// The promoted candidate, where the file in the folder is still the one that it was promoted past.
    pub(super) async fn promoted(&mut self, found: &Found, tools: &Tools) -> Option<Found> {
        let Found::File(_, file) = found else { return None };
        let promoted = self.history.as_ref()?.promoted.clone()?;
        if promoted.instead_of != file.digest {
            return None;
        }
        let live = self.live.as_ref().map(|live| &live.admitted.policy().file);
        if let Some(live) = live.filter(|live| live.digest == promoted.digest) {
            return Some(Found::File(Source::Promoted, live.clone()));
        }
        let kept =
            read_kept(&tools.store, self.route(), tools.engine.limits().file_size as u64).await.ok().flatten()?;
        (kept.file.digest == promoted.digest).then(|| Found::File(Source::Promoted, kept.file))
    }

    /// Begins, goes on with or ends the trial of what is there. Returns whether to look again soon.
    pub(in crate::policy::registry) async fn look_at_candidate(
        &mut self,
        found: Option<Found>,
        patience: Patience,
        tools: &Tools,
    ) -> bool {
        let Some(live) = self.live.as_ref().map(|live| live.revision.file_digest().to_owned()) else { return false };
        let Some(found) = found else {
            self.not_tried = None;
            return self.withdraw("its file is gone", tools);
        };
        if matches!(&found, Found::File(_, file) if file.digest == live) {
            self.not_tried = None;
            return self.withdraw("it is the live policy", tools);
        }
        // Each time: trust may be lost or won while the file is the same.
        let admitted = self.admitted_candidate(found, tools).await;
        let content = match &admitted {
            Ok(admitted) => admitted.policy().file.digest.clone(),
            Err(text) => text.clone(),
        };
        let pair = Pair { content, generation: Some(self.generation) };
        if let (Ok(admitted), Some(tried)) = (&admitted, &mut self.tried)
            && tried.admitted.policy().file.digest == pair.content
            && tried.generation == self.generation
            && tried.trial.plan == self.configured.candidate
        {
            tried.admitted = admitted.clone();
            tried.trial.try_promotion_again();
            self.not_tried = None;
            return false;
        }
        let known = self.not_tried.take().filter(|known| known.pair == pair);
        if known.as_ref().is_some_and(|known| known.declared) {
            self.not_tried = known;
            return false;
        }
        let error = match self.try_candidate(admitted, tools).await {
            Ok(()) => return false,
            Err(error) => error,
        };
        let mut not_tried = known.unwrap_or_else(|| NotTried {
            pair,
            error: LastError { at: Timestamp::now(), text: error },
            since: Instant::now(),
            declared: false,
        });
        not_tried.declared = patience == Patience::None || not_tried.since.elapsed() >= tools.debounce;
        let (declared, reason) = (not_tried.declared, not_tried.error.text.clone());
        self.not_tried = Some(not_tried);
        if declared {
            self.withdraw(&reason, tools);
            let (maker, file) = (None, None);
            let step = CandidateStep::Rejected;
            self.emit(tools, EventKind::CandidateChanged { step, maker, file, decisions: 0, faults: 0, reason });
        }
        !declared
    }

    /// What may be tried, or why it may not.
    async fn admitted_candidate(&self, found: Found, tools: &Tools) -> Result<Admitted, String> {
        let (source, file) = match found {
            Found::File(source, file) => (source, file),
            Found::Missing(text) | Found::Unusable(text) => return Err(text),
        };
        let (name, settings) = (self.candidate_name(), self.configured.settings.clone());
        let refusal = |history: &History| history.refusal(&file.digest).or_else(|| history.is_spent(&file.digest));
        if let Some(refusal) = self.history.as_ref().and_then(refusal) {
            return Err(format!("{}: {refusal}", tools.title(&name, source)));
        }
        admit(tools, &self.configured, source, LastGood { policy: name, file, settings }).await
    }

    async fn try_candidate(&mut self, admitted: Result<Admitted, String>, tools: &Tools) -> Result<(), String> {
        let admitted = admitted?;
        let title = || tools.title(&admitted.policy().policy, admitted.source());
        let revision =
            load(tools, &self.configured, &admitted).await.map_err(|error| format!("{}: {error}", title()))?;
        self.withdraw("another file took its place", tools);
        let plan = self.configured.candidate.clone();
        let reason = match plan.mode {
            CandidateMode::Shadow => "it is asked beside the live policy, and judges nothing".to_owned(),
            CandidateMode::Canary => format!("it judges {} of the messages", percent(plan.share)),
        };
        let trial = Arc::new(Trial::new(self.route(), revision, plan, &tools.observer, Arc::clone(&tools.due)));
        self.slot.candidate.store(Some(Arc::clone(&trial)));
        self.tried = Some(Tried { trial, admitted, generation: self.generation });
        self.not_tried = None;
        self.tell_of_trial(CandidateStep::Began, reason, tools);
        Ok(())
    }

    /// Ends the trial, if there is one. Always `false`: there is nothing to look at again.
    fn withdraw(&mut self, reason: &str, tools: &Tools) -> bool {
        if self.tried.is_some() {
            self.tell_of_trial(CandidateStep::Withdrawn, reason.to_owned(), tools);
            self.end_trial();
        }
        false
    }

    fn end_trial(&mut self) -> Option<Tried> {
        self.slot.candidate.store(None);
        let tried = self.tried.take();
        if let Some(tried) = &tried {
            tried.trial.end();
        }
        tried
    }

    /// Does what the trial has come to by itself.
    pub(in crate::policy::registry) async fn take_turn(&mut self, tools: &Tools) {
        let result = match self.tried.as_ref().and_then(|tried| tried.trial.turn()) {
            None => return,
            Some(Turn::RollBack(reason)) => self.roll_back_candidate(&reason, tools).await,
            Some(Turn::Promote(reason)) => self.promote(&reason, tools).await,
        };
        let Err(error) = result else { return };
        tracing::error!(route = %self.route(), error, "the candidate could be neither promoted nor rolled back for good");
        // It goes on as it is. Loading it again after each of its decisions would help nobody.
        if let Some(tried) = &self.tried {
            tried.trial.put_off_promotion();
            let content = tried.admitted.policy().file.digest.clone();
            let text = format!("the candidate was not promoted, which is tried again with the next scan: {error}");
            self.not_tried = Some(NotTried {
                pair: Pair { content, generation: Some(self.generation) },
                error: LastError { at: Timestamp::now(), text },
                since: Instant::now(),
                declared: true,
            });
        }
    }

    /// Does what a person wants.
    pub(in crate::policy::registry) async fn steer(
        &mut self,
        action: CandidateAction,
        tools: &Tools,
    ) -> Result<String, String> {
        let by_hand = "by hand";
        match action {
            CandidateAction::RollBack if self.tried.is_none() => return self.roll_back_live(by_hand, tools).await,
            CandidateAction::RollBack => return self.roll_back_candidate(by_hand, tools).await,
            CandidateAction::Promote if self.tried.is_some() => return self.promote(by_hand, tools).await,
            CandidateAction::Promote | CandidateAction::Hold | CandidateAction::Resume => {}
        }
        let Some(tried) = &self.tried else {
            let error = self.candidate_error().map(|error| format!(" ({})", error.text)).unwrap_or_default();
            let file = self.candidate_name();
            return Err(format!(
                "route {} has no candidate{error}; put one into the policies folder as {file}.wasm",
                self.route()
            ));
        };
        let held = action == CandidateAction::Hold;
        tried.trial.hold(held);
        let step = if held { CandidateStep::Held } else { CandidateStep::Resumed };
        let maker = tried.trial.revision.maker().to_string();
        self.tell_of_trial(step, by_hand.to_owned(), tools);
        Ok(match held {
            true => format!("{maker} goes on being asked, and is neither promoted nor rolled back by itself"),
            false => format!("{maker} is promoted or rolled back by itself again"),
        })
    }

    /// The candidate takes the live policy's place, and its name.
    async fn promote(&mut self, reason: &str, tools: &Tools) -> Result<String, String> {
        let Some(tried) = &self.tried else { return Err("there is no candidate".to_owned()) };
        let policy = LastGood { policy: self.policy_name().to_owned(), ..tried.admitted.policy().clone() };
        let (digest, file) = (policy.file.digest.clone(), facts(&tried.admitted));
        let so_far = tried.trial.so_far();
        let admitted = admit(tools, &self.configured, Source::Promoted, policy).await?;
        let pair = Pair { content: digest.clone(), generation: Some(self.generation) };
        self.activate(admitted, pair, tools).await.map_err(|refusal| refusal.text)?;
        self.end_trial();
        self.refused = None;
        let maker = self.live.as_ref().map(|live| live.revision.maker().as_ref().clone());
        let said = format!("{} is live", maker.as_ref().map(ToString::to_string).unwrap_or_default());
        let (decisions, faults, reason) = (so_far.decisions, so_far.faults, reason.to_owned());
        let step = CandidateStep::Promoted;
        self.emit(tools, EventKind::CandidateChanged { step, maker, file: Some(file), decisions, faults, reason });
        // Without it a restart, or the next look at the folder, would take the older file there.
        if let (Some(history), Some(instead_of)) = (&mut self.history, self.in_folder.clone()) {
            history.promoted = Some(Promoted { digest, instead_of });
        }
        self.keep_history(tools).await.map(|()| said)
    }

    async fn roll_back_candidate(&mut self, reason: &str, tools: &Tools) -> Result<String, String> {
        let maker = self.tried.as_ref().map(|tried| tried.trial.revision.maker().to_string()).unwrap_or_default();
        self.tell_of_trial(CandidateStep::RolledBack, reason.to_owned(), tools);
        if let (Some(tried), Some(history)) = (self.end_trial(), &mut self.history) {
            history.roll_back(&tried.admitted.policy().file.digest, reason);
        }
        self.keep_history(tools).await?;
        Ok(format!("{maker} judges nothing any more, and its file is not taken again"))
    }

    /// The version before goes live.
    async fn roll_back_live(&mut self, reason: &str, tools: &Tools) -> Result<String, String> {
        let Some(live) = &self.live else { return Err(format!("route {} has no policy yet", self.route())) };
        let (digest, file) = (live.revision.file_digest().to_owned(), facts(&live.admitted));
        let maker = live.revision.maker().as_ref().clone();
        let history = self.fresh_history(tools).await?;
        let may_judge = |previous: &&Previous| previous.digest != digest && history.refusal(&previous.digest).is_none();
        let Some(previous) = history.previous.iter().find(may_judge).cloned() else {
            return Err(format!(
                "there is no version before {maker} to go back to; put the file that you want into the policies folder"
            ));
        };
        let limit = tools.engine.limits().file_size as u64;
        let policy = read_previous(&tools.store, self.route(), &previous, limit).await?;
        let is_configured = policy.policy == self.policy_name() && policy.settings == self.configured.settings;
        let generation = is_configured.then_some(self.generation);
        let pair = Pair { content: policy.file.digest.clone(), generation };
        let admitted = admit(tools, &self.configured, Source::Previous, policy).await?;
        self.activate(admitted, pair, tools).await.map_err(|refusal| refusal.text)?;
        let history = self.fresh_history(tools).await?;
        history.promoted = None;
        history.roll_back(&digest, reason);
        let said = self.live.as_ref().map(|live| live.revision.maker().to_string()).unwrap_or_default();
        let said = format!("{said} is live; the file of {maker} is not taken again");
        let (step, maker, file, reason) = (CandidateStep::RolledBack, Some(maker), Some(file), reason.to_owned());
        self.emit(tools, EventKind::CandidateChanged { step, maker, file, decisions: 0, faults: 0, reason });
        self.keep_history(tools).await.map(|()| said)
    }

    /// As it is on disk by now: what went live since has its place in it.
    async fn fresh_history(&mut self, tools: &Tools) -> Result<&mut History, String> {
        let on_disk = read_history(&tools.store, &self.slot.route).await?;
        let history = self.history.get_or_insert_default();
        history.previous = on_disk.previous;
        Ok(history)
    }

    async fn keep_history(&mut self, tools: &Tools) -> Result<(), String> {
        let route = Arc::clone(&self.slot.route);
        let history = self.fresh_history(tools).await?.clone();
        keep_history(&tools.store, &route, &history).await
    }

    fn tell_of_trial(&self, step: CandidateStep, reason: String, tools: &Tools) {
        let Some(tried) = &self.tried else { return };
        let so_far = tried.trial.so_far();
        let maker = Some(tried.trial.revision.maker().as_ref().clone());
        let (file, decisions, faults) = (Some(facts(&tried.admitted)), so_far.decisions, so_far.faults);
        self.emit(tools, EventKind::CandidateChanged { step, maker, file, decisions, faults, reason });
    }

    fn emit(&self, tools: &Tools, event: EventKind) {
        tools.observer.emit(self.route(), event);
    }
}

/// What a revision was made from, for whoever watches.
pub(super) fn facts(admitted: &Admitted) -> SwappedFile {
    let file = &admitted.policy().file;
    SwappedFile {
        digest: file.digest.clone(),
        size: file.bytes.len() as u64,
        signed_by: admitted.signed_by().map(|key| key.to_string()),
        source: admitted.source().name(),
    }
}
