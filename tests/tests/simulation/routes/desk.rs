//! Where a host's driver puts what it asks for, and where the scheduler lays the answers.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use reprieve::message::Message;
use tokio::sync::{Notify, oneshot};
use tokio::task::Id;
use tokio_util::sync::CancellationToken;

use crate::contents::Contents;
use crate::world::{Answer, Asks, How, Place};

/// What a driver asked for.
pub(super) enum Asked {
    Run { attempt: u32 },
    Verdict,
    Publish { to: Place, message: Box<Message> },
    Settle { how: How },
}

/// What happened to one delivery.
pub(super) enum Happened {
    Asked(Asked),
    /// The driver does not wait for the answer any more.
    LetGo,
    /// The driver has dropped the delivery's settler: it is done with it.
    Ended,
}

/// One hand-over on its way to the driver.
pub(super) struct HandOver {
    pub(super) life: u32,
    pub(super) message: Arc<Message>,
    pub(super) redelivered: bool,
}

#[derive(Default)]
pub(super) struct Desk {
    inner: Mutex<Inner>,
    stirred: Notify,
    pub(super) for_consumer: Notify,
}

#[derive(Default)]
struct Inner {
    happened: Vec<(u32, Happened)>,
    waiting: HashMap<u32, oneshot::Sender<Answer>>,
    inbox: VecDeque<HandOver>,
    wants_a_message: bool,
    /// The driver runs each delivery in a task of its own.
    tasks: HashMap<Id, u32>,
    /// Messages that were handed over, by where they lie: the driver passes them on without copying.
    handed: HashMap<usize, u32>,
    channel: CancellationToken,
    count: usize,
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("nothing panics over a desk")
    }

    fn stir(&self, change: impl FnOnce(&mut Inner)) {
        let mut inner = self.lock();
        inner.count += 1;
        change(&mut inner);
        drop(inner);
        self.stirred.notify_one();
    }

    /// Ends when something happens.
    pub(super) async fn stirs(&self) {
        self.stirred.notified().await;
    }

    /// Forgets that something happened before.
    pub(super) fn calm(&self) -> usize {
        use futures_util::FutureExt;
        let _ = self.stirred.notified().now_or_never();
        self.lock().count
    }

    pub(super) fn count(&self) -> usize {
        self.lock().count
    }

    pub(super) fn happened(&self) -> Vec<(u32, Happened)> {
        std::mem::take(&mut self.lock().happened)
    }

    pub(super) fn wants_a_message(&self) -> bool {
        self.lock().wants_a_message
    }

    pub(super) fn hand_over(&self, life: u32, message: &Message, redelivered: bool) {
        let message = Arc::new(message.clone());
        self.stir(|inner| {
            inner.handed.insert(Arc::as_ptr(&message) as usize, life);
            inner.inbox.push_back(HandOver { life, message, redelivered });
        });
        self.for_consumer.notify_one();
    }

    pub(super) fn answer(&self, life: u32, answer: Answer) {
        let waiting = self.lock().waiting.remove(&life).expect("a delivery that is answered asked for something");
        // The driver may have let go in the meantime, as when a handler is out of time.
        let _ = waiting.send(answer);
    }

    /// Ends the channel; the next one is new.
    pub(super) fn cut(&self) {
        let channel = std::mem::take(&mut self.lock().channel);
        channel.cancel();
        self.for_consumer.notify_one();
    }

    pub(super) fn channel(&self) -> CancellationToken {
        self.lock().channel.clone()
    }

    pub(super) fn next_hand_over(&self) -> Option<HandOver> {
        self.lock().inbox.pop_front()
    }

    pub(super) fn set_wants(&self, wants: bool) {
        self.stir(|inner| inner.wants_a_message = wants);
    }

    /// The delivery that this message was handed over with, whose task this is.
    pub(super) fn life_of(&self, message: &Arc<Message>) -> u32 {
        let mut inner = self.lock();
        let life = inner.handed[&(Arc::as_ptr(message) as usize)];
        inner.tasks.insert(tokio::task::id(), life);
        life
    }

    /// The delivery whose task this is.
    pub(super) fn life_of_task(&self) -> u32 {
        self.lock().tasks[&tokio::task::id()]
    }

    pub(super) fn ended(&self, life: u32) {
        self.stir(|inner| inner.happened.push((life, Happened::Ended)));
    }

    pub(super) async fn ask(&self, life: u32, asked: Asked) -> Answer {
        let (sender, answer) = oneshot::channel();
        self.stir(|inner| {
            inner.happened.push((life, Happened::Asked(asked)));
            inner.waiting.insert(life, sender);
        });
        let mut guard = LetsGo { desk: self, life, answered: false };
        let Ok(answer) = answer.await else {
            // Another one asks in its place, by a planted fault: this one is never answered.
            return std::future::pending().await;
        };
        guard.answered = true;
        answer
    }
}

struct LetsGo<'a> {
    desk: &'a Desk,
    life: u32,
    answered: bool,
}

impl Drop for LetsGo<'_> {
    fn drop(&mut self) {
        if !self.answered {
            let life = self.life;
            self.desk.stir(|inner| {
                inner.waiting.remove(&life);
                inner.happened.push((life, Happened::LetGo));
            });
        }
    }
}

impl Asked {
    pub(super) fn into_asks(self, contents: &mut Contents) -> Asks {
        match self {
            Self::Run { attempt } => Asks::Run { attempt },
            Self::Verdict => Asks::Verdict,
            Self::Publish { to, message } => Asks::Publish { to, content: contents.number(&message), kept: false },
            Self::Settle { how } => Asks::Settle { how, taken: false },
        }
    }
}
