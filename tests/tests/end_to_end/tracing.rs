//! Traces of the program, as a collector sees them, from a RabbitMQ.

use std::collections::BTreeMap;

use reprieve_tests::collector::{Collector, Mood, tree};
use serde_json::Value;

use crate::support::{Handler, Message, Program, Scene, answer, text, wait_until};

const SENDERS: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const SENDERS_TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SENDERS_SPAN: &str = "b7ad6b7169203331";

/// A route whose messages are tried once, once more out of a tier, and dead-lettered.
struct Stage {
    scene: Scene,
    handler: Handler,
    orders: String,
    dead_letters: String,
    tier: String,
}

impl Stage {
    fn new(ids: &[&str]) -> Self {
        let scene = Scene::new();
        let script = ids.iter().map(|id| ((*id).to_owned(), Value::from(vec![answer(503, "busy")])));
        let handler = scene.handler(&script.collect::<BTreeMap<_, _>>());
        let (orders, dead_letters, tier) = (scene.queue("orders"), scene.queue("dlq"), scene.tier(300));
        Self { scene, handler, orders, dead_letters, tier }
    }

    fn program(&self, telemetry: &str) -> Program {
        let program = self.scene.program(&format!(
            r#"
{telemetry}

[[routes]]
name = "orders"
broker = "main"
source = "{orders}"
handler = {{ kind = "http", url = "{url}" }}
dead_letters = {{ default = "{dead_letters}" }}
max_retry_delay = "10ms"

[routes.retry]
max_attempts = 2
initial_delay = "200ms"
"#,
            orders = self.orders,
            url = self.handler.url(),
            dead_letters = self.dead_letters,
        ));
        program.wait_until_ready();
        program
    }

    fn publish(&self, messages: &[Message]) {
        self.scene.broker.publish(&self.orders, messages);
    }

    fn wait_for_dead_letters(&self, count: usize) -> Vec<Message> {
        self.scene.broker.wait_for_count(&self.dead_letters, count as u64);
        self.scene.broker.take_all(&self.dead_letters)
    }

    /// What a person reads, without names that are new in each run.
    fn tree(&self, collector: &Collector) -> String {
        let tree = tree(&collector.spans());
        let names = [(&self.orders, "ORDERS"), (&self.dead_letters, "DEAD-LETTERS"), (&self.tier, "TIER")];
        names.iter().fold(tree, |tree, (name, role)| tree.replace(*name, role))
    }
}

fn telemetry(collector: &Collector) -> String {
    format!("[telemetry]\notlp = \"{}\"\nservice_name = \"order-service\"", collector.url())
}

