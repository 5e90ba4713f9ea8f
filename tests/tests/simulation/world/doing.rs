//! What the broker does in each event, and what the hosts come to know of it.

use std::fmt;

use super::{Answer, Asks, Broken, Choice, Delivery, Failed, HOSTS, Host, Hosts, Letter, Phase, Place, Said, World};
use crate::contents::ContentId;

/// How far a search goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Faults in all.
    pub(crate) faults: u8,
    /// Deliveries in work at one host at a time.
    pub(crate) slots: usize,
    /// Time passes as an event of its own for all that a host waits for; else each wait ends by itself.
    pub(crate) time: bool,
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "two hosts with {} slot(s), up to {} fault(s)", self.slots, self.faults)
    }
}

impl World {
    /// Lets a choice happen. The laws on what hosts ask for are checked on the way, those on the books after it.
    pub(crate) fn happen(&mut self, choice: Choice, hosts: &mut impl Hosts) -> Result<(), Broken> {
        self.faults += u8::from(choice.is_fault(self));
        match choice {
            Choice::Deliver { letter, host } => self.deliver(letter, host, hosts)?,
            Choice::Answer { host, delivery, answer } => self.answer(host, delivery, answer, hosts)?,
            Choice::Keep { host, delivery } => self.keep(host, delivery),
            Choice::Take { host, delivery } => self.take(host, delivery)?,
            Choice::Unread { host, delivery } => self.unread(host, delivery, hosts)?,
            Choice::Return { letter } => {
                let letter = self.tier.remove(letter);
                self.ready.push(letter);
            }
            Choice::Cut { host } => {
                self.caught(host, |it| it.holds.is_some());
                self.cut(host, hosts)?;
            }
            Choice::BrokerRestarts => {
                for host in 0..HOSTS {
                    self.caught(host, |it| it.holds.is_some());
                    self.cut(host, hosts)?;
                }
            }
            Choice::Crash { host } => {
                self.caught(host, |_| true);
                self.replace(host, hosts)?;
            }
            Choice::Start { host } => self.replace(host, hosts)?,
            Choice::Drain { host } => {
                self.hosts[host].phase = Phase::Draining;
                self.hosts[host].takes = false;
                hosts.stop(self, host, false)?;
            }
            Choice::Abort { host } => {
                // What is on its way to the broker may arrive, and its host does not wait for the answer.
                self.caught(host, |_| true);
                self.hosts[host].phase = Phase::Ending;
                hosts.stop(self, host, true)?;
            }
            Choice::TimePasses { host } => hosts.let_time_pass(self, host)?,
        }
        self.check()
    }

    fn deliver(&mut self, letter: usize, host: usize, hosts: &mut impl Hosts) -> Result<(), Broken> {
        let letter = self.ready.remove(letter);
        let Letter { message, content, redelivered } = letter;
        if !redelivered {
            // Another one, alike to the byte: from now on the two cannot be told apart.
            self.hosts[host].owes_ack.retain(|owed| *owed != content);
        }
        let delivery = Delivery {
            life: u32::MAX,
            message,
            content,
            holds: Some(letter),
            is_first: !redelivered,
            owes_ack: redelivered && self.hosts[host].owes_ack.contains(&content),
            lost: false,
            attempt: 0,
            failed: Failed::default(),
            asks: None,
        };
        self.hosts[host].deliveries.push(delivery);
        hosts.begin(self, host, self.hosts[host].deliveries.len() - 1)
    }

    fn answer(&mut self, host: usize, delivery: usize, answer: Answer, hosts: &mut impl Hosts) -> Result<(), Broken> {
        let it = &mut self.hosts[host].deliveries[delivery];
        let (message, content, lost) = (usize::from(it.message), it.content, it.lost);
        let asked = it.asks.take();
        let book = &mut self.books[message];
        match answer {
            Answer::Succeeded => {
                book.successes += 1;
                book.is_done(content);
            }
            Answer::FailedRun => it.failed.run = true,
            Answer::Verdict(Said::Drop) => {
                book.drops += 1;
                book.is_done(content);
            }
            Answer::Refused | Answer::TooLarge => it.failed.reshaped += 1,
            Answer::Outage => {
                it.failed.publish = true;
                // The confirm was lost: the host will publish the same again.
                if matches!(asked, Some(Asks::Publish { kept: true, .. })) {
                    book.caught_in_faults += 1;
                }
            }
            _ => {}
        }
        let is_durable = matches!(answer, Answer::Succeeded | Answer::Confirmed | Answer::Verdict(Said::Drop));
        let ack_is_lost = matches!((answer, asked), (Answer::Gone, Some(Asks::Settle { how, .. })) if how.removes());
        if (is_durable && lost) || ack_is_lost {
            self.hosts[host].owes_ack(content, delivery);
        }
        if answer == Answer::Settled {
            self.hosts[host].owes_ack.retain(|owed| *owed != content);
        }
        hosts.answer(self, host, delivery, answer)
    }

