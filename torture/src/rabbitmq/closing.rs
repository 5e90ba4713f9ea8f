//! What is on the queues once the hosts are gone.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use lapin::options::BasicAckOptions;
use tokio::time::sleep;

use super::client::Client;
use super::topology::{DEAD_QUEUES, WAITING, get, ready};
use crate::books::Books;
use crate::within::{PATIENCE, within};

/// Waits for the last dead letters, and writes down what is left on source and tiers. Gives what went wrong.
pub(super) async fn close(broker: SocketAddr, books: &Books) -> Vec<anyhow::Error> {
    let mut client = Client::new(broker);
    let mut errors = Vec::new();
    for queue in DEAD_QUEUES {
        // What is written down by then is judged all the same.
        errors.extend(until_drained(&mut client, queue).await.err());
    }
    let looked = within(PATIENCE, "what is left on source and tiers", look_for_left_overs(client, books)).await;
    errors.extend(looked.err());
    errors
}

/// Hosts are gone: what is on source and tiers now belongs to nobody.
async fn look_for_left_overs(mut client: Client, books: &Books) -> Result<()> {
    let channel = client.channel().await;
    for queue in WAITING {
        while let Some(delivery) = get(&channel, queue).await? {
            let id = delivery.properties.message_id().as_ref().map(|id| id.as_str()).unwrap_or_default();
            books.left_over(id, queue);
            delivery.ack(BasicAckOptions::default()).await?;
        }
    }
    Ok(())
}

/// Waits until the rig has written down what is on a queue of dead letters.
pub(super) async fn until_drained(client: &mut Client, queue: &str) -> Result<()> {
    let empty = async {
        while ready(&client.channel().await, queue).await?.0 > 0 {
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    };
    within(PATIENCE, &format!("the dead letters on {queue} to be taken off"), empty).await
}