#[test]
fn a_message_that_failed_through_a_tier_into_a_dead_letter_is_one_trace() {
    let (stage, collector) = (Stage::new(&["m"]), Collector::start(Mood::Takes));
    let mut program = stage.program(&telemetry(&collector));
    stage
        .publish(&[Message::new("m").with_header("traceparent", text(SENDERS)).with_header("tracestate", text("v=1"))]);
    let dead_letters = stage.wait_for_dead_letters(1);
    // Spans that have ended go out at an orderly end, however few they are.
    program.stop();

    let spans = collector.spans();
    assert!(spans.iter().all(|span| span.trace == SENDERS_TRACE && span.service == "order-service"), "{spans:#?}");
    insta::assert_snapshot!(stage.tree(&collector), @"
    process ORDERS! (consumer) attempt=1 error.type=busy verdict=delay outcome=delayed tier=TIER policy=standard reason=attempt 1 of 2 failed
      handle orders! (client) error.type=busy
      publish tier TIER (producer)
    process ORDERS! (consumer) attempt=2 error.type=busy verdict=dead-letter outcome=dead-lettered dead_letter.topic=DEAD-LETTERS policy=standard reason=attempt 2 of 2 failed
      handle orders! (client) error.type=busy
      publish DEAD-LETTERS (producer)
    ");
    let attempts: Vec<_> = spans.iter().filter(|span| span.kind == "consumer").collect();
    assert!(attempts.iter().all(|span| span.parent == SENDERS_SPAN), "{attempts:#?}");
    let said = |name: &str| attempts[1].attributes.get(name).map(String::as_str);
    assert_eq!(said("messaging.system"), Some("rabbitmq"));
    assert_eq!(said("messaging.operation.type"), Some("process"));
    assert_eq!(said("messaging.destination.name"), Some(stage.orders.as_str()));
    assert_eq!(said("messaging.message.id"), Some("m"));
    assert_eq!(said("messaging.rabbitmq.destination.routing_key"), Some(stage.orders.as_str()));
    assert_eq!(said("reprieve.policy.revision").map(str::len), Some(64));

    // The handler's spans would be under the host's; the sender's headers are on the dead letter as they were.
    let told: Vec<_> = stage.handler.asked().into_iter().filter_map(|event| event.traceparent).collect();
    let runs = spans.iter().filter(|span| span.kind == "client");
    assert_eq!(told, runs.map(|span| format!("00-{}-{}-01", span.trace, span.id)).collect::<Vec<_>>());
    assert_eq!((dead_letters[0].text("traceparent"), dead_letters[0].text("tracestate")), (Some(SENDERS), Some("v=1")));
}

#[test]
fn a_message_without_a_trace_begins_one_that_goes_on_after_the_tier() {
    let (stage, collector) = (Stage::new(&["m"]), Collector::start(Mood::Takes));
    let mut program = stage.program(&telemetry(&collector));
    stage.publish(&[Message::new("m")]);
    let dead_letters = stage.wait_for_dead_letters(1);
    program.stop();

    let spans = collector.spans();
    let root = &spans[0];
    assert_eq!(root.parent, "");
    assert!(spans.iter().all(|span| span.trace == root.trace), "{}", tree(&spans));
    insta::assert_snapshot!(stage.tree(&collector), @"
    process ORDERS! (consumer) attempt=1 error.type=busy verdict=delay outcome=delayed tier=TIER policy=standard reason=attempt 1 of 2 failed
      handle orders! (client) error.type=busy
      publish tier TIER (producer)
      process ORDERS! (consumer) attempt=2 error.type=busy verdict=dead-letter outcome=dead-lettered dead_letter.topic=DEAD-LETTERS policy=standard reason=attempt 2 of 2 failed
        handle orders! (client) error.type=busy
        publish DEAD-LETTERS (producer)
    ");
    assert_eq!(dead_letters[0].text("traceparent"), Some(format!("00-{}-{}-01", root.trace, root.id).as_str()));
}

#[test]
fn malformed_traces_are_ignored_and_stay_as_the_sender_wrote_them() {
    let malformed = ["nonsense", "00-00000000000000000000000000000000-b7ad6b7169203331-01", "ff-x"];
    let ids = ["0", "1", "2"];
    let (stage, collector) = (Stage::new(&ids), Collector::start(Mood::Takes));
    let mut program = stage.program(&telemetry(&collector));
    let message = |(id, trace): (&&str, &&str)| Message::new(id).with_header("traceparent", text(trace));
    stage.publish(&ids.iter().zip(&malformed).map(message).collect::<Vec<_>>());
    let dead_letters = stage.wait_for_dead_letters(3);
    program.stop();

    for letter in dead_letters {
        let index: usize = letter.id().parse().expect("a number");
        assert_eq!(letter.text("traceparent"), Some(malformed[index]));
    }
    let spans = collector.spans();
    assert!(spans.iter().filter(|span| span.kind == "consumer").all(|span| span.parent.is_empty()), "{}", tree(&spans));
}

#[test]
fn without_tracing_the_handler_is_told_the_senders_trace_and_copies_get_none() {
    let stage = Stage::new(&["traced", "plain", "broken"]);
    let mut program = stage.program("");
    stage.publish(&[
        Message::new("traced").with_header("traceparent", text(SENDERS)),
        Message::new("plain"),
        Message::new("broken").with_header("traceparent", text("nonsense")),
    ]);
    let dead_letters = stage.wait_for_dead_letters(3);
    program.stop();

    for event in stage.handler.asked() {
        assert_eq!(event.traceparent.as_deref(), (event.id == "traced").then_some(SENDERS), "{}", event.id);
    }
    let plain = dead_letters.iter().find(|letter| letter.id() == "plain").expect("three dead letters");
    assert_eq!(plain.text("traceparent"), None);
}

#[test]
fn a_collector_that_hangs_or_refuses_holds_no_message_back_and_is_told_once() {
    let ids: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    for mood in [Mood::Hangs, Mood::Answers(400), Mood::Answers(503)] {
        let (stage, collector) = (Stage::new(&names), Collector::start(mood));
        let secret = "headers = { authorization = \"Bearer hunter2\" }";
        let mut program = stage.program(&format!("{}\n{secret}", telemetry(&collector)));
        for half in names.chunks(10) {
            stage.publish(&half.iter().map(|id| Message::new(id)).collect::<Vec<_>>());
            wait_until("another batch is tried", || (!collector.heads().is_empty()).then_some(()));
        }
        assert_eq!(stage.wait_for_dead_letters(20).len(), 20);
        if mood == Mood::Answers(400) {
            wait_until("what is lost is counted", || {
                let (_, metrics) = program.get("/metrics");
                metrics.as_str()?.contains("reprieve_spans_lost_total{why=\"export\"}").then_some(())
            });
        }
        program.stop();

        let warnings = program
            .lines()
            .into_iter()
            .filter(|line| line["message"].as_str().is_some_and(|message| message.contains("takes no traces")));
        assert_eq!(warnings.count(), usize::from(mood != Mood::Hangs), "{mood:?}");
        assert!(collector.heads()[0].contains("authorization: bearer hunter2"));
        assert!(!program.lines().iter().any(|line| line.to_string().contains("hunter2")), "a secret in the log");
    }
}

#[test]
fn what_was_decided_about_sampling_holds_for_the_whole_trace() {
    let (stage, collector) = (Stage::new(&["new", "sampled", "unsampled"]), Collector::start(Mood::Takes));
    let mut program = stage.program(&format!("{}\nsample = 0.0", telemetry(&collector)));
    let unsampled = SENDERS.replace("-01", "-00");
    stage.publish(&[
        Message::new("new"),
        Message::new("sampled").with_header("traceparent", text(SENDERS)),
        Message::new("unsampled").with_header("traceparent", text(&unsampled)),
    ]);
    let dead_letters = stage.wait_for_dead_letters(3);
    program.stop();

    let spans = collector.spans();
    assert!(!spans.is_empty() && spans.iter().all(|span| span.trace == SENDERS_TRACE), "{}", tree(&spans));
    assert!(spans.iter().filter_map(|span| span.attributes.get("messaging.message.id")).all(|id| id == "sampled"));
    // Later attempts are told not to record it either.
    let new = dead_letters.iter().find(|letter| letter.id() == "new").expect("three dead letters");
    assert!(new.text("traceparent").is_some_and(|trace| trace.ends_with("-00")), "{new:?}");
    let told = stage.handler.asked().into_iter().filter(|event| event.id == "unsampled");
    assert!(told.map(|event| event.traceparent).all(|trace| trace.as_deref() == Some(unsampled.as_str())));
}
