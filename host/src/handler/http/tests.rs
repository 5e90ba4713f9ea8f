use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::broker::Origin;
use crate::message::Message;

/// Long enough that only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(30);

fn call(message: Message) -> Call {
    Call {
        message: Arc::new(message),
        origin: Origin::default(),
        route: "orders".into(),
        attempt: 1,
        redelivered: false,
        own_traceparent: None,
    }
}

/// A server that takes connections one after the other and speaks whatever `answer` writes.
async fn serve<F, R>(answer: F) -> SocketAddr
where
    F: Fn(TcpStream) -> R + Send + 'static,
    R: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            answer(stream).await;
        }
    });
    address
}

/// A server that reads one request and answers these bytes, whatever they are, then closes the connection.
async fn answering(bytes: impl Into<Vec<u8>>) -> SocketAddr {
    let bytes = Arc::new(bytes.into());
    serve(move |mut stream| {
        let bytes = Arc::clone(&bytes);
        async move {
            request(&mut stream).await;
            // The client may have hung up half-way through a long answer.
            let _ = stream.write_all(&bytes).await;
        }
    })
    .await
}

/// Reads one request: head and body.
async fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
            if body.len() >= length.parse().unwrap() {
                return text;
            }
        }
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return text;
        }
    }
}

async fn post(address: SocketAddr, message: Message) -> Result<(), HandlerError> {
    let handler = HttpHandler::new(HttpSettings::new(format!("http://{address}/orders"))).unwrap();
    tokio::time::timeout(PATIENCE, handler.handle(&call(message))).await.expect("the handler hangs")
}

async fn error(answer: impl Into<Vec<u8>>) -> HandlerError {
    post(answering(answer).await, Message::new("{}")).await.unwrap_err()
}

#[tokio::test]
async fn any_2xx_is_success() {
    for answer in ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", "HTTP/1.1 204 No Content\r\n\r\n"] {
        assert_eq!(post(answering(answer).await, Message::new("{}")).await, Ok(()));
    }
}

#[tokio::test]
async fn the_body_arrives_as_it_is_with_what_the_handler_is_told() {
    let (sender, mut requests) = tokio::sync::mpsc::unbounded_channel();
    let address = serve(move |mut stream| {
        let sender = sender.clone();
        async move {
            sender.send(request(&mut stream).await).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        }
    })
    .await;
    let mut settings = HttpSettings::new(format!("http://user:secret@{address}/orders?x=1"));
    settings.headers.insert("X-Team".to_owned(), "blue".to_owned());
    let handler = HttpHandler::new(settings).unwrap();
    handler.handle(&call(Message::new("a body").with_id("m-1"))).await.unwrap();

    let request = requests.recv().await.unwrap();
    assert!(request.starts_with("POST /orders?x=1 HTTP/1.1\r\n"), "{request}");
    for line in ["reprieve-id: m-1", "reprieve-attempt: 1", "x-team: blue", "authorization: Basic dXNlcjpzZWNyZXQ="] {
        assert!(request.contains(&format!("\r\n{line}\r\n")), "{line} is not in {request}");
    }
    assert!(request.ends_with("\r\n\r\na body"), "{request}");
}

#[tokio::test]
async fn a_null_body_is_posted_as_an_empty_one() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(post(answering(answer).await, Message::default()).await, Ok(()));
}

#[tokio::test]
async fn one_connection_serves_many_messages() {
    let (sender, mut connections) = tokio::sync::mpsc::unbounded_channel();
    let address = serve(move |mut stream| {
        sender.send(()).unwrap();
        async move {
            while !request(&mut stream).await.is_empty() {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n").await.unwrap();
                // The client sees the head alone: a body that nobody reads would cost the connection.
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                stream.write_all(b"fine!").await.unwrap();
            }
        }
    })
    .await;
    let handler = HttpHandler::new(HttpSettings::new(format!("http://{address}/"))).unwrap();
    for _ in 0..20 {
        handler.handle(&call(Message::new("x"))).await.unwrap();
    }
    drop(handler);
    connections.recv().await.unwrap();
    assert!(connections.try_recv().is_err(), "a second connection was made");
}

#[tokio::test]
async fn a_problem_document_describes_the_error() {
    let problem = r#"{"type":"https://example.com/problems/out-of-stock","title":"Out of stock","detail":"item 7"}"#;
    let length = problem.len();
    let head = "HTTP/1.1 422 Unprocessable Content\r\ncontent-type: application/problem+json";
    let error = error(format!("{head}\r\ncontent-length: {length}\r\n\r\n{problem}")).await;
    assert_eq!(
        error,
        HandlerError {
            status: Some(422),
            detail: Some(problem.to_owned()),
            ..HandlerError::new("out-of-stock", "Out of stock: item 7")
        }
    );
}

#[tokio::test]
async fn a_header_of_the_routes_choice_names_the_kind() {
    let address = answering("HTTP/1.1 400 Bad Request\r\nX-Why: validation\r\ncontent-length: 5\r\n\r\nno id").await;
    let settings =
        HttpSettings { error_kind_header: "X-Why".to_owned(), ..HttpSettings::new(format!("http://{address}/")) };
    let error = HttpHandler::new(settings).unwrap().handle(&call(Message::new("x"))).await.unwrap_err();
    assert_eq!((error.kind.as_str(), error.text.as_str()), ("validation", "no id"));
}

