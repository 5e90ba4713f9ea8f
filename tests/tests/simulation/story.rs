//! A run as sentences, for a person.

use std::fmt::Write as _;

use crate::contents::Contents;
use crate::world::{Answer, Asks, Broken, Choice, Delivery, How, Letter, Phase, Place, Said, World, name};

/// Tells a run event by event.
#[derive(Default)]
pub(crate) struct Story {
    text: String,
    events: usize,
}

impl Story {
    /// What happens by a choice in this world.
    pub(crate) fn tell(&mut self, world: &World, choice: Choice, contents: &Contents) {
        self.events += 1;
        let sentence = sentence(world, choice, contents);
        writeln!(self.text, "{:>3}. {sentence}", self.events).expect("writing to a string cannot fail");
    }

    /// The law that breaks, and the books at that moment.
    pub(crate) fn end(mut self, broken: &Broken, world: &World, contents: &Contents) -> String {
        writeln!(self.text, "Then {broken}.\n\nThe books:").expect("writing to a string cannot fail");
        self.text.push_str(&books(world, contents));
        self.text
    }
}

fn sentence(world: &World, choice: Choice, contents: &Contents) -> String {
    let (what, host) = match choice {
        Choice::Deliver { letter, host } => {
            let letter = world.ready[letter];
            let again = if letter.redelivered { ", as redelivered" } else { "" };
            (format!("the broker hands {} to {}{again}", thing(letter, contents), name(host)), host)
        }
        Choice::Answer { host, delivery, answer } => {
            (answered(&world.hosts[host].deliveries[delivery], name(host), answer), host)
        }
        Choice::Keep { host, delivery } => {
            let it = &world.hosts[host].deliveries[delivery];
            let Some(Asks::Publish { to, .. }) = it.asks else { return String::new() };
            (
                format!(
                    "{} publishes the copy of m{} to {}; the broker keeps it",
                    name(host),
                    it.message + 1,
                    place(to)
                ),
                host,
            )
        }
        Choice::Take { host, delivery } => {
            let it = &world.hosts[host].deliveries[delivery];
            let Some(Asks::Settle { how, .. }) = it.asks else { return String::new() };
            (format!("{} {} m{}; the broker takes it", name(host), verb(how), it.message + 1), host)
        }
        Choice::Unread { host, delivery } => {
            let it = &world.hosts[host].deliveries[delivery];
            let Some(Asks::Settle { how, .. }) = it.asks else { return String::new() };
            let (host_name, message) = (name(host), it.message + 1);
            let text = format!(
                "{host_name} {} m{message} and takes that for sent; its connection ends before the broker reads it",
                verb(how)
            );
            (text, host)
        }
        Choice::Return { letter } => {
            return format!("{} comes back from the tier", thing(world.tier[letter], contents));
        }
        Choice::Cut { host } => (format!("the connection of {} is cut; what it holds goes back", name(host)), host),
        Choice::Crash { host } => {
            (format!("{} dies, with all that it remembers, and is started again", name(host)), host)
        }
        Choice::BrokerRestarts => return "the broker restarts: both connections end".to_owned(),
        Choice::Drain { host } => (format!("{} is asked to stop, and drains", name(host)), host),
        Choice::Abort { host } => (format!("the time of {} to drain is over", name(host)), host),
        Choice::Start { host } => (format!("{} is started again", name(host)), host),
        Choice::TimePasses { host } => (format!("time passes at {}", name(host)), host),
    };
    let drains = world.hosts[host].phase != Phase::Up && !matches!(choice, Choice::Abort { .. } | Choice::Start { .. });
    if drains { format!("{what} ({} is stopping)", name(host)) } else { what }
}

