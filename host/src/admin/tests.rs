use std::net::SocketAddr;

use reqwest::{Client, Response};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::*;
use crate::event::{EventKind, Subject};
use crate::http_client;
use crate::message::Message;

/// A host of which a test says how it is.
struct Host {
    not_ready: Vec<NotReady>,
}

impl StatusSource for Host {
    fn not_ready(&self) -> Vec<NotReady> {
        self.not_ready.clone()
    }

    fn status(&self) -> Map<String, Value> {
        let Value::Object(status) = json!({ "routes": [{ "name": "orders" }] }) else { unreachable!() };
        status
    }

    fn steer(&self, route: String, action: CandidateAction) -> BoxFuture<'_, Result<String, String>> {
        let known = route == "orders";
        let said =
            if known { Ok(format!("{action:?} on {route}")) } else { Err(format!("there is no route {route:?}")) };
        Box::pin(std::future::ready(said))
    }
}

/// A listener on a port of its own, which ends with the test's runtime.
struct Admin {
    address: SocketAddr,
    observer: Observer,
}

impl Admin {
    async fn start(not_ready: Vec<NotReady>, brokers: &[(&str, &MemoryBroker)]) -> Self {
        Self::start_with(None, not_ready, brokers).await
    }

    async fn start_with(token: Option<&str>, not_ready: Vec<NotReady>, brokers: &[(&str, &MemoryBroker)]) -> Self {
        let observer = Observer::new();
        let brokers = brokers.iter().map(|(name, broker)| ((*name).to_owned(), (*broker).clone())).collect();
        let state =
            AdminState::new(Arc::new(Host { not_ready }), observer.clone(), brokers).with_token(token.map(Secret::new));
        let listener = server::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(server::serve(listener, router(state), std::future::pending()));
        Self { address, observer }
    }

    async fn with_orders(broker: &MemoryBroker) -> Self {
        broker.publish_to("orders", Message::new("old").with_id("old")).unwrap();
        let _ = broker.drain("orders");
        Self::start(Vec::new(), &[("main", broker)]).await
    }

    async fn get(&self, path: &str) -> Response {
        client().get(self.url(path)).send().await.unwrap()
    }

