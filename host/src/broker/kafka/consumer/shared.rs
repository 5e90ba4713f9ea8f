//! What the poller's thread, the consumer and its deliveries share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::Thread;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::remembered::Remembered;
use super::settler::Out;

/// One consumer's.
pub(super) struct Shared {
    poller: OnceLock<Thread>,
    stopped: AtomicBool,
    closing: AtomicBool,
    commit_soon: AtomicBool,
    /// The poller waits for room among the records that nobody has taken yet.
    wants_room: AtomicBool,
    given_back: mpsc::UnboundedSender<Out>,
    pub(super) remembered: Arc<Remembered>,
    /// Cancelled when no record comes any more; the parent of those of the partitions.
    pub(super) lost: CancellationToken,
    /// Cancelled when the poller has left the group.
    pub(super) left: CancellationToken,
    reason: Mutex<Option<String>>,
}

impl Shared {
    /// What is shared, and where what was given back comes out.
    pub(super) fn new(remembered: Arc<Remembered>) -> (Arc<Self>, mpsc::UnboundedReceiver<Out>) {
        let (given_back, again) = mpsc::unbounded_channel();
        let shared = Self {
            poller: OnceLock::new(),
            stopped: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            commit_soon: AtomicBool::new(false),
            wants_room: AtomicBool::new(false),
            given_back,
            remembered,
            lost: CancellationToken::new(),
            left: CancellationToken::new(),
            reason: Mutex::default(),
        };
        (Arc::new(shared), again)
    }

    /// The thread to wake.
    pub(super) fn poller_is(&self, thread: &Thread) {
        self.poller.get_or_init(|| thread.clone());
    }

    /// The poller looks around at once.
    pub(super) fn wake(&self) {
        if let Some(poller) = self.poller.get() {
            poller.unpark();
        }
    }

    /// A record is to be handed out again. Nobody is left to take it once the consumer is gone.
    pub(super) fn give_back(&self, out: Out) {
        let _ = self.given_back.send(out);
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    pub(super) fn close(&self) {
        self.stop();
        self.closing.store(true, Ordering::Release);
        self.wake();
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Somebody waits for the next commit.
    pub(super) fn commit_soon(&self) {
        self.commit_soon.store(true, Ordering::Release);
        self.wake();
    }

    pub(super) fn take_commit_soon(&self) -> bool {
        self.commit_soon.swap(false, Ordering::AcqRel)
    }

    pub(super) fn want_room(&self) {
        self.wants_room.store(true, Ordering::SeqCst);
    }

    /// There is room again among the records that nobody has taken yet.
    pub(super) fn has_room(&self) {
        if self.wants_room.load(Ordering::SeqCst) && self.wants_room.swap(false, Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Why no record comes any more; the first reason stands.
    pub(super) fn end(&self, reason: String) {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        self.lost.cancel();
    }

    pub(super) fn reason(&self) -> String {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone();
        reason.unwrap_or_else(|| "it was stopped".to_owned())
    }
}
