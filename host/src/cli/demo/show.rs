//! The demo from its beginning to its end, on whatever broker it is given.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::{Instant, interval, timeout};
use tokio_util::sync::CancellationToken;

use super::audit;
use super::handler::Ledger;
use super::report::Report;
use super::script::{ORDERS, PREVIEWS};
use super::sender::{Sender, Sent};
use super::stage::Stage;
use super::tally::Tally;
use super::view::{Scene, View};
use crate::broker::memory::{Depth, MemoryBroker};
use crate::event::Event;
use crate::host::Host;
use crate::timestamp::Timestamp;
use crate::verdict::Maker;

/// How long the sender waits for the swap before it sends the rest.
const LONGEST_SWAP: Duration = Duration::from_secs(5);

/// What is to be shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Show {
    /// How many messages are sent.
    pub(super) messages: u32,
    /// The time that sending them takes.
    pub(super) sending: Duration,
}

impl Show {
    /// Runs it. Where `stop` ends first, the host drains, and what is not processed by then stays in its queue.
    ///
    /// # Errors
    /// The policies cannot be put in a temporary folder or loaded, the broker does not take a message, or the view cannot
    /// be written.
    pub(super) async fn run(
        self,
        broker: MemoryBroker,
        view: &mut View,
        stop: impl Future<Output = ()>,
    ) -> anyhow::Result<Report> {
        view.begin()?;
        let stage = Stage::new()?;
        let (ledger, sent, renamed) = (Ledger::default(), Sent::default(), Arc::new(OnceLock::new()));
        let host = Host::start(stage.host(&broker, &ledger, self.messages)).await?;
        let swapped = CancellationToken::new();
        let tally = Tally::new(first_policy(&host)?, Arc::clone(&renamed));
        let events = host.observer().subscribe();
        host.ready().await;
        let begin = Instant::now();
        let mut watcher =
            Watcher { show: self, begin, sent: sent.clone(), events, tally, swapped: swapped.clone(), view };

        let interval = self.sending / self.messages;
        let sender = Sender { broker: broker.clone(), sent: sent.clone(), start: begin, interval };
        let story = async {
            let (half, last_quarter) = (self.messages / 2, self.messages - self.messages / 4);
            sender.send(0..half).await?;
            renamed.get_or_init(Timestamp::now);
            stage.swap().context("cannot rename the policy into the folder")?;
            sender.send(half..last_quarter).await?;
            // The host goes on; but however slow the machine, there is something left for the new policy to judge.
            // Where it never comes, the report says so.
            let _ = timeout(LONGEST_SWAP, swapped.cancelled()).await;
            sender.send(last_quarter..self.messages).await?;
            for queue in [ORDERS, PREVIEWS] {
                broker.wait_for(queue, |depth| depth == Depth::default()).await;
            }
            Ok(())
        };
        let stopped_early = watcher.watch(story, stop).await?;
        let policy_problem = policy_problem(&host);
        host.shutdown().await;
        for queue in [ORDERS, PREVIEWS] {
            // What a tier still holds can only be read once it is back, and the tiers are short.
            broker.wait_for(queue, |depth| depth.delayed == 0).await;
        }
        let (tally, took) = watcher.finish()?;
        let lost = audit::lost(sent.ids(), &ledger, &broker);
        Ok(Report { show: self, sent: sent.count(), tally, lost, took, stopped_early, policy_problem })
    }
}

/// Follows the host's events.
struct Watcher<'v> {
    show: Show,
    begin: Instant,
    sent: Sent,
    events: Receiver<Arc<Event>>,
    tally: Tally,
    /// Cancelled once the other policy judges.
    swapped: CancellationToken,
    view: &'v mut View,
}

impl Watcher<'_> {
    /// Watches until the story ends or `stop` does; answers whether it was the latter.
    async fn watch(
        &mut self,
        story: impl Future<Output = anyhow::Result<()>>,
        stop: impl Future<Output = ()>,
    ) -> anyhow::Result<bool> {
        tokio::pin!(story, stop);
        let mut redraw = interval(Duration::from_millis(100));
        loop {
            tokio::select! {
                event = self.events.recv() => match event {
                    Ok(event) => self.take(&event)?,
                    Err(RecvError::Lagged(missed)) => return Err(too_slow(missed)),
                    Err(RecvError::Closed) => bail!("the host ended before the demo"),
                },
                result = &mut story => return result.map(|()| false),
                () = &mut stop => return Ok(true),
                _ = redraw.tick() => self.draw(false)?,
            }
        }
    }

    /// Takes the events that are left, and draws for the last time. Answers with the counts, and the time since the begin.
    fn finish(mut self) -> anyhow::Result<(Tally, Duration)> {
        loop {
            match self.events.try_recv() {
                Ok(event) => self.take(&event)?,
                Err(TryRecvError::Lagged(missed)) => return Err(too_slow(missed)),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        self.draw(true)?;
        Ok((self.tally, self.begin.elapsed()))
    }

    fn take(&mut self, event: &Event) -> std::io::Result<()> {
        if let Some(occurrence) = self.tally.take(event) {
            self.view.tell(&occurrence, self.begin.elapsed())?;
        }
        if self.tally.swap().is_some() && !self.swapped.is_cancelled() {
            self.swapped.cancel();
            self.view.tell_swap(&self.tally, self.begin.elapsed())?;
        }
        Ok(())
    }

    fn draw(&mut self, is_over: bool) -> std::io::Result<()> {
        let scene = Scene {
            messages: self.show.messages,
            sent: self.sent.count(),
            elapsed: self.begin.elapsed(),
            is_over,
            tally: &self.tally,
        };
        self.view.draw(&scene)
    }
}

fn first_policy(host: &Host) -> anyhow::Result<Arc<Maker>> {
    let live = host.policies().handle(ORDERS).and_then(|handle| handle.live());
    live.map(|revision| Arc::clone(revision.maker()))
        .with_context(|| format!("the standard policy cannot be loaded: {}", policy_problem(host).unwrap_or_default()))
}

fn policy_problem(host: &Host) -> Option<String> {
    host.policies().status().routes.into_iter().find_map(|route| Some(route.last_error?.text))
}

fn too_slow(missed: u64) -> anyhow::Error {
    anyhow::anyhow!("the table fell {missed} events behind, so that its counts are wrong; show fewer --messages")
}
