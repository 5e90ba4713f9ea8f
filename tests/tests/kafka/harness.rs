//! What the other tests rely on.

use std::collections::BTreeMap;

use bytes::Bytes;
use reprieve_tests::kafka::{Node, Record, Sandbox, Settings, free_ports};

#[tokio::test]
async fn a_record_is_read_as_it_was_put() {
    let sandbox = Sandbox::new();
    let topic = sandbox.topic("topic", 3, &[("retention.ms", "3600000")]).await;
    let record = Record {
        key: Some(Bytes::from_static(b"")),
        timestamp: Some(1_700_000_000_000),
        ..Record::new(&b"\0\xff"[..]).on(2)
    };
    let record = record
        .with_header("a", Some(b"1"))
        .with_header("b", None)
        .with_header("a", Some(b"\xfe"))
        .with_header("c", Some(b""));
    assert_eq!(sandbox.put(&topic, &record).await, (2, 0));
    assert_eq!(sandbox.put(&topic, &Record::default().on(0)).await, (0, 0));

    let nothing = Record { key: None, value: None, ..Record::default().on(0) };
    let mut read = sandbox.read(&topic).await;
    assert!(read[0].timestamp.take().is_some());
    assert_eq!(read, [Record { offset: Some(0), ..nothing }, Record { offset: Some(0), ..record }]);
    assert_eq!(sandbox.ends(&topic).await, [1, 0, 1]);
    assert_eq!(sandbox.configured(&topic, "retention.ms").await.as_deref(), Some("3600000"));
    assert_eq!(sandbox.committed(&sandbox.name("group"), &topic).await, BTreeMap::new());
    assert_eq!(sandbox.partitions("test.no-such-topic").await, None, "asking makes no topic");
}

#[tokio::test]
async fn what_has_a_name_of_a_sandbox_is_deleted_with_it() {
    let onlooker = Sandbox::new();
    let sandbox = Sandbox::new();
    let topic = sandbox.topic("topic", 1, &[]).await;
    assert_eq!(onlooker.partitions(&topic).await, Some(1));
    drop(sandbox);
    assert_eq!(onlooker.partitions(&topic).await, None);
}

/// Blocks, as starting and stopping do.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("it worked")
}

#[tokio::test]
async fn a_node_serves_what_it_kept_after_it_was_killed_and_after_it_was_stopped() {
    let mut node = blocking(|| Node::temporary(Settings::new().unwrap()).unwrap()).await;
    let address = node.address();
    let topic = Sandbox::on(&address).name("kept");
    {
        let sandbox = Sandbox::on(&address);
        sandbox.create(&topic, 1, &[]).await;
        sandbox.put(&topic, &Record::new("first")).await;
    }
    node = blocking(move || {
        node.kill().unwrap();
        node.start().unwrap();
        node
    })
    .await;
    let sandbox = Sandbox::on(&address);
    assert_eq!(sandbox.read(&topic).await.len(), 1);
    sandbox.put(&topic, &Record::new("second")).await;
    drop(sandbox);
    let [port] = free_ports().unwrap();
    let mut node = blocking(move || {
        node.stop().unwrap();
        // What a test changes holds from the next start on.
        node.settings().port = port;
        node.start().unwrap();
        node
    })
    .await;
    let moved = Sandbox::on(&node.address());
    let bodies: Vec<_> = moved.read(&topic).await.iter().map(|record| record.body().to_owned()).collect();
    assert_eq!(bodies, ["first", "second"]);
    let folder = node.settings().folder.clone();
    drop(moved);
    blocking(move || drop(node)).await;
    assert!(!folder.exists());
}
