//! Messages that may have ended the host (rule 9).
//!
//! After an end that was not orderly, what the broker hands over again was in work, or only prefetched, at that moment. Each
//! of those is run alone in the whole host, so that another end is put down to nobody else; and noted on disk before it is,
//! so that the next start knows. Where the end before was orderly nothing of this is in the way, unless a broker tells of
//! messages that another host had in work when it ended: those are run in the same way. Of what that host may have had in work
//! besides, each attempt is noted with the broker before it begins and runs beside the others: should one of these end this
//! host, few are noted, and those run alone next.

mod ledger;

use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use tokio::time::{Instant, timeout};
use tracing::{info, warn};

use super::memory::CopyKey;
use crate::broker::{Earlier, Settler};
use crate::delivery::KnownStarts;
use crate::message::Message;
use ledger::Ledger;

/// A broker hands what was under way over again at once. What comes back later was in the hands of this process.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// A suspect waits no longer for attempts that run to end, and is alone for no longer: it holds nobody up for good.
const LONGEST_ALONE: Duration = Duration::from_secs(5);

/// The suspicion of one host, shared by its routes.
#[derive(Debug)]
pub(crate) struct Suspects {
    /// Attempts share it, those of suspects have it alone. It is fair: a suspect is next once it asks.
    turns: Arc<RwLock<()>>,
    /// The suspect whose turn it is. The next one asks for `turns` only after it, so that whatever waited for the first has its
    /// turn before the second.
    one: Arc<Mutex<()>>,
    /// `None` where there is no state folder.
    ledger: Option<Ledger>,
    /// The host that was before on this state folder did not end in order, or one earlier did not.
    ended_badly: bool,
    /// A broker may tell of suspects at any time: every attempt takes its turn.
    always: bool,
    /// Routes that still expect suspects, and suspects that are here.
    in_doubt: AtomicUsize,
}

impl Suspects {
    /// What is known in the state folder, where there is one. `None` where nothing is to be suspected: the end before was
    /// orderly, no message is left that ended the host earlier, and no broker of this host tells of other hosts' ends
    /// (`always`).
    pub(crate) fn open(state: Option<&Path>, ended_badly: bool, always: bool) -> Option<Arc<Self>> {
        let ledger = state.map(Ledger::open);
        let ended_badly = ledger.as_ref().is_some_and(|ledger| ended_badly || !ledger.is_empty());
        if !ended_badly && !always {
            return None;
        }
        if ended_badly {
            warn!("the host did not end in order: messages that were under way run alone until the others come");
        }
        Some(Arc::new(Self {
            turns: Arc::default(),
            one: Arc::default(),
            ledger,
            ended_badly,
            always,
            in_doubt: AtomicUsize::new(0),
        }))
    }

    fn known(&self, key: &CopyKey) -> Option<KnownStarts> {
        self.ledger.as_ref()?.known(key)
    }

    fn forget(&self, key: &CopyKey) {
        if let Some(ledger) = &self.ledger {
            ledger.forget(key);
        }
    }

    fn is_over(&self) -> bool {
        self.in_doubt.load(Ordering::Acquire) == 0 && self.ledger.as_ref().is_none_or(Ledger::is_empty)
    }
}

/// The suspicion of one route.
#[derive(Debug)]
pub(super) struct Suspicion {
    suspects: Arc<Suspects>,
    route: Arc<str>,
    /// The broker itself tells which messages are to be suspected; that one comes again says nothing there.
    is_told: bool,
    /// Fresh deliveries in a row that show that none is left of those that were under way.
    enough: u32,
    fresh: AtomicU32,
    /// When the first delivery arrived.
    begun: OnceLock<Instant>,
}