    fn keep(&mut self, host: usize, delivery: usize) {
        let it = &mut self.hosts[host].deliveries[delivery];
        let Some(Asks::Publish { to, content, kept }) = &mut it.asks else { return };
        *kept = true;
        let letter = Letter { message: it.message, content: *content, redelivered: false };
        let book = &mut self.books[usize::from(it.message)];
        book.is_done(it.content);
        book.is_made(*content);
        match to {
            Place::Tier => self.tier.push(letter),
            Place::DeadLetters => self.dead_letters.push(letter),
        }
    }

    fn take(&mut self, host: usize, delivery: usize) -> Result<(), Broken> {
        let it = &mut self.hosts[host].deliveries[delivery];
        let Some(Asks::Settle { how, taken }) = &mut it.asks else { return Ok(()) };
        *taken = true;
        let how = *how;
        let Some(letter) = it.holds.take() else { return Ok(()) };
        if !how.removes() {
            self.ready.push(handed_back(letter));
        } else if !self.books[usize::from(letter.message)].line(letter.content).done {
            return Err(Broken {
                law: "ack last (rule 1)",
                text: format!("the broker forgets m{}, and no outcome of it is durable", letter.message + 1),
            });
        }
        Ok(())
    }

    /// The host takes its settle for sent and is done with the delivery; the broker never read it and gives the letter back.
    fn unread(&mut self, host: usize, delivery: usize, hosts: &mut impl Hosts) -> Result<(), Broken> {
        self.caught(host, |it| it.holds.is_some());
        let it = &mut self.hosts[host].deliveries[delivery];
        let (content, asked, letter) = (it.content, it.asks.take(), it.holds.take());
        if matches!(asked, Some(Asks::Settle { how, .. }) if how.removes()) {
            self.hosts[host].owes_ack(content, delivery);
        }
        hosts.answer(self, host, delivery, Answer::Settled)?;
        self.ready.extend(letter.map(handed_back));
        self.cut(host, hosts)
    }

    /// Counts the deliveries that a fault can make twice.
    fn caught(&mut self, host: usize, wanted: impl Fn(&Delivery) -> bool) {
        let Self { hosts, books, .. } = self;
        for it in hosts[host].deliveries.iter().filter(|it| wanted(it)) {
            books[usize::from(it.message)].caught_in_faults += 1;
        }
    }

    fn cut(&mut self, host: usize, hosts: &mut impl Hosts) -> Result<(), Broken> {
        let Self { hosts: all, ready, .. } = self;
        let mut cut_off = Vec::new();
        for (place, it) in all[host].deliveries.iter_mut().enumerate().filter(|(_, it)| !it.lost) {
            it.lost = true;
            ready.extend(it.holds.take().map(handed_back));
            cut_off.push(place);
        }
        hosts.cut(self, host, &cut_off)
    }

    /// Everything that the process held is gone; what the broker held for it is ready again.
    fn replace(&mut self, host: usize, hosts: &mut impl Hosts) -> Result<(), Broken> {
        let old = std::mem::take(&mut self.hosts[host]);
        self.ready.extend(old.deliveries.into_iter().filter_map(|it| it.holds).map(handed_back));
        self.hosts[host] = Host::default();
        hosts.replace(self, host)
    }
}

impl Host {
    /// Its process knows that the outcome is durable and the ack lost. Where the first hand-over of the same content is still in
    /// work, its end cannot be told from that of another message, alike to the byte: then it is better to forget.
    fn owes_ack(&mut self, content: ContentId, delivery: usize) {
        let others = self.deliveries.iter().enumerate().filter(|(place, _)| *place != delivery);
        if !others.map(|(_, it)| it).any(|it| it.is_first && it.content == content) {
            self.owes_ack.push(content);
        }
    }
}

fn handed_back(letter: Letter) -> Letter {
    Letter { redelivered: true, ..letter }
}
