//! Prepares each route's broker, as a host does before it takes the first message.

use std::fmt::Write as _;

use anyhow::Context as _;
use humantime::format_duration;

use crate::broker::Prepared;
use crate::host::HostSpec;

/// What the brokers said.
pub(super) struct Answers {
    /// A few lines for each route, for people.
    pub(super) text: String,
    /// Every route could take messages now.
    pub(super) all_fit: bool,
}

/// Connects, checks and declares for one route after the other. No message is touched.
///
/// # Errors
/// The system gives no threads or sockets to connect with.
pub(super) fn connect(spec: &HostSpec) -> anyhow::Result<Answers> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot connect")?;
    Ok(runtime.block_on(ask_all(spec)))
}

async fn ask_all(spec: &HostSpec) -> Answers {
    let mut answers = Answers { text: "\nbrokers\n".to_owned(), all_fit: true };
    for hosted in &spec.routes {
        let route = &hosted.route;
        match route.broker.prepare(&route.plan()).await {
            Ok(prepared) => {
                answers.line(&route.name, "ready");
                answers.details(&prepared, route.ordering.is_some(), route.broker.capabilities().partitions);
            }
            Err(error) => {
                answers.all_fit = false;
                answers.line(&route.name, &format!("error: {error}"));
            }
        }
    }
    for hosted in &spec.routes {
        hosted.route.broker.close().await;
    }
    answers
}

impl Answers {
    /// What was found out, what is doubtful, and what nobody could tell.
    fn details(&mut self, prepared: &Prepared, ordered: bool, partitions: bool) {
        if ordered && prepared.single_active_consumer == Some(true) {
            let whom = match partitions {
                true => "each partition is given to one host at a time",
                false => "only one consumer at a time is given messages (single active consumer)",
            };
            self.line("", whom);
        }
        if let Some(hold) = &prepared.hold {
            let (hold, retry) = (format_duration(hold.max_hold), format_duration(hold.max_retry_delay));
            self.line("", &format!("by the queue's own consumer timeout, a delivery is held for at most {hold}, a retry waits at most {retry}"));
        }
        for remark in &prepared.remarks {
            let begins = if remark.starts_with("not checked: ") { "" } else { "note: " };
            self.line("", &format!("{begins}{remark}"));
        }
    }

    fn line(&mut self, name: &str, text: &str) {
        writeln!(self.text, "  {name:<13} {text}").expect("a String takes all that is written");
    }
}