    async fn post(&self, path: &str, body: &'static str) -> Response {
        client().post(self.url(path)).body(body).send().await.unwrap()
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

fn client() -> Client {
    http_client::builder().no_proxy().build().unwrap()
}

async fn json_of(response: Response) -> Value {
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

async fn answer(response: Response) -> (u16, String) {
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test]
async fn a_host_that_is_not_ready_is_alive_and_says_what_it_waits_for() {
    let waits = NotReady { route: "orders".into(), reason: "no policy yet".into() };
    let admin = Admin::start(vec![waits], &[]).await;

    assert_eq!(admin.get("/healthz").await.status(), 200);
    let ready = admin.get("/readyz").await;
    assert_eq!(ready.status(), 503);
    let expected = json!({ "ready": false, "not_ready": [{ "route": "orders", "reason": "no policy yet" }] });
    assert_eq!(json_of(ready).await, expected);
}

#[tokio::test]
async fn a_ready_host_says_so() {
    let admin = Admin::start(Vec::new(), &[]).await;
    let ready = admin.get("/readyz").await;
    assert_eq!(ready.status(), 200);
    assert_eq!(json_of(ready).await, json!({ "ready": true, "not_ready": [] }));
}

#[tokio::test]
async fn with_a_token_only_its_bearer_is_told_and_served() {
    let broker = MemoryBroker::default();
    broker.publish_to("orders", Message::new("1")).unwrap();
    let waits = NotReady { route: "orders".into(), reason: "cannot reach mq.internal".into() };
    let admin = Admin::start_with(Some("0123456789abcdef"), vec![waits], &[("main", &broker)]).await;
    let get = |path: &str, authorization: Option<&str>| {
        let request = client().get(admin.url(path));
        authorization.into_iter().fold(request, |request, value| request.header("authorization", value)).send()
    };

    for path in ["/status", "/metrics", "/topics", "/topics/orders", "/nowhere", "/healthz/", "//healthz"] {
        for wrong in [
            None,
            Some("0123456789abcdef"),
            Some("Basic 0123456789abcdef"),
            Some("Bearer 0123456789abcdee"),
            Some("Bearer 0123456789abcdef0"),
            Some("Bearer 0123456789abcde"),
            Some("Bearer "),
            Some("Bearer"),
        ] {
            let refused = get(path, wrong).await.unwrap();
            assert_eq!(
                (refused.status().as_u16(), &refused.headers()["www-authenticate"]),
                (401, &"Bearer".parse().unwrap())
            );
            let text = refused.text().await.unwrap();
            assert!(text.contains("admin_token") && !text.contains("0123"), "{text}");
        }
    }
    assert_eq!(admin.post("/topics/orders", "2").await.status(), 401);
    assert_eq!(broker.depth("orders").ready, 1, "what was refused was not done");

    let right = Some("bearer 0123456789abcdef");
    for path in ["/status", "/metrics", "/topics", "/topics/orders"] {
        assert_eq!(get(path, right).await.unwrap().status(), 200, "{path}");
    }
    assert_eq!(get("/nowhere", right).await.unwrap().status(), 404);
    assert_eq!(answer(get("/healthz", None).await.unwrap()).await, (200, "ok\n".to_owned()));
    let ready = get("/readyz", None).await.unwrap();
    assert_eq!(answer(ready).await, (503, r#"{"ready":false}"#.to_owned()), "a probe needs no more");
    let ready = json_of(get("/readyz", right).await.unwrap()).await;
    assert_eq!(ready["not_ready"][0]["reason"], "cannot reach mq.internal");
}

#[tokio::test]
async fn status_joins_the_hosts_routes_with_version_and_uptime() {
    let admin = Admin::start(Vec::new(), &[]).await;
    let status = json_of(admin.get("/status").await).await;
    assert_eq!(status["routes"], json!([{ "name": "orders" }]));
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert!(status["uptime_seconds"].is_u64());
    assert_eq!(status["ready"], true);
}

#[tokio::test]
async fn metrics_are_prometheus_text() {
    let admin = Admin::start(Vec::new(), &[]).await;
    let subject = Subject { id: None, source: "orders".into(), attempt: 1 };
    admin.observer.emit(&"orders".into(), EventKind::Consumed { subject, error: None });

    let metrics = admin.get("/metrics").await;
    assert_eq!(metrics.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let text = metrics.text().await.unwrap();
    assert!(text.contains("# TYPE reprieve_events_total counter"), "{text}");
    assert!(text.contains(r#"event="consumed",topic="orders""#), "{text}");
}

#[tokio::test]
async fn an_unknown_path_is_answered_with_the_known_ones() {
    let admin = Admin::start(Vec::new(), &[]).await;
    let (code, text) = answer(admin.get("/metricz").await).await;
    assert_eq!(code, 404);
    assert!(text.contains("/metrics"), "{text}");
}

#[tokio::test]
async fn a_posted_body_becomes_a_message_with_id_key_type_and_headers() {
    let broker = MemoryBroker::default();
    let admin = Admin::with_orders(&broker).await;
    let response = client()
        .post(admin.url("/topics/orders"))
        .header("reprieve-id", "o-1")
        .header("reprieve-key", "customer-7")
        .header("reprieve-header-tenant", "blue")
        .header("content-type", "application/json")
        .header("x-unrelated", "1")
        .body(r#"{"total": 5}"#)
        .send()
        .await
        .unwrap();

    assert_eq!(response.status(), 202);
    assert_eq!(json_of(response).await, json!({ "id": "o-1", "broker": "main", "topic": "orders" }));
    let message = broker.drain("orders").remove(0);
    assert_eq!(message.id.as_deref(), Some("o-1"));
    assert_eq!(message.key.as_deref(), Some(&b"customer-7"[..]));
    assert_eq!(message.body.as_deref(), Some(&br#"{"total": 5}"#[..]));
    assert_eq!(message.properties.content_type.as_deref(), Some("application/json"));
    assert_eq!(message.headers.text("tenant"), Some("blue"));
    assert_eq!(message.headers.len(), 1);
    assert!(message.timestamp.is_some());
}

#[tokio::test]
async fn a_message_without_an_id_is_given_one() {
    let broker = MemoryBroker::default();
    let admin = Admin::with_orders(&broker).await;
    let first = json_of(admin.post("/topics/orders", "1").await).await;
    let second = json_of(admin.post("/topics/orders", "2").await).await;

    let messages = broker.drain("orders");
    assert_eq!(first["id"].as_str(), messages[0].id.as_deref());
    assert_eq!(second["id"].as_str(), messages[1].id.as_deref());
    assert_ne!(first["id"], second["id"]);
}

#[tokio::test]
async fn a_misspelt_topic_is_answered_with_the_topics_that_exist_and_is_not_made() {
    let broker = MemoryBroker::default();
    let admin = Admin::with_orders(&broker).await;
    let (code, text) = answer(admin.post("/topics/oders", "1").await).await;
    assert_eq!(code, 404);
    assert_eq!(
        text,
        "memory broker main has no topic oders; it has those that routes consume or publish to, once these are ready: orders\n"
    );
    assert_eq!(broker.queues(), ["orders"]);
}

#[tokio::test]
async fn a_full_topic_is_unavailable_and_says_why() {
    let broker = MemoryBroker::new(1);
    let admin = Admin::with_orders(&broker).await;
    assert_eq!(admin.post("/topics/orders", "1").await.status(), 202);
    let (code, text) = answer(admin.post("/topics/orders", "2").await).await;
    assert_eq!(code, 503);
    assert!(text.contains("queue orders is full"), "{text}");
}

#[tokio::test]
async fn an_id_that_is_not_text_is_a_bad_request() {
    let broker = MemoryBroker::default();
    let admin = Admin::with_orders(&broker).await;
    let id = reqwest::header::HeaderValue::from_bytes(b"\xff").unwrap();
    let response = client().post(admin.url("/topics/orders")).header("reprieve-id", id).send().await.unwrap();
    let (code, text) = answer(response).await;
    assert_eq!(code, 400);
    assert!(text.contains("reprieve-id is not UTF-8"), "{text}");
}

#[tokio::test]
async fn a_body_past_the_limit_is_refused_with_the_limit() {
    let broker = MemoryBroker::default();
    let admin = Admin::with_orders(&broker).await;
    let body = vec![b'x'; MAX_BODY_BYTES + 1];
    let response = client().post(admin.url("/topics/orders")).body(body).send().await.unwrap();
    let (code, text) = answer(response).await;
    assert_eq!(code, 413);
    assert!(text.contains("at most 16777216 bytes"), "{text}");
    assert!(broker.drain("orders").is_empty());
}

#[tokio::test]
async fn with_several_memory_brokers_the_request_names_one() {
    let (one, two) = (MemoryBroker::default(), MemoryBroker::default());
    two.publish_to("orders", Message::new("1")).unwrap();
    let admin = Admin::start(Vec::new(), &[("one", &one), ("two", &two)]).await;

    let (code, text) = answer(admin.post("/topics/orders", "2").await).await;
    assert_eq!((code, text.contains("?broker= and one of: one, two")), (409, true), "{text}");
    assert_eq!(admin.post("/topics/orders?broker=two", "2").await.status(), 202);
    let (code, text) = answer(admin.post("/topics/orders?broker=three", "2").await).await;
    assert_eq!((code, text.contains("there is: one, two")), (404, true), "{text}");
    assert_eq!(two.depth("orders").ready, 2);
}

#[tokio::test]
async fn without_a_memory_broker_there_are_no_topics() {
    let admin = Admin::start(Vec::new(), &[]).await;
    let (code, text) = answer(admin.post("/topics/orders", "1").await).await;
    assert_eq!(code, 404);
    assert!(text.contains("brokers of kind \"memory\" only"), "{text}");
}

#[tokio::test]
async fn a_topic_can_be_looked_at_without_consuming_from_it() {
    let broker = MemoryBroker::default();
    for id in ["1", "2", "3"] {
        broker.publish_to("orders.dlq", Message::new("body").with_id(id)).unwrap();
    }
    let admin = Admin::start(Vec::new(), &[("main", &broker)]).await;

    let shown = json_of(admin.get("/topics/orders.dlq?limit=2").await).await;
    assert_eq!((&shown["topic"], &shown["ready"]), (&json!("orders.dlq"), &json!(3)));
    let ids: Vec<_> = shown["messages"].as_array().unwrap().iter().map(|message| &message["id"]).collect();
    assert_eq!(ids, ["1", "2"]);
    assert_eq!(broker.depth("orders.dlq").ready, 3);

    let all = json_of(admin.get("/topics").await).await;
    assert_eq!(all, json!([{ "broker": "main", "topic": "orders.dlq", "ready": 3, "unsettled": 0, "delayed": 0 }]));
}

#[tokio::test]
async fn a_limit_that_is_no_number_is_a_bad_request() {
    let broker = MemoryBroker::default();
    let admin = Admin::with_orders(&broker).await;
    let (code, text) = answer(admin.get("/topics/orders?limit=all").await).await;
    assert_eq!((code, text.contains("limit is all")), (400, true), "{text}");
}

#[tokio::test]
async fn a_broker_with_an_unusual_name_can_be_named() {
    let broker = MemoryBroker::default();
    broker.publish_to("orders/eu", Message::new("1")).unwrap();
    let admin = Admin::start(Vec::new(), &[("a & b", &broker), ("c", &broker)]).await;
    assert_eq!(admin.post("/topics/orders%2Feu?broker=a%20%26%20b", "2").await.status(), 202);
    assert_eq!(broker.depth("orders/eu").ready, 2);
}

#[tokio::test]
async fn a_taken_port_is_named_with_the_setting_to_change() {
    let taken = server::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = server::bind(&address).await.unwrap_err().to_string();
    assert!(error.contains(&address) && error.contains("`admin` in [host]"), "{error}");
}

#[tokio::test]
async fn service_ends_when_asked_even_while_a_client_does_not_finish_its_request() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let state = AdminState::new(Arc::new(Host { not_ready: Vec::new() }), Observer::new(), BTreeMap::new());
    let listener = server::bind("127.0.0.1:0").await.unwrap();
    let mut client = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stop, stopped) = oneshot::channel();
    let server = tokio::spawn(server::serve(listener, router(state), async move { stopped.await.unwrap() }));

    let request = b"POST /topics/orders HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\nexpect: 100-continue\r\n\r\n";
    client.write_all(request).await.unwrap();
    // Being asked to go on means that the request is being read.
    let mut answer = [0; 12];
    client.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100");

    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_candidate_is_steered_by_a_post_and_what_cannot_be_done_is_said() {
    let admin = Admin::start(Vec::new(), &[]).await;
    let answer = async |path: &str| {
        let answer = admin.post(path, "").await;
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    assert_eq!(answer("/routes/orders/candidate/promote").await, (200, "Promote on orders\n".to_owned()));
    assert_eq!(answer("/routes/orders/candidate/rollback").await, (200, "RollBack on orders\n".to_owned()));
    assert_eq!(answer("/routes/order/candidate/hold").await, (409, "there is no route \"order\"\n".to_owned()));
    assert_eq!(answer("/routes/orders/candidate/drop").await.0, 404);
    assert_eq!(admin.get("/routes/orders/candidate/promote").await.status().as_u16(), 405);
    let guarded = Admin::start_with(Some("0123456789abcdef"), Vec::new(), &[]).await;
    assert_eq!(guarded.post("/routes/orders/candidate/promote", "").await.status().as_u16(), 401);
}
