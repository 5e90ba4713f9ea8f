//! The rig's own way to the broker: straight, and made again whenever it was lost.

use std::net::SocketAddr;
use std::time::Duration;

use lapin::{Channel, Connection};
use tokio::time::sleep;

use super::node::connect;

/// Between tries.
const AGAIN: Duration = Duration::from_millis(200);

/// A connection with one channel, whichever was lost last.
pub(super) struct Client {
    broker: SocketAddr,
    connection: Option<Connection>,
    channel: Option<Channel>,
}

impl Client {
    pub(super) fn new(broker: SocketAddr) -> Self {
        Self { broker, connection: None, channel: None }
    }

    /// A channel that works, as far as is known; waits for the broker where it is down.
    pub(super) async fn channel(&mut self) -> Channel {
        loop {
            if let Some(channel) = self.channel.as_ref().filter(|channel| channel.status().connected()) {
                return channel.clone();
            }
            let standing = self.connection.take().filter(|connection| connection.status().connected());
            let connection = match standing {
                Some(connection) => Ok(connection),
                None => connect(self.broker).await,
            };
            if let Ok(connection) = connection
                && let Ok(channel) = connection.create_channel().await
            {
                (self.connection, self.channel) = (Some(connection), Some(channel));
            } else {
                sleep(AGAIN).await;
            }
        }
    }
}
