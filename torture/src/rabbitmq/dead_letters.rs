//! Takes dead letters off their queues, and writes them down.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use lapin::message::Delivery;
use lapin::options::BasicAckOptions;
use lapin::types::AMQPValue;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::client::Client;
use super::producer::HEADER;
use super::topology::get;
use crate::books::{Books, DeadLetter, body, number};

/// Between looks at a queue that was empty, or is not there.
const PAUSE: Duration = Duration::from_millis(50);
/// A broker that starts again may need so long.
const ANSWER: Duration = Duration::from_secs(20);

/// Drains one queue for ever, but for the times at which `paused` holds.
pub(super) async fn drain(
    broker: SocketAddr,
    queue: &'static str,
    books: Arc<Books>,
    mut paused: watch::Receiver<bool>,
) {
    let mut client = Client::new(broker);
    loop {
        if paused.wait_for(|paused| !paused).await.is_err() {
            return;
        }
        // A broker that was killed at the wrong moment leaves a question without an answer, and its connection open.
        if timeout(ANSWER, take(&mut client, queue, &books)).await.is_err() {
            client = Client::new(broker);
        }
    }
}

async fn take(client: &mut Client, queue: &'static str, books: &Books) {
    let channel = client.channel().await;
    match get(&channel, queue).await {
        Ok(Some(delivery)) => {
            write_down(&delivery, queue, books);
            // Where the ack is lost, the same one comes again and says so.
            let _ = delivery.ack(BasicAckOptions::default()).await;
        }
        Ok(None) | Err(_) => sleep(PAUSE).await,
    }
}

fn write_down(delivery: &Delivery, queue: &'static str, books: &Books) {
    let id = delivery.properties.message_id().as_ref().map(|id| id.as_str()).unwrap_or_default();
    let header = |name: &str| delivery.properties.headers().as_ref().and_then(|headers| headers.inner().get(name));
    let shown = |name: &str| header(name).map(|value| format!("{value:?}")).unwrap_or_default();
    let is_as_sent = number(id).is_some_and(|number| {
        let sent = i64::try_from(number).ok().map(AMQPValue::LongLongInt);
        delivery.data == body(number).as_bytes() && header(HEADER) == sent.as_ref()
    });
    books.dead_letter(
        id,
        DeadLetter {
            at: books.clock.now(),
            queue,
            redelivered: delivery.redelivered,
            made: shown("reprieve-failed-at") + &shown("reprieve-attempts"),
            altered: !is_as_sent,
            bare: false,
        },
    );
}
