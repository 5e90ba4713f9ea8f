//! `reprieve send`

use std::path::PathBuf;

use clap::Args;

use super::ConfigArgument;

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

    /// The queue to publish to
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
fn parse_header(text: &str) -> Result<(String, String), String> {
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
  date | reprieve send --broker main orders

Exit codes:
  0  the broker has confirmed the message
  1  the broker cannot be reached, or did not take the message
  2  the arguments or the configuration are wrong";
