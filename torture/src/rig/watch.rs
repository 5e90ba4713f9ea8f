//! Watching hosts and queues while a run goes on.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::Rig;

const EVERY: Duration = Duration::from_millis(500);
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

impl Rig {
    /// Samples how far hosts are, and notices those that end by themselves, which it starts again.
    pub(super) async fn watch(self: Arc<Self>) {
        loop {
            sleep(EVERY).await;
            self.broker.sample(self.clock.now()).await;
            self.look_after_hosts();
        }
    }

    fn look_after_hosts(&self) {
        for (number, host) in self.hosts.iter().enumerate() {
            // One that is locked is being killed, stopped or started.
            let Ok(mut host) = host.try_lock() else { continue };
            let restarted = match host.ended_by_itself() {
                Ok(None) => continue,
                Ok(Some(status)) => {
                    self.complain(format!("host {number} ended by itself ({status}); see {}", host.log().display()));
                    host.start()
                }
                Err(error) => Err(error),
            };
            if let Err(error) = restarted {
                self.complain(format!("host {number}: {error:#}"));
            }
        }
    }

    /// A line each few seconds.
    pub(super) async fn show_progress(self: Arc<Self>) {
        loop {
            sleep(PROGRESS_EVERY).await;
            eprintln!("torture: {}", self.progress());
        }
    }

    fn progress(&self) -> String {
        let (sent, handled, dead, over) = self.books.read(|messages| {
            messages.values().fold((0, 0, 0, 0), |(sent, handled, dead, over), message| {
                (
                    sent + usize::from(message.confirmed.is_some()),
                    handled + usize::from(message.is_handled()),
                    dead + usize::from(!message.dead_letters.is_empty()),
                    over + usize::from(message.confirmed.is_some() && message.is_over()),
                )
            })
        });
        let now = self.clock.now();
        let faults = self.faults.all();
        let under_way: Vec<_> = faults
            .iter()
            .filter(|fault| fault.end.is_none())
            .map(|fault| match fault.host {
                Some(host) => format!("{} (host {host})", fault.kind.name()),
                None => fault.kind.name().to_owned(),
            })
            .collect();
        format!(
            "{now:>6.0} s  sent {sent}, handled {handled}, dead-lettered {dead}, open {}; {} faults{}{}",
            sent - over,
            faults.len(),
            if under_way.is_empty() { "" } else { ", now: " },
            under_way.join(", ")
        )
    }
}