impl Suspicion {
    pub(super) fn new(suspects: Arc<Suspects>, route: Arc<str>, prefetch: u16, is_told: bool) -> Self {
        let enough = prefetch.max(1).into();
        let fresh = if suspects.ended_badly && !is_told {
            suspects.in_doubt.fetch_add(1, Ordering::AcqRel);
            0
        } else {
            enough
        };
        Self { suspects, route, is_told, enough, fresh: AtomicU32::new(fresh), begun: OnceLock::new() }
    }

    /// How the attempts of a delivery that has just arrived are to be run; `None` once nothing is suspected any more.
    pub(super) fn arrives(&self, message: &Message, redelivered: bool, earlier: Earlier) -> Option<Part> {
        match earlier {
            Earlier::UnderWay { interruptions } => {
                return Some(Part::new(&self.suspects, Some(CopyKey::alike(message)), interruptions, false));
            }
            Earlier::InDoubt => {
                let key = CopyKey::alike(message);
                let suspected = self.suspects.known(&key).is_some().then_some(key);
                return Some(Part::new(&self.suspects, suspected, 0, true));
            }
            Earlier::Nothing | Earlier::Done => {}
        }
        if self.suspects.is_over() {
            return self.suspects.always.then(|| Part::new(&self.suspects, None, 0, false));
        }
        let goes_on = self.goes_on(redelivered);
        let key = redelivered.then(|| CopyKey::alike(message));
        let suspected = key.filter(|key| goes_on || self.suspects.known(key).is_some());
        Some(Part::new(&self.suspects, suspected, 0, false))
    }

    fn goes_on(&self, redelivered: bool) -> bool {
        if self.is_told {
            return false;
        }
        // A route where little happens would take what a lost connection brings back for suspects for as long as it lives.
        if self.begun.get_or_init(Instant::now).elapsed() > LONGEST {
            if self.fresh.swap(self.enough, Ordering::AcqRel) < self.enough {
                self.ends();
            }
            return false;
        }
        let seen = self.fresh.load(Ordering::Acquire);
        if seen >= self.enough {
            return false;
        }
        if redelivered {
            // Only what comes in a row counts; one that is enough stays enough.
            let _ = self.fresh.compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Acquire);
        } else if self.fresh.fetch_add(1, Ordering::AcqRel) + 1 == self.enough {
            self.ends();
        }
        true
    }

    fn ends(&self) {
        self.suspects.in_doubt.fetch_sub(1, Ordering::AcqRel);
        info!(route = %self.route, "no message is suspected to have ended the host any more");
    }
}

/// What one delivery has to do with the suspicion.
#[derive(Debug)]
pub(super) struct Part {
    suspects: Arc<Suspects>,
    /// The copy, where it is a suspect; else it only stays out of their way.
    suspected: Option<CopyKey>,
    /// What the broker knows of attempts that ended with their host.
    interruptions: u32,
    /// It may have been in work when its host ended: the broker has to know of each attempt before it begins.
    in_doubt: bool,
}

impl Part {
    fn new(suspects: &Arc<Suspects>, suspected: Option<CopyKey>, interruptions: u32, in_doubt: bool) -> Self {
        if suspected.is_some() {
            suspects.in_doubt.fetch_add(1, Ordering::AcqRel);
        }
        Self { suspects: Arc::clone(suspects), suspected, interruptions, in_doubt }
    }

    /// What earlier starts of this host, and of others, noted of this copy. Both count the same attempts, and each may have
    /// missed some: the greater one is nearer.
    pub(super) fn known(&self) -> Option<KnownStarts> {
        let count = self.interruptions;
        let told = (count > 0).then_some(KnownStarts { starts: count, interruptions: count, requeues: 0 });
        let noted = self.suspects.known(self.suspected.as_ref()?);
        told.into_iter().chain(noted).max_by_key(|known| known.interruptions)
    }

    /// Leave to run an attempt, where nobody is in the way.
    pub(super) fn turn_now(&self) -> Option<Turn> {
        if self.suspected.is_some() {
            return None;
        }
        let lock = Arc::clone(&self.suspects.turns).try_read_owned().ok()?;
        Some(Turn::Shared { lock, in_doubt: self.in_doubt })
    }

