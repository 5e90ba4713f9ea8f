//! What no Narad has: `/stand-in/…`, for whoever breaks a stand-in that is a process of its own.
//!
//! * `GET topics/T`: how many messages are `ready`, and `open` (also those that wait or are in somebody's hands), and how many
//!   `consumers` have asked for some, by their logins.
//! * `GET open/T`: the payloads of those that are open, as text. `GET counts`.
//! * `POST faults`: `[{"on": "ack", "times": 2, "fault": {"status": [503, "later"]}}]`. `POST heal`, `POST forget-leases`.

use std::sync::PoisonError;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, error, no_topic};
use crate::narad::cluster::Shared;
use crate::narad::faults::{Fault, On};
use crate::narad::http::Answer;

#[derive(Deserialize)]
struct Planned {
    on: On,
    times: u32,
    fault: Fault,
}

/// `None` where it is no such request.
pub(super) fn answer(shared: &Shared, call: &Call<'_>) -> Option<Answer> {
    let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
    let body = match (call.request.method.as_str(), &path[..]) {
        ("GET", ["stand-in", "topics", name]) => topic(shared, name),
        ("GET", ["stand-in", "open", name]) => open(shared, name),
        ("GET", ["stand-in", "counts"]) => Some(json!(shared.topics().counts)),
        ("POST", ["stand-in", "faults"]) => {
            let Ok(planned) = serde_json::from_slice::<Vec<Planned>>(&call.request.body) else {
                return Some(error(400, "no list of faults"));
            };
            shared.faults.clear();
            planned.into_iter().for_each(|Planned { on, times, fault }| shared.faults.plan(on, times, fault));
            Some(json!({}))
        }
        ("POST", ["stand-in", "heal"]) => {
            shared.faults.clear();
            Some(json!({}))
        }
        ("POST", ["stand-in", "forget-leases"]) => {
            shared.topics().topics.values_mut().for_each(crate::narad::topic::Topic::forget_leases);
            Some(json!({}))
        }
        _ => return None,
    };
    Some(body.map_or_else(no_topic, |body| Answer { status: 200, body: body.to_string().into_bytes() }))
}

fn topic(shared: &Shared, name: &str) -> Option<Value> {
    let consumers = shared.consumers.lock().unwrap_or_else(PoisonError::into_inner);
    let consumers = consumers.iter().filter(|(topic, _)| topic == name).count();
    let topics = shared.topics();
    let topic = topics.topics.get(name)?;
    Some(json!({ "ready": topic.ready(), "open": topic.unsettled().count(), "consumers": consumers }))
}

fn open(shared: &Shared, name: &str) -> Option<Value> {
    let topics = shared.topics();
    Some(topics.topics.get(name)?.unsettled().map(|record| String::from_utf8_lossy(&record.payload)).collect())
}
