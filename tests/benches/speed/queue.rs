//! Messages a second from RabbitMQ through a route with a handler that does nothing, beside a bare client with the same
//! prefetch and one ack a message, in turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures_util::StreamExt as _;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use reprieve::broker::rabbitmq::{RabbitMq, RabbitMqSettings};
use reprieve::handler::{Call, closure::handler_fn};
use reprieve::handler_error::HandlerError;
use reprieve::host::{Host, HostSpec, HostedRoute};
use reprieve::route::{RouteSpec, RouteWork};
use tokio::sync::Notify;

use crate::table::{Table, median};

const QUEUE: &str = "reprieve.bench";
const MESSAGES: usize = 20_000;
const PREFETCH: u16 = 64;
const ROUNDS: usize = 7;

pub(crate) fn measure(table: &mut Table) -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(async {
        let url = reprieve_tests::rabbitmq::url();
        let connection = Connection::connect(&url, ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        channel.queue_declare(QUEUE.into(), durable, FieldTable::default()).await?;

        let (mut ratios, mut ours, mut bare) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            fill(&channel).await?;
            let without = bare_loop(&url).await?;
            fill(&channel).await?;
            let with = through_a_route(&url).await?;
            eprintln!("round {}: bare {:.0}/s, route {:.0}/s", round + 1, rate(without), rate(with));
            ratios.push(rate(with) / rate(without));
            ours.push(rate(with));
            bare.push(rate(without));
        }
        channel.queue_delete(QUEUE.into(), Default::default()).await?;
        table.row("bare client, 1 KiB, messages a second", format!("{:.0}", median(&mut bare)), "-", true);
        table.row("route, no-op handler, messages a second", format!("{:.0}", median(&mut ours)), "-", true);
        let ratio = median(&mut ratios);
        table.row("route / bare client, median of seven", format!("{ratio:.2}"), ">= 0.90", ratio >= 0.9);
        Ok(())
    })
}

fn rate(took: Duration) -> f64 {
    MESSAGES as f64 / took.as_secs_f64()
}

async fn fill(channel: &Channel) -> anyhow::Result<()> {
    channel.queue_purge(QUEUE.into(), Default::default()).await?;
    channel.confirm_select(Default::default()).await?;
    let body = vec![b'x'; 1024];
    let mut confirms = Vec::with_capacity(MESSAGES);
    for n in 0..MESSAGES {
        let properties = BasicProperties::default().with_message_id(n.to_string().into());
        confirms.push(
            channel.basic_publish("".into(), QUEUE.into(), BasicPublishOptions::default(), &body, properties).await?,
        );
    }
    for confirm in confirms {
        confirm.await?;
    }
    Ok(())
}

/// The least that a consumer can do.
async fn bare_loop(url: &str) -> anyhow::Result<Duration> {
    let connection = Connection::connect(url, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    channel.basic_qos(PREFETCH, BasicQosOptions::default()).await?;
    let mut consumer = channel
        .basic_consume(QUEUE.into(), "bench".into(), BasicConsumeOptions::default(), FieldTable::default())
        .await?;
    let mut begin = None;
    for _ in 0..MESSAGES {
        let delivery = consumer.next().await.context("the consumer ended")??;
        begin.get_or_insert_with(Instant::now);
        delivery.acker.ack(BasicAckOptions::default()).await?;
    }
    let took = begin.context("nothing was consumed")?.elapsed();
    connection.close(200, "done".into()).await?;
    Ok(took)
}

async fn through_a_route(url: &str) -> anyhow::Result<Duration> {
    let count = Arc::new(AtomicUsize::new(0));
    let begin = Arc::new(std::sync::OnceLock::new());
    let done = Arc::new(Notify::new());
    let handler = {
        let (count, begin, done) = (Arc::clone(&count), Arc::clone(&begin), Arc::clone(&done));
        handler_fn(move |_: Call| {
            begin.get_or_init(Instant::now);
            if count.fetch_add(1, Ordering::Relaxed) + 1 == MESSAGES {
                done.notify_one();
            }
            std::future::ready(Ok::<(), HandlerError>(()))
        })
    };
    let broker = RabbitMq::new(&RabbitMqSettings::new("bench", url))?;
    let work = RouteWork::Handle { handler: Arc::new(handler), timeout: Duration::from_secs(10) };
    let mut route = RouteSpec::new("bench", QUEUE, Arc::new(broker), work);
    route.concurrency = PREFETCH;
    let host = Host::start(HostSpec { routes: vec![HostedRoute::new(route)], ..HostSpec::default() }).await?;
    done.notified().await;
    let took = begin.get().context("nothing was handled")?.elapsed();
    host.shutdown().await;
    Ok(took)
}
