//! Looking at a topic, and taking some of it away.

use reprieve::broker::{Broker as _, Browser, Browsing};
use reprieve::message::Message;
use reprieve_tests::narad::{Cluster, Fault, On};

use super::{ack, driver, topic};

async fn letters() -> Cluster {
    let cluster = Cluster::one().await;
    cluster.create("letters");
    for number in 0..5 {
        let message = Message::new(format!("m{number}")).with_id(format!("id-{number}"));
        driver(&cluster).publish(&topic("letters"), &message).await.unwrap();
    }
    cluster
}

async fn ids(browser: &mut dyn Browser) -> Vec<String> {
    let mut ids = Vec::new();
    while let Some(delivery) = browser.next().await.unwrap() {
        ids.extend(delivery.message.id.clone());
    }
    ids.sort();
    ids
}

#[tokio::test]
async fn a_look_takes_nothing_and_leaves_no_trace() {
    let cluster = letters().await;
    let mut browser = driver(&cluster).browse("letters", Browsing::Look).await.unwrap().expect("a browser");
    assert_eq!(browser.there(), 5);
    assert_eq!(ids(&mut *browser).await, ["id-0", "id-1", "id-2", "id-3", "id-4"]);
    browser.close().await;
    assert!(cluster.seen(On::Consume).is_empty() && cluster.leased("letters") == 0);
}

#[tokio::test]
async fn what_was_taken_away_is_not_looked_at_again_and_the_rest_is_given_back() {
    let cluster = letters().await;
    let mut browser = driver(&cluster).browse("letters", Browsing::Take).await.unwrap().expect("a browser");
    let mut left = Vec::new();
    while let Some(delivery) = browser.next().await.unwrap() {
        let id = delivery.message.id.clone().unwrap();
        if id == "id-0" || id == "id-3" {
            ack(&delivery).await;
        } else {
            left.push(id);
        }
    }
    left.sort();
    assert_eq!(left, ["id-1", "id-2", "id-4"], "each comes once");
    browser.close().await;
    assert_eq!(cluster.leased("letters"), 0);
    let mut browser = driver(&cluster).browse("letters", Browsing::Look).await.unwrap().expect("a browser");
    assert_eq!(ids(&mut *browser).await, left);
}

#[tokio::test]
async fn the_depth_is_what_the_nodes_metrics_say_or_unknown() {
    let cluster = letters().await;
    let driver = driver(&cluster);
    assert_eq!(driver.depth(&"letters".into()).await, Ok(Some(5)));
    cluster.fail(On::Metrics, 1, Fault::plain(404));
    assert_eq!(driver.depth(&"letters".into()).await, Ok(None));
    assert!(driver.depth(&"missing".into()).await.is_err());
}

#[tokio::test]
async fn without_metrics_a_look_shows_also_what_is_settled() {
    let cluster = letters().await;
    cluster.fail(On::Metrics, 1, Fault::plain(404));
    let mut browser = driver(&cluster).browse("letters", Browsing::Look).await.unwrap().expect("a browser");
    assert_eq!(ids(&mut *browser).await.len(), 5);
}

#[tokio::test]
async fn a_message_whose_retention_is_over_is_passed_by() {
    let cluster = letters().await;
    let mut browser = driver(&cluster).browse("letters", Browsing::Look).await.unwrap().expect("a browser");
    cluster.fail(On::Replay, 2, Fault::status(410));
    assert_eq!(ids(&mut *browser).await.len(), 3);
}