    /// Waits until an attempt may run. It may as long as the turn is held.
    pub(super) async fn turn(self: &Arc<Self>) -> Turn {
        let turns = Arc::clone(&self.suspects.turns);
        match self.suspected {
            Some(_) => {
                let one = Arc::clone(&self.suspects.one).lock_owned().await;
                let lock = timeout(LONGEST_ALONE, turns.write_owned()).await.ok();
                Turn::Alone { lock, one, part: Arc::clone(self) }
            }
            None => Turn::Shared { lock: turns.read_owned().await, in_doubt: self.in_doubt },
        }
    }

    /// The delivery's outcome is durable: its copy has not ended the host and will not.
    pub(super) fn is_cleared(&self) {
        if let Some(key) = &self.suspected {
            self.suspects.forget(key);
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.suspected.is_some() {
            self.suspects.in_doubt.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Leave to run one attempt.
#[derive(Debug)]
pub(super) enum Turn {
    /// Beside others.
    Shared { lock: OwnedRwLockReadGuard<()>, in_doubt: bool },
    /// With no other suspect, and with nothing else running but for what did not end in time.
    Alone { lock: Option<OwnedRwLockWriteGuard<()>>, one: OwnedMutexGuard<()>, part: Arc<Part> },
}

impl Turn {
    /// Runs an attempt in this turn. It is alone for [`LONGEST_ALONE`] at most, and beside no other suspect to its end.
    pub(super) async fn hold<T>(self, attempt: impl Future<Output = T>) -> T {
        match self {
            Self::Shared { lock: _lock, .. } => attempt.await,
            Self::Alone { lock, one: _one, .. } => {
                let mut attempt = pin!(attempt);
                match timeout(LONGEST_ALONE, &mut attempt).await {
                    Ok(result) => result,
                    Err(_) => {
                        drop(lock);
                        attempt.await
                    }
                }
            }
        }
    }

    /// Notes a suspect before it runs: on disk, and with a broker that keeps such. If the host ends before the note is dropped,
    /// this attempt counts as an interruption at the next start, and where the message is handed over next.
    pub(super) async fn note(&self, known: KnownStarts, settler: &dyn Settler) -> Option<Note> {
        let part = match self {
            Self::Alone { part, .. } => part,
            Self::Shared { in_doubt: false, .. } => return None,
            Self::Shared { in_doubt: true, .. } => {
                // That it runs is all there is to tell; many share a commit.
                if let Err(error) = settler.note_interruptions(0).await {
                    warn!(%error, "a message that may have ended a host is run, and its broker may not know of it");
                }
                return None;
            }
        };
        let key = part.suspected?;
        let note = Note { suspects: Arc::clone(&part.suspects), key };
        let suspects = Arc::clone(&part.suspects);
        let died = KnownStarts { interruptions: known.interruptions.saturating_add(1), ..known };
        let noted = tokio::task::spawn_blocking(move || match &suspects.ledger {
            Some(ledger) => ledger.note(&key, died),
            None => Ok(()),
        })
        .await;
        // Not running it would hold the whole host up for what may be an innocent message.
        if let Some(error) =
            noted.map_or_else(|error| Some(error.to_string()), |noted| noted.err().map(|error| error.to_string()))
        {
            warn!(
                error,
                "a message that may have ended the host is run without a note of it: free some space in the state folder"
            );
        }
        if let Err(error) = settler.note_interruptions(died.interruptions).await {
            warn!(%error, "a message that may have ended a host is run, and its broker may not know of it");
        }
        Some(note)
    }
}

/// A suspect's attempt that runs.
#[derive(Debug)]
pub(super) struct Note {
    suspects: Arc<Suspects>,
    key: CopyKey,
}

impl Drop for Note {
    fn drop(&mut self) {
        self.suspects.forget(&self.key);
    }
}

#[cfg(test)]
mod tests;