#[tokio::test]
async fn retry_after_as_a_date_counts_from_now() {
    let due = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(3600));
    let error = error(format!("HTTP/1.1 503 Busy\r\nretry-after: {due}\r\ncontent-length: 0\r\n\r\n")).await;
    let wait = error.retry_after.unwrap();
    assert!((3_500_000..=3_600_000).contains(&wait), "{wait} ms");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let error = error("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!((error.kind.as_str(), error.status), ("http-302", Some(302)));
}

#[tokio::test]
async fn an_endless_answer_is_read_in_part() {
    let (sender, mut written) = tokio::sync::mpsc::unbounded_channel();
    let address = serve(move |mut stream| {
        let sender = sender.clone();
        async move {
            request(&mut stream).await;
            let head = b"HTTP/1.1 500 Oops\r\ncontent-length: 1000000000000\r\n\r\nfirst line\n";
            stream.write_all(head).await.unwrap();
            let mut chunks = 0;
            // Until the client hangs up.
            while stream.write_all(&[b'x'; 65536]).await.is_ok() {
                chunks += 1;
            }
            sender.send(chunks * 65536).unwrap();
        }
    })
    .await;
    let error = post(address, Message::new("x")).await.unwrap_err();
    assert_eq!((error.kind.as_str(), error.text.as_str()), ("http-500", "first line"));
    assert!(error.detail.is_some_and(|detail| detail.len() <= 8192));
    // What the sockets' buffers hold on the way, not what a second of reading would take in.
    let written = tokio::time::timeout(PATIENCE, written.recv()).await.unwrap().unwrap();
    assert!(written < 20 << 20, "{written} bytes were taken");
}

#[tokio::test]
async fn a_status_stands_although_its_body_breaks_off_or_never_ends() {
    let broken = error("HTTP/1.1 500 Oops\r\ncontent-length: 100\r\n\r\nonly this").await;
    assert_eq!((broken.kind.as_str(), broken.text.as_str()), ("http-500", "only this"));

    for (status, expected) in [("500 Oops", Err("http-500".to_owned())), ("200 OK", Ok(()))] {
        let address = serve(move |mut stream| async move {
            request(&mut stream).await;
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: 100\r\n\r\npart");
            stream.write_all(head.as_bytes()).await.unwrap();
            // Until the client has had enough.
            request(&mut stream).await;
        })
        .await;
        assert_eq!(post(address, Message::new("x")).await.map_err(|error| error.kind), expected);
    }
}

#[tokio::test]
async fn an_answer_that_is_not_http_is_a_protocol_error() {
    for garbage in ["", "220 smtp ready\r\n", "\0\0\0\0", "HTTP/1.1 999999 What\r\n\r\n", "HTTP/1.1 200 O"] {
        let error = error(garbage).await;
        assert_eq!((error.kind.as_str(), error.status), ("http-protocol", None), "{garbage:?}: {error}");
        assert!(!error.timed_out);
    }
}

#[tokio::test]
async fn nobody_listening_is_a_connect_error_without_secrets() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let settings = HttpSettings::new(format!("http://user:secret@{address}/orders?token=secret"));
    let error = HttpHandler::new(settings).unwrap().handle(&call(Message::new("x"))).await.unwrap_err();
    assert_eq!(error.kind, "connect");
    let expected = format!("cannot connect to http://{address}/orders: Connection refused");
    assert!(error.text.starts_with(&expected) && !error.text.contains("secret"), "{}", error.text);
}

#[tokio::test]
async fn a_dropped_attempt_closes_its_connection() {
    let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
    let address = serve(move |mut stream| {
        let sender = sender.clone();
        async move {
            request(&mut stream).await;
            sender.send("asked").unwrap();
            // No answer; the next read ends when the client goes.
            request(&mut stream).await;
            sender.send("closed").unwrap();
        }
    })
    .await;
    let attempt = tokio::spawn(async move { post(address, Message::new("x")).await });
    assert_eq!(events.recv().await, Some("asked"));
    attempt.abort();
    assert_eq!(tokio::time::timeout(PATIENCE, events.recv()).await.unwrap(), Some("closed"));
}

#[test]
fn settings_that_cannot_work_are_refused_with_the_cure() {
    let refused = |settings: HttpSettings| format!("{:#}", HttpHandler::new(settings).unwrap_err());
    for (url, told) in [
        ("https://user:secret@example.com/x", "url https://example.com/x needs TLS"),
        ("ftp://example.com/", "has the scheme \"ftp\"; it must be http"),
        ("orders", "the handler's url is not a URL; write it as http://host:port/path"),
        ("http://user:secret@host:99999/", "is not a URL"),
    ] {
        let message = refused(HttpSettings::new(url));
        assert!(message.contains(told) && !message.contains("secret"), "{message}");
    }
    for (name, value, told) in [
        ("two words", "x", "\"two words\" is no HTTP header name"),
        ("authorization", "secret\n", "value of the handler's header \"authorization\""),
        ("Content-Length", "5", "\"Content-Length\" is set by the HTTP client itself; remove it"),
    ] {
        let mut settings = HttpSettings::new("http://example.com");
        settings.headers.insert(name.to_owned(), value.to_owned());
        let message = refused(settings);
        assert!(message.contains(told) && !message.contains("secret"), "{message}");
    }
    let settings = HttpSettings { error_kind_header: "a b".to_owned(), ..HttpSettings::new("http://example.com") };
    assert!(refused(settings).contains("error_kind_header \"a b\" cannot be the name of an HTTP header"));
}