fn answered(it: &Delivery, host: &str, answer: Answer) -> String {
    let message = it.message + 1;
    let lost = if it.lost { ", though the broker has it back" } else { "" };
    let to = match it.asks {
        Some(Asks::Publish { to, .. }) => place(to),
        _ => "",
    };
    let kept = matches!(it.asks, Some(Asks::Publish { kept: true, .. }));
    match answer {
        Answer::Succeeded => format!("{host} handles m{message}: attempt {} succeeds{lost}", it.attempt),
        Answer::FailedRun => format!("{host} handles m{message}: attempt {} fails{lost}", it.attempt),
        Answer::Verdict(Said::Fault) => format!("the policy of {host} traps over m{message}"),
        Answer::Verdict(said) => format!("the policy of {host} says of m{message}: {}", word(said)),
        Answer::TimePassed => format!("{host} has waited for m{message} as long as it wanted"),
        Answer::Confirmed => format!("{host} gets the confirm for the copy of m{message}"),
        Answer::Outage if kept => format!("the confirm for the copy of m{message} is lost on its way to {host}"),
        Answer::Outage => format!("{host} publishes the copy of m{message} to {to}, and gets no answer"),
        Answer::Refused => format!("{host} publishes the copy of m{message} to {to}, which refuses it"),
        Answer::TooLarge => format!("{host} publishes the copy of m{message} to {to}, which finds it too large"),
        Answer::Settled => format!("{host} is done with its delivery of m{message}"),
        Answer::Gone => format!("{host} learns that it cannot settle m{message}: its channel has ended"),
    }
}

fn books(world: &World, contents: &Contents) -> String {
    let mut text = String::new();
    let mut line = |place: &str, letters: &[Letter]| {
        for letter in letters {
            writeln!(text, "  {place}: {}", thing(*letter, contents)).expect("writing to a string cannot fail");
        }
    };
    line("on the source", &world.ready);
    line("in the tier", &world.tier);
    line("in the dead-letter queue", &world.dead_letters);
    for (host, at) in world.hosts.iter().enumerate() {
        for it in &at.deliveries {
            let letter = Letter { message: it.message, content: it.content, redelivered: false };
            let holds = if it.holds.is_some() { "" } else { ", which the broker does not hold for it any more" };
            let asks = it.asks.map_or(String::new(), |it| format!("; it waits for {}", asks(it)));
            writeln!(text, "  in work at {}: {}{holds}{asks}", name(host), thing(letter, contents))
                .expect("writing to a string cannot fail");
        }
    }
    for (message, book) in world.books.iter().enumerate() {
        writeln!(
            text,
            "  m{}: handled {}, dropped {}; hand-overs of it that were caught in faults, and may count twice: {}",
            message + 1,
            times(book.successes),
            times(book.drops),
            book.caught_in_faults
        )
        .expect("writing to a string cannot fail");
    }
    text
}

fn times(count: u8) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        more => format!("{more} times"),
    }
}

fn asks(asks: Asks) -> String {
    match asks {
        Asks::Run { attempt } => format!("the end of attempt {attempt}"),
        Asks::Verdict => "a verdict".to_owned(),
        Asks::Time => "time to pass".to_owned(),
        Asks::Publish { to, kept, .. } => {
            format!("the confirm from {}{}", place(to), if kept { ", which keeps the copy" } else { "" })
        }
        Asks::Settle { how, .. } => format!("the broker, which it told that it {} it", verb(how)),
    }
}

fn thing(letter: Letter, contents: &Contents) -> String {
    let message = letter.message + 1;
    match contents.attempts(letter.content) {
        0 => format!("m{message}"),
        1 => format!("a copy of m{message} after 1 attempt"),
        attempts => format!("a copy of m{message} after {attempts} attempts"),
    }
}

fn place(to: Place) -> &'static str {
    match to {
        Place::Tier => "the tier",
        Place::DeadLetters => "the dead-letter queue",
    }
}

fn verb(how: How) -> &'static str {
    match how {
        How::Ack => "acknowledges",
        How::Reject => "rejects",
        How::Release => "releases",
    }
}

fn word(said: Said) -> &'static str {
    match said {
        Said::Retry => "retry",
        Said::Delay => "delay",
        Said::DeadLetter => "dead-letter",
        Said::Requeue => "requeue",
        Said::Drop => "drop",
        Said::Fault => "nothing",
    }
}
