//! Whether the tasks of a host still run, for whoever watches over it.

use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Asks one task for a sign of life.
#[derive(Debug, Clone)]
struct Pulse(mpsc::Sender<oneshot::Sender<()>>);

impl Pulse {
    /// Waits until the task answers; for ever where it has ended or never gets to run.
    async fn beat(&self) {
        let (answer, answered) = oneshot::channel();
        if self.0.send(answer).await.is_err() || answered.await.is_err() {
            pending::<()>().await;
        }
    }
}

/// Every route's loop, each asked in the very task that it runs in: one that is blocked in there cannot answer.
#[derive(Debug, Clone, Default)]
pub struct HostPulse(Vec<(Arc<str>, Pulse)>);

impl HostPulse {
    /// `work`, which from now on answers for `route` whenever its task runs.
    pub(super) fn attend<W: Future<Output = ()>>(
        &mut self,
        route: Arc<str>,
        work: W,
    ) -> impl Future<Output = ()> + use<W> {
        let (ask, mut asked) = mpsc::channel::<oneshot::Sender<()>>(1);
        self.0.push((route, Pulse(ask)));
        async move {
            tokio::pin!(work);
            loop {
                tokio::select! {
                    // So that work which ends now does not answer any more.
                    biased;
                    () = &mut work => return,
                    // Who asked may have given up waiting.
                    Some(answer) = asked.recv() => drop(answer.send(())),
                }
            }
        }
    }

    /// The routes whose loops have ended or did not answer within this time; none in a host that is alive.
    pub async fn silent(&self, within: Duration) -> Vec<Arc<str>> {
        let asked = self.0.iter().map(async |(route, pulse)| match timeout(within, pulse.beat()).await {
            Ok(()) => None,
            Err(_) => Some(Arc::clone(route)),
        });
        join_all(asked).await.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc as blocking;

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_task_that_waits_is_alive_and_one_that_has_ended_is_not() {
        let mut pulse = HostPulse::default();
        tokio::spawn(pulse.attend("waits".into(), pending()));
        tokio::spawn(pulse.attend("ends".into(), std::future::ready(())));
        assert_eq!(pulse.silent(SHORT).await, ["ends".into()]);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_task_that_blocks_its_thread_is_silent_until_it_goes_on() {
        let mut pulse = HostPulse::default();
        let (go_on, told) = blocking::channel::<()>();
        let (blocks, begun) = oneshot::channel();
        tokio::spawn(pulse.attend("blocked".into(), async move {
            blocks.send(()).unwrap();
            told.recv().unwrap();
            pending::<()>().await;
        }));
        tokio::spawn(pulse.attend("other".into(), pending()));
        begun.await.unwrap();
        // The runtime has a second thread, on which a bare timer would go on feeding a watchdog.
        assert_eq!(pulse.silent(SHORT).await, ["blocked".into()]);
        go_on.send(()).unwrap();
        assert_eq!(pulse.silent(LONG).await, Vec::<Arc<str>>::new());
    }
}
