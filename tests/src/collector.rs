//! A small OTLP collector: takes spans by HTTP, and shows traces so that a person can read them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use prost::Message as _;

/// A span as it came.
#[derive(Debug, Clone)]
pub struct Span {
    /// In hexadecimal digits.
    pub trace: String,
    /// In hexadecimal digits.
    pub id: String,
    /// Empty where it has none.
    pub parent: String,
    /// Such as `process orders`.
    pub name: String,
    /// `consumer`, `client` or `producer`.
    pub kind: &'static str,
    /// It ended with an error.
    pub failed: bool,
    /// When it began, in nanoseconds.
    pub start: u64,
    /// By name, each as text.
    pub attributes: BTreeMap<String, String>,
    /// Name and attributes.
    pub events: Vec<(String, BTreeMap<String, String>)>,
    /// What the resource says of the program.
    pub service: String,
}

/// What the collector does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// Takes the spans.
    Takes,
    /// Answers with this status.
    Answers(u16),
    /// Reads the request and never answers.
    Hangs,
}

/// A collector on a port of its own.
pub struct Collector {
    address: SocketAddr,
    shared: Arc<Shared>,
    listens: Option<JoinHandle<()>>,
}

struct Shared {
    mood: Mutex<Mood>,
    spans: Mutex<Vec<Span>>,
    heads: Mutex<Vec<String>>,
    ended: AtomicBool,
}

impl Collector {
    /// Starts one.
    ///
    /// # Panics
    /// There is no free port.
    #[must_use]
    pub fn start(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared {
            mood: Mutex::new(mood),
            spans: Mutex::default(),
            heads: Mutex::default(),
            ended: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        let listens = std::thread::spawn(move || {
            let mut hung = Vec::new();
            for stream in listener.incoming() {
                if serving.ended.load(Ordering::Acquire) {
                    return;
                }
                // A client that goes away in between is no matter of the collector's.
                if let Ok(Some(stream)) = stream.and_then(|stream| serving.serve(stream)) {
                    hung.push(stream);
                }
            }
        });
        Self { address, shared, listens: Some(listens) }
    }

    /// Where it takes spans.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on it does so.
    pub fn set_mood(&self, mood: Mood) {
        *lock(&self.shared.mood) = mood;
    }

    /// Every span so far, in order of begin.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        let mut spans = lock(&self.shared.spans).clone();
        spans.sort_by_key(|span| span.start);
        spans
    }

    /// The head of each request so far, in lower case.
    #[must_use]
    pub fn heads(&self) -> Vec<String> {
        lock(&self.shared.heads).clone()
    }

    /// Waits until it has so many spans.
    ///
    /// # Panics
    /// They do not come within half a minute.
    #[must_use]
    pub fn wait_for(&self, count: usize) -> Vec<Span> {
        let begin = Instant::now();
        loop {
            let spans = self.spans();
            if spans.len() >= count {
                return spans;
            }
            assert!(begin.elapsed() < Duration::from_secs(30), "{} spans of {count}:\n{}", spans.len(), tree(&spans));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        // Wakes it; where it is gone already there is nothing to wake.
        drop(TcpStream::connect(self.address));
        if let Some(listens) = self.listens.take()
            && listens.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the collector panicked");
        }
    }
}

impl Shared {
    /// Takes one request; gives the connection back where it is to hang.
    fn serve(&self, stream: TcpStream) -> std::io::Result<Option<TcpStream>> {
        let mut reader = BufReader::new(&stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(None);
            }
        }
        head.make_ascii_lowercase();
        let length = head.split_once("content-length: ").and_then(|(_, rest)| rest.split("\r\n").next()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body)?;
        lock(&self.heads).push(head);
        let mood = *lock(&self.mood);
        let status = match mood {
            Mood::Hangs => return Ok(Some(stream)),
            Mood::Answers(status) => status,
            Mood::Takes => {
                let request = ExportTraceServiceRequest::decode(&*body).expect("a request of OTLP");
                lock(&self.spans).extend(read(request));
                200
            }
        };
        write!(&stream, "HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")?;
        Ok(None)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read(request: ExportTraceServiceRequest) -> Vec<Span> {
    let mut spans = Vec::new();
    for resource in request.resource_spans {
        let about = attributes(resource.resource.unwrap_or_default().attributes);
        let service = about.get("service.name").cloned().unwrap_or_default();
        for span in resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            let kinds = ["unspecified", "internal", "server", "client", "producer", "consumer"];
            spans.push(Span {
                trace: hex(&span.trace_id),
                id: hex(&span.span_id),
                parent: hex(&span.parent_span_id),
                name: span.name,
                kind: usize::try_from(span.kind).ok().and_then(|kind| kinds.get(kind)).expect("a kind of OTLP"),
                failed: span.status.is_some_and(|status| status.code == 2),
                start: span.start_time_unix_nano,
                attributes: attributes(span.attributes),
                events: span.events.into_iter().map(|event| (event.name, attributes(event.attributes))).collect(),
                service: service.clone(),
            });
        }
    }
    spans
}

fn attributes(list: Vec<KeyValue>) -> BTreeMap<String, String> {
    let mut attributes = BTreeMap::new();
    for attribute in list {
        let text = match attribute.value.and_then(|value| value.value) {
            Some(any_value::Value::StringValue(text)) => text,
            Some(any_value::Value::IntValue(number)) => number.to_string(),
            Some(any_value::Value::BoolValue(truth)) => truth.to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(attributes.insert(attribute.key.clone(), text), None, "{} is said twice", attribute.key);
    }
    attributes
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Spans as a tree: those whose parent is not among them stand on the left.
#[must_use]
pub fn tree(spans: &[Span]) -> String {
    let mut text = String::new();
    for span in spans.iter().filter(|span| !spans.iter().any(|other| other.id == span.parent)) {
        branch(span, spans, 0, &mut text);
    }
    text
}

/// What a person looks for first, and what does not change from run to run.
const SHOWN: [&str; 9] = [
    "reprieve.attempt",
    "error.type",
    "reprieve.verdict",
    "reprieve.outcome",
    "reprieve.tier",
    "reprieve.dead_letter.topic",
    "reprieve.policy",
    "reprieve.reason",
    "reprieve.cancelled",
];

fn branch(span: &Span, spans: &[Span], depth: usize, text: &mut String) {
    let failed = if span.failed { "!" } else { "" };
    text.push_str(&format!("{}{}{failed} ({})", "  ".repeat(depth), span.name, span.kind));
    for name in SHOWN {
        if let Some(value) = span.attributes.get(name) {
            text.push_str(&format!(" {}={value}", name.trim_start_matches("reprieve.")));
        }
    }
    for (name, _) in &span.events {
        text.push_str(&format!(" *{name}"));
    }
    text.push('\n');
    for child in spans.iter().filter(|child| child.parent == span.id) {
        branch(child, spans, depth + 1, text);
    }
}
