//! `reprieve send`

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::Args;
use reqwest::Method;

use super::ConfigArgument;
use super::running_host::RunningHost;
use crate::broker::Target;
use crate::config::{BrokerConfig, Config};
use crate::host::configured;
use crate::message::Message;
use crate::timestamp::Timestamp;

/// Publish a message to a broker of the configuration
///
/// The message counts as sent once the broker has confirmed that it is kept. A memory broker lives inside the running
/// host: the message goes there through the host's admin address.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct SendArguments {
    /// Which configuration.
    #[command(flatten)]
    pub config: ConfigArgument,

    /// The broker's name in the configuration; not needed where there is only one
    #[arg(short, long, value_name = "NAME")]
    pub broker: Option<String>,

    /// The queue or topic to publish to
    #[arg(value_name = "TOPIC")]
    pub topic: String,

    /// The body; without it and without --file, standard input is read
    #[arg(value_name = "BODY", conflicts_with = "file")]
    pub body: Option<String>,

    /// Take the body from a file
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// The message's id; without it, a random one
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,

    /// The message's key, as a text: it chooses the partition on Kafka
    #[arg(short, long, value_name = "KEY")]
    pub key: Option<String>,

    /// A header, as a text; may be given many times
    #[arg(short = 'H', long = "header", value_name = "NAME=VALUE", value_parser = parse_header)]
    pub headers: Vec<(String, String)>,

    /// What the body is, such as application/json
    #[arg(long, value_name = "TYPE")]
    pub content_type: Option<String>,

    /// How many copies to send, each with an id of its own
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "id")]
    pub count: u32,
}

/// `NAME=VALUE`, split at the first `=`.
pub(super) fn parse_header(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE, such as tenant=acme".to_owned()),
    }
}

const EXAMPLES: &str = "\
Examples:
  reprieve send orders '{\"id\": 7}'
  reprieve send orders --file order.json --content-type application/json
  reprieve send orders -H tenant=acme -n 100 'the same body a hundred times'
  reprieve send orders --key customer-7 '{\"id\": 7}'
  date | reprieve send --broker main orders

Exit codes:
  0  the broker has confirmed the message
  1  the broker cannot be reached, or did not take the message
  2  the arguments or the configuration are wrong";

/// Sends, and says so once the broker has confirmed.
///
/// # Errors
/// The configuration is wrong, the body cannot be read, or the broker did not take the message.
pub fn send(arguments: &SendArguments) -> anyhow::Result<ExitCode> {
    let config = Config::load(&arguments.config.config)?;
    let (name, broker) = choose(&config, arguments.broker.as_deref())?;
    let body = body(arguments)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match broker {
            BrokerConfig::Memory(_) => to_running_host(arguments, &config, name, &body).await,
            remote => to_broker(arguments, name, remote, &body).await,
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

fn choose<'c>(config: &'c Config, wanted: Option<&str>) -> anyhow::Result<(&'c str, &'c BrokerConfig)> {
    let names = || config.brokers.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let found = match wanted {
        Some(name) => config.brokers.get_key_value(name),
        None if config.brokers.len() == 1 => config.brokers.iter().next(),
        None => bail!("the configuration has several brokers; choose one with --broker: {}", names()),
    };
    let (name, broker) = found.with_context(|| {
        format!("the configuration has no broker {:?}; it has: {}", wanted.unwrap_or_default(), names())
    })?;
    Ok((name, broker))
}

fn body(arguments: &SendArguments) -> anyhow::Result<Bytes> {
    if let Some(body) = &arguments.body {
        return Ok(body.clone().into());
    }
    if let Some(file) = &arguments.file {
        return Ok(std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?.into());
    }
    let mut body = Vec::new();
    std::io::stdin().read_to_end(&mut body).context("cannot read the body from standard input")?;
    Ok(body.into())
}

fn message(arguments: &SendArguments, body: &Bytes) -> Message {
    let id = arguments.id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
    let mut message = Message::new(body.clone()).with_id(id);
    message.properties.content_type.clone_from(&arguments.content_type);
    message.key = arguments.key.clone().map(Bytes::from);
    message.timestamp = Some(Timestamp::now());
    for (name, value) in &arguments.headers {
        message.headers.push(name.as_str(), value.as_str());
    }
    message
}

async fn to_broker(arguments: &SendArguments, name: &str, broker: &BrokerConfig, body: &Bytes) -> anyhow::Result<()> {
    let broker = configured::broker(name, broker)?;
    let target = Target::Topic(arguments.topic.as_str().into());
    for _ in 0..arguments.count {
        let message = message(arguments, body);
        broker
            .publish(&target, &message)
            .await
            .with_context(|| format!("{} did not take the message", arguments.topic))?;
        println!("{}", message.id.unwrap_or_default());
    }
    broker.close().await;
    Ok(())
}

/// A memory broker lives in the host that runs with the same configuration; its admin listener takes messages for it.
async fn to_running_host(arguments: &SendArguments, config: &Config, name: &str, body: &Bytes) -> anyhow::Result<()> {
    let host = RunningHost::new(&config.host)?;
    let mut url = host.url()?;
    url.path_segments_mut().expect("an http URL has a path").pop_if_empty().extend(["topics", &arguments.topic]);
    url.query_pairs_mut().append_pair("broker", name);
    for _ in 0..arguments.count {
        let message = message(arguments, body);
        let id = message.id.unwrap_or_default();
        let mut request = host.request(Method::POST, url.clone()).header("reprieve-id", &id).body(body.clone());
        if let Some(content_type) = &arguments.content_type {
            request = request.header("content-type", content_type);
        }
        if let Some(key) = &arguments.key {
            request = request.header("reprieve-key", key);
        }
        for (name, value) in &arguments.headers {
            request = request.header(format!("reprieve-header-{name}"), value);
        }
        let answer = host.send(request).await?;
        let status = answer.status();
        if !status.is_success() {
            bail!("the host answered {status}: {}", answer.text().await.unwrap_or_default().trim());
        }
        println!("{id}");
    }
    Ok(())
}
