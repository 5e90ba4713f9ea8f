//! The file that keeps topics and messages: a line of JSON for each thing that happened.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

use super::topic::Topic;

/// Bytes are in base64.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Event {
    Created {
        name: String,
        topic: Settings,
    },
    /// At so many milliseconds since 1970.
    Produced {
        topic: String,
        key: Option<String>,
        payload: String,
        at: u64,
    },
    Taken {
        topic: String,
        partition: usize,
        offset: usize,
    },
    Settled {
        topic: String,
        partition: usize,
        offset: usize,
    },
    GivenBack,
    Asked {
        handle: String,
    },
    Answered {
        status: u16,
    },
}

/// What a topic is made with.
#[derive(Serialize, Deserialize)]
pub(super) struct Settings {
    partitions: usize,
    retention_ms: u64,
    visibility_ms: u64,
    parent: Option<String>,
    delay_ms: u64,
}

impl Event {
    pub(super) fn created(name: &str, topic: &Topic) -> Self {
        let topic = Settings {
            partitions: topic.partition_count(),
            retention_ms: topic.retention_ms,
            visibility_ms: millis(topic.visibility),
            parent: topic.parent.clone(),
            delay_ms: topic.delay_ms,
        };
        Self::Created { name: name.to_owned(), topic }
    }

    pub(super) fn produced(topic: &str, key: Option<&[u8]>, payload: &[u8], at: SystemTime) -> Self {
        Self::Produced {
            topic: topic.to_owned(),
            key: key.map(|key| STANDARD.encode(key)),
            payload: STANDARD.encode(payload),
            at: millis(at.duration_since(UNIX_EPOCH).unwrap_or_default()),
        }
    }
}

impl From<Settings> for Topic {
    fn from(settings: Settings) -> Self {
        let Settings { partitions, retention_ms, visibility_ms, parent, delay_ms } = settings;
        let mut topic = Self::new(partitions, retention_ms, Duration::from_millis(visibility_ms));
        (topic.parent, topic.delay_ms) = (parent, delay_ms);
        topic
    }
}

/// Reads what is there, and gives the file to add to. A last line without an end was being written when the process ended: nobody
/// was answered for it, and it is cut off.
pub(super) fn open(path: &Path, mut each: impl FnMut(Event)) -> Result<File> {
    let name = path.display();
    let options = OpenOptions::new().read(true).append(true).create(true).open(path);
    let file = options.with_context(|| format!("cannot open {name}"))?;
    let (mut reader, mut line, mut whole) = (BufReader::new(&file), Vec::new(), 0);
    while reader.read_until(b'\n', &mut line).with_context(|| format!("cannot read {name}"))? > 0 {
        if line.last() != Some(&b'\n') {
            break;
        }
        each(serde_json::from_slice(&line).with_context(|| format!("{name} is no file of the stand-in's"))?);
        whole += line.len() as u64;
        line.clear();
    }
    file.set_len(whole).with_context(|| format!("cannot write {name}"))?;
    Ok(file)
}

pub(super) fn line(event: &Event) -> Vec<u8> {
    let mut line = serde_json::to_vec(event).expect("an event is JSON");
    line.push(b'\n');
    line
}

pub(super) fn bytes(base64: String) -> Vec<u8> {
    STANDARD.decode(base64).expect("only this module writes it")
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
