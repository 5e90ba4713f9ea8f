//! Acks, extends and nacks: the calls that a lease is settled or renewed by, and what their answers mean.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::StatusCode;
use serde::{Deserialize, Serialize};

use super::nodes::{Call, NoReply, Nodes, Reply};

/// So many handles are settled by one request at most, and their text must stay below this.
pub(super) const MOST_HANDLES: usize = 100;
const BATCH_BODY: usize = 60 * 1024;

/// What a node is told of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Mode {
    /// The message is done.
    Ack,
    /// It lasts for a whole visibility timeout again.
    Extend,
    /// It ends, and the message is anybody's.
    Nack,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// It is so.
    Done,
    /// There is no such lease: it ran out, or was settled before.
    Gone,
    /// Not now.
    Later {
        /// It may have been carried out all the same.
        in_doubt: bool,
        /// What was said, or that nothing was.
        why: String,
    },
}

#[derive(Serialize)]
struct Batch<'a> {
    receipt_handles: &'a [&'a str],
}

#[derive(Deserialize)]
struct Results {
    results: Vec<OneResult>,
}

#[derive(Deserialize)]
struct OneResult {
    status: u16,
    #[serde(default)]
    error: String,
}

/// Tells of one lease.
pub(super) async fn settle(nodes: &Nodes, topic: &str, handle: &str, mode: Mode, timeout: Duration) -> Answer {
    let call = call(topic, mode, timeout).with("receipt_handle", handle);
    match nodes.ask(&call).await {
        Ok(reply) => read(reply.status.as_u16(), || reply.shown()),
        Err(none) => unanswered(&none),
    }
}

/// Tells of leases of one topic, by one request where the node knows how. The answers are in the order of the handles.
pub(super) async fn settle_many(
    nodes: &Nodes,
    topic: &str,
    handles: &[&str],
    mode: Mode,
    timeout: Duration,
) -> Vec<Answer> {
    let mut answers = Vec::with_capacity(handles.len());
    for some in requests(handles) {
        if some.len() > 1
            && nodes.may_batch()
            && let Some(batch) = settle_batch(nodes, topic, some, mode, timeout).await
        {
            answers.extend(batch);
            continue;
        }
        answers.extend(join_all(some.iter().map(|handle| settle(nodes, topic, handle, mode, timeout))).await);
    }
    answers
}

/// `None` where the node does not know batches, and so did nothing.
async fn settle_batch(
    nodes: &Nodes,
    topic: &str,
    handles: &[&str],
    mode: Mode,
    timeout: Duration,
) -> Option<Vec<Answer>> {
    let body = serde_json::to_vec(&Batch { receipt_handles: handles }).expect("texts can be written as JSON");
    let reply = match nodes.ask(&call(topic, mode, timeout).with_body(body)).await {
        Ok(reply) => reply,
        Err(none) => return Some(vec![unanswered(&none); handles.len()]),
    };
    match reply.status {
        StatusCode::OK => match results(&reply, handles.len()) {
            Ok(results) => {
                Some(results.into_iter().map(|result| read(result.status, || result.error.clone())).collect())
            }
            Err(why) => Some(vec![Answer::Later { in_doubt: true, why }; handles.len()]),
        },
        // Before v3.1.0 it misses the parameter.
        StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE => {
            nodes.is_old(&reply);
            None
        }
        status => Some(vec![read(status.as_u16(), || reply.shown()); handles.len()]),
    }
}

fn results(reply: &Reply, expected: usize) -> Result<Vec<OneResult>, String> {
    let Results { results } = reply.read()?;
    if results.len() == expected {
        Ok(results)
    } else {
        Err(format!("{} results came back for {expected} receipt handles", results.len()))
    }
}

fn call<'a>(topic: &'a str, mode: Mode, timeout: Duration) -> Call<'a> {
    let call = Call::post(&["v1", "topics", topic, "ack"], timeout);
    match mode {
        Mode::Ack => call,
        Mode::Extend => call.with("extend", "true"),
        Mode::Nack => call.with("extend", "0"),
    }
}

fn read(status: u16, shown: impl Fn() -> String) -> Answer {
    match status {
        200 | 204 => Answer::Done,
        // The topic is gone and its messages with it; or the handle means nothing to it, and never will.
        400 | 404 | 410 => Answer::Gone,
        // It did not get as far as the lease: too many requests, or its owner is down (until v2.1: too many acks ahead).
        401 | 403 | 415 | 429 | 503 => Answer::Later { in_doubt: false, why: shown() },
        _ => Answer::Later { in_doubt: true, why: shown() },
    }
}

fn unanswered(none: &NoReply) -> Answer {
    Answer::Later { in_doubt: matches!(none, NoReply::Unanswered(_)), why: none.to_string() }
}

/// Cuts handles into requests.
fn requests<'h>(handles: &'h [&'h str]) -> Vec<&'h [&'h str]> {
    let (mut requests, mut rest) = (Vec::new(), handles);
    while !rest.is_empty() {
        let mut size = 0;
        let fits = |handle: &&&str| {
            size += handle.len() + 3;
            size <= BATCH_BODY
        };
        let count = rest.iter().take(MOST_HANDLES).take_while(fits).count().max(1);
        let (request, behind) = rest.split_at(count);
        requests.push(request);
        rest = behind;
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_so_many_handles_and_bytes_at_most() {
        let handles = vec!["0:0:1"; 250];
        let sizes: Vec<usize> = requests(&handles).into_iter().map(<[&str]>::len).collect();
        assert_eq!(sizes, [100, 100, 50]);
        let long = "x".repeat(40 * 1024);
        let handles = [long.as_str(), long.as_str(), "0:0:1"];
        let sizes: Vec<usize> = requests(&handles).into_iter().map(<[&str]>::len).collect();
        assert_eq!(sizes, [1, 2]);
        let longer = "x".repeat(70 * 1024);
        assert_eq!(requests(&[longer.as_str()]).len(), 1);
    }

    #[test]
    fn an_answer_says_whether_the_lease_was_touched() {
        let read = |status| read(status, String::new);
        assert_eq!((read(204), read(410)), (Answer::Done, Answer::Gone));
        for status in [429, 503] {
            assert!(matches!(read(status), Answer::Later { in_doubt: false, .. }), "{status}");
        }
        for status in [421, 499, 500, 502, 504, 302] {
            assert!(matches!(read(status), Answer::Later { in_doubt: true, .. }), "{status}");
        }
    }
}
