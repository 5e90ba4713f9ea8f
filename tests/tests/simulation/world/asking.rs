//! What hosts ask for, and the laws on it.

use super::{Asks, Broken, How, Letter, Phase, Place, World};
use crate::contents::{ContentId, Contents};

/// A copy is made smaller or sent elsewhere so often at most, before the host must wait.
const MOST_RESHAPED: u8 = 5;

impl World {
    /// A host asks for something on a delivery.
    pub(crate) fn asked(
        &mut self,
        host: usize,
        delivery: usize,
        asks: Asks,
        contents: &Contents,
    ) -> Result<(), Broken> {
        match asks {
            Asks::Run { attempt } => {
                self.nothing_runs_on_what_is_not_ours(host, delivery, "a handler is run")?;
                self.nothing_spins(host, delivery, asks)?;
                self.what_owes_its_ack_is_not_run_again(host, delivery)?;
                self.the_count_is_as_rule_9_says(host, delivery, attempt, contents)?;
                let it = &mut self.hosts[host].deliveries[delivery];
                it.attempt = attempt;
                let content = it.content;
                let starts = &mut self.hosts[host].starts;
                match starts.iter_mut().find(|(known, _)| *known == content) {
                    Some((_, times)) => *times += 1,
                    None => starts.push((content, 1)),
                }
            }
            Asks::Verdict => self.nothing_runs_on_what_is_not_ours(host, delivery, "the policy is asked")?,
            Asks::Time => self.hosts[host].deliveries[delivery].failed = super::Failed::default(),
            Asks::Publish { content, to, .. } => {
                self.nothing_spins(host, delivery, asks)?;
                self.the_copy_carries_the_count(host, delivery, content, to, contents)?;
            }
            Asks::Settle { how, .. } => {
                self.nothing_spins(host, delivery, asks)?;
                self.an_ack_comes_last(host, delivery, how)?;
                let content = self.hosts[host].deliveries[delivery].content;
                if how.removes() {
                    self.hosts[host].owes_ack.retain(|owed| *owed != content);
                }
            }
        }
        self.hosts[host].deliveries[delivery].asks = Some(asks);
        Ok(())
    }

    /// A host does not wait for an answer any more, as when a handler is out of time.
    pub(crate) fn let_go(&mut self, host: usize, delivery: usize) {
        let it = &mut self.hosts[host].deliveries[delivery];
        it.failed.run |= matches!(it.asks, Some(Asks::Run { .. }));
        it.asks = None;
    }

    /// A host is done with a delivery.
    pub(crate) fn ended(&mut self, host: usize, delivery: usize) -> Result<(), Broken> {
        let it = self.hosts[host].deliveries.remove(delivery);
        let Some(letter) = it.holds else { return Ok(()) };
        // Aborted in the middle of a settle, whose answer nobody waits for: the process ends next.
        if self.hosts[host].phase == Phase::Ending {
            self.ready.push(Letter { redelivered: true, ..letter });
            return Ok(());
        }
        Err(Broken {
            law: "every delivery is settled (rule 5)",
            text: format!("{} lets go of m{} without settling it", name(host), it.message + 1),
        })
    }

    /// Rule 1: a delivery is acknowledged once its outcome is durable, and rule 13: on its own channel.
    fn an_ack_comes_last(&self, host: usize, delivery: usize, how: How) -> Result<(), Broken> {
        let it = &self.hosts[host].deliveries[delivery];
        let message = it.message + 1;
        if how.removes() && !self.books[usize::from(it.message)].line(it.content).done {
            let text = format!("{} acknowledges m{message}, and no outcome of it is durable", name(host));
            return Err(Broken { law: "ack last (rule 1)", text });
        }
        if it.lost {
            let text = format!("{} settles m{message} on a channel that has ended", name(host));
            return Err(Broken { law: "a settle belongs to its channel (rule 13)", text });
        }
        Ok(())
    }

    /// Rule 3: what the broker took back, or an aborted host holds, is not run and not judged.
    fn nothing_runs_on_what_is_not_ours(&self, host: usize, delivery: usize, what: &str) -> Result<(), Broken> {
        let it = &self.hosts[host].deliveries[delivery];
        if !it.lost && self.hosts[host].phase != Phase::Ending {
            return Ok(());
        }
        let text = format!("{what} on {} for m{}, which it does not have any more", name(host), it.message + 1);
        Err(Broken { law: "cancelled is not failed (rule 3)", text })
    }

    /// Rule 5: what failed is not done again, nor handed back, before some time has passed.
    fn nothing_spins(&self, host: usize, delivery: usize, asks: Asks) -> Result<(), Broken> {
        let it = &self.hosts[host].deliveries[delivery];
        let drains = self.hosts[host].phase != Phase::Up;
        let spins = match asks {
            Asks::Run { .. } => it.failed.run,
            Asks::Publish { .. } => it.failed.publish || it.failed.reshaped > MOST_RESHAPED,
            Asks::Settle { how: How::Reject, .. } => (it.failed.run || it.failed.publish) && !drains,
            _ => false,
        };
        if !spins {
            return Ok(());
        }
        let text = format!("{} goes on with m{} at once after a failure: {asks:?}", name(host), it.message + 1);
        Err(Broken { law: "nothing spins (rule 5)", text })
    }

    /// Rule 13: a copy whose outcome this process knows to be durable, and its ack to be lost, is acknowledged unrun.
    fn what_owes_its_ack_is_not_run_again(&self, host: usize, delivery: usize) -> Result<(), Broken> {
        let it = &self.hosts[host].deliveries[delivery];
        if !it.owes_ack {
            return Ok(());
        }
        let text = format!("{} runs m{} again, though it knows that only the ack was lost", name(host), it.message + 1);
        Err(Broken { law: "a lost ack is remembered (rule 13)", text })
    }

    /// Rule 9: the count on the copy plus the starts that this process knows of. Starts in a process that died, and in the other host, are
    /// not known. Where the broker keeps two copies that are alike to the byte, starts on one may count for the other.
    fn the_count_is_as_rule_9_says(
        &self,
        host: usize,
        delivery: usize,
        attempt: u32,
        contents: &Contents,
    ) -> Result<(), Broken> {
        let it = &self.hosts[host].deliveries[delivery];
        let line = self.books[usize::from(it.message)].line(it.content);
        let known =
            self.hosts[host].starts.iter().find(|(content, _)| *content == it.content).map_or(0, |known| known.1);
        let least = contents.attempts(it.content) + 1;
        let most = least + u32::from(known);
        let is_right = if line.made == 1 && !line.done { attempt == most } else { (least..=most).contains(&attempt) };
        if is_right {
            return Ok(());
        }
        let text = format!(
            "{} runs attempt {attempt} of m{}: its copy says {}, and this process began {known} since",
            name(host),
            it.message + 1,
            least - 1
        );
        Err(Broken { law: "the count travels with the message (rule 9)", text })
    }

    fn the_copy_carries_the_count(
        &self,
        host: usize,
        delivery: usize,
        content: ContentId,
        to: Place,
        contents: &Contents,
    ) -> Result<(), Broken> {
        let it = &self.hosts[host].deliveries[delivery];
        let said = contents.attempts(content);
        // A dead letter that is too large may lose every header at last.
        if it.attempt == 0 || said == it.attempt || (to == Place::DeadLetters && contents.is_bare(content)) {
            return Ok(());
        }
        let text = format!("the copy of m{} says {said} after attempt {}", it.message + 1, it.attempt);
        Err(Broken { law: "the count travels with the message (rule 9)", text })
    }
}

pub(crate) fn name(host: usize) -> &'static str {
    ["host A", "host B"][host]
}
