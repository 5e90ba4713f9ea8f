//! On the client library's mock cluster: commits that fail, a broker that goes away, partitions that move.

use std::collections::BTreeSet;

use rdkafka::mocking::MockCluster;
use rdkafka::producer::{DefaultProducerContext, FutureProducer, FutureRecord};
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use rdkafka::{TopicPartitionList, consumer::CommitMode};

use super::progress::Progress;
use super::*;
use crate::broker::{Earlier, SettleError, Settlement};

/// No test waits longer for anything; the mock lets a group wait three seconds for more members.
const DEADLINE: Duration = Duration::from_secs(30);

struct Cluster {
    mock: MockCluster<'static, DefaultProducerContext>,
    settings: KafkaSettings,
    remembered: Arc<Remembered>,
}

impl Cluster {
    fn new(partitions: i32) -> Self {
        let mock = MockCluster::new(1).unwrap();
        mock.create_topic("orders", partitions, 1).unwrap();
        let mut settings = KafkaSettings::new("main", mock.bootstrap_servers());
        for (name, value) in [
            ("fetch.wait.max.ms", "10"),
            ("reconnect.backoff.max.ms", "200"),
            // The mock waits nearly as long for members to join again.
            ("session.timeout.ms", "6000"),
            ("heartbeat.interval.ms", "500"),
        ] {
            settings.client.insert(name.to_owned(), value.to_owned());
        }
        Self { mock, settings, remembered: Arc::default() }
    }

    fn consumer(&self) -> KafkaConsumer {
        let publisher = Arc::new(Publisher::new(&self.settings));
        let plan = Plan::new("orders", "orders");
        KafkaConsumer::start(&self.settings, &plan, 100, Arc::clone(&self.remembered), publisher).unwrap()
    }

    async fn send(&self, partition: i32, bodies: std::ops::Range<i32>) {
        let producer: FutureProducer = self.settings.producer_config().create().unwrap();
        for body in bodies {
            let body = body.to_string();
            let record = FutureRecord::<(), str>::to("orders").partition(partition).payload(&body);
            producer.send(record, DEADLINE).await.map_err(|(error, _)| error).unwrap();
        }
    }

    fn looker(&self) -> BaseConsumer {
        let mut config = self.settings.client_config();
        config.set("group.id", "reprieve.orders").create().unwrap()
    }

    /// What the group has committed on a partition, and the text beside it.
    fn committed(&self, partition: i32) -> Option<(i64, String)> {
        let mut list = TopicPartitionList::new();
        list.add_partition("orders", partition);
        let list = self.looker().committed_offsets(list, DEADLINE).unwrap();
        let place = list.find_partition("orders", partition).unwrap();
        match place.offset() {
            Offset::Offset(offset) => Some((offset, place.metadata().to_owned())),
            _ => None,
        }
    }

    async fn wait_for_commit(&self, partition: i32, offset: i64) {
        let begin = std::time::Instant::now();
        while self.committed(partition).map(|(offset, _)| offset) != Some(offset) {
            assert!(begin.elapsed() < DEADLINE, "{:?}, not {offset}", self.committed(partition));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// As an owner that died would have left it.
    fn leave_behind(&self, offset: i64, text: &str) {
        let mut list = TopicPartitionList::new();
        let mut place = list.add_partition("orders", 0);
        place.set_offset(Offset::Offset(offset)).unwrap();
        place.set_metadata(text);
        self.looker().commit(&list, CommitMode::Sync).unwrap();
    }
}

async fn next(consumer: &mut KafkaConsumer) -> Delivery {
    timeout(DEADLINE, consumer.next()).await.expect("a delivery").expect("a consumer that lives")
}

async fn take(consumer: &mut KafkaConsumer, count: usize) -> Vec<Delivery> {
    let mut taken = Vec::new();
    while taken.len() < count {
        taken.push(next(consumer).await);
    }
    taken
}

fn body(delivery: &Delivery) -> &str {
    std::str::from_utf8(delivery.message.body.as_deref().unwrap()).unwrap()
}

fn partition(delivery: &Delivery) -> i32 {
    delivery.origin.position.as_ref().unwrap().partition
}

async fn ack(delivery: &Delivery) -> Result<(), SettleError> {
    delivery.settler.settle(Settlement::Ack).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_contiguous_position_is_committed_and_an_orderly_end_says_so() {
    let cluster = Cluster::new(1);
    cluster.send(0, 0..5).await;
    let mut consumer = cluster.consumer();
    let taken = take(&mut consumer, 5).await;
    assert_eq!(taken.iter().map(body).collect::<Vec<_>>(), ["0", "1", "2", "3", "4"]);
    for index in [0, 1, 3, 4] {
        ack(&taken[index]).await.unwrap();
    }
    cluster.wait_for_commit(0, 2).await;
    let (_, text) = cluster.committed(0).unwrap();
    assert!(text.starts_with("reprieve/1 +"), "the owner may still die: {text}");
    consumer.stop().await;
    consumer.close().await;
    assert_eq!(cluster.committed(0), Some((2, "reprieve/1 clean".to_owned())));
    assert!(matches!(ack(&taken[2]).await, Err(SettleError::Gone(_))));

    let mut consumer = cluster.consumer();
    let again = take(&mut consumer, 3).await;
    let seen: Vec<_> = again.iter().map(|it| (body(it), it.redelivered, it.earlier)).collect();
    // The last two acks were remembered here, and so was that of the third, which came too late.
    assert_eq!(seen, [("2", true, Earlier::Done), ("3", true, Earlier::Done), ("4", true, Earlier::Done)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_fails_is_made_again_until_it_is_taken() {
    let cluster = Cluster::new(1);
    cluster.send(0, 0..3).await;
    let mut consumer = cluster.consumer();
    let taken = take(&mut consumer, 3).await;
    let errors = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN, RDKafkaRespErr::RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT];
    cluster.mock.request_errors(RDKafkaApiKey::OffsetCommit, &errors.repeat(2));
    for delivery in &taken {
        ack(delivery).await.unwrap();
    }
    cluster.wait_for_commit(0, 3).await;
    assert!(!consumer.lost().is_cancelled());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_takes_less_text_gets_less() {
    let cluster = Cluster::new(1);
    cluster.send(0, 0..1).await;
    let mut consumer = cluster.consumer();
    let too_large = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE];
    cluster.mock.request_errors(RDKafkaApiKey::OffsetCommit, &too_large);
    let delivery = next(&mut consumer).await;
    let (_, text) = cluster.committed(0).unwrap();
    assert_eq!(text.split(' ').count(), 3, "{text}");
    ack(&delivery).await.unwrap();
    cluster.wait_for_commit(0, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_goes_away_and_comes_back_is_waited_for() {
    let cluster = Cluster::new(1);
    cluster.send(0, 0..2).await;
    let mut consumer = cluster.consumer();
    let taken = take(&mut consumer, 2).await;
    cluster.mock.broker_down(-1).unwrap();
    ack(&taken[0]).await.unwrap();
    ack(&taken[1]).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    cluster.mock.broker_up(-1).unwrap();
    cluster.wait_for_commit(0, 2).await;
    cluster.send(0, 2..3).await;
    assert_eq!(body(&next(&mut consumer).await), "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_back_comes_out_again_before_others_and_pins_the_commit() {
    let mut cluster = Cluster::new(1);
    cluster.settings.window = 4;
    cluster.send(0, 0..3).await;
    let mut consumer = cluster.consumer();
    let taken = take(&mut consumer, 3).await;
    taken[0].settler.settle(Settlement::Reject).await.unwrap();
    assert!(matches!(ack(&taken[0]).await, Err(SettleError::Gone(_))), "it was settled");
    let again = next(&mut consumer).await;
    assert_eq!((body(&again), again.redelivered), ("0", true));
    assert!(Arc::ptr_eq(&again.message, &taken[0].message));
    cluster.send(0, 3..6).await;
    let last = next(&mut consumer).await;
    for delivery in taken[1..].iter().chain([&last]) {
        ack(delivery).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(timeout(Duration::from_millis(10), consumer.next()).await.is_err(), "the window is full");
    assert_eq!(cluster.committed(0).map(|(offset, _)| offset), Some(0));
    let refused = again.settler.settle(Settlement::Reject).await;
    assert!(matches!(refused, Err(SettleError::NoRoom(_))), "{refused:?}");
    ack(&again).await.expect("a refusal settles nothing");
    assert_eq!(body(&next(&mut consumer).await), "4");
    cluster.wait_for_commit(0, 4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_are_out_than_were_asked_for() {
    let cluster = Cluster::new(1);
    cluster.send(0, 0..3).await;
    let (plan, publisher) = (Plan::new("orders", "orders"), Arc::new(Publisher::new(&cluster.settings)));
    let mut consumer =
        KafkaConsumer::start(&cluster.settings, &plan, 2, Arc::clone(&cluster.remembered), publisher).unwrap();
    let mut taken = take(&mut consumer, 2).await;
    assert!(timeout(Duration::from_millis(500), consumer.next()).await.is_err());
    ack(&taken[1]).await.unwrap();
    taken.pop();
    assert_eq!(body(&next(&mut consumer).await), "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_that_move_take_their_undecided_records_along() {
    for strategy in ["cooperative-sticky", "range"] {
        let mut cluster = Cluster::new(2);
        cluster.settings.client.insert("partition.assignment.strategy".to_owned(), strategy.to_owned());
        cluster.send(0, 0..3).await;
        cluster.send(1, 10..13).await;
        let mut first = cluster.consumer();
        let taken = take(&mut first, 6).await;
        for delivery in &taken {
            // The first record of each partition stays undecided.
            if !matches!(body(delivery), "0" | "10") {
                ack(delivery).await.unwrap();
            }
        }
        let mut second = cluster.consumer();
        let moved = next(&mut second).await;
        let (gone, kept): (Vec<_>, Vec<_>) = taken.iter().partition(|it| partition(it) == partition(&moved));
        for delivery in gone {
            timeout(DEADLINE, delivery.lost.cancelled()).await.expect("it is lost");
            assert!(matches!(ack(delivery).await, Err(SettleError::Gone(_))), "{strategy}");
        }
        let undecided = if partition(&moved) == 0 { "0" } else { "10" };
        assert_eq!((body(&moved), moved.redelivered), (undecided, true), "{strategy}");
        if strategy == "cooperative-sticky" {
            assert!(kept.iter().all(|delivery| !delivery.lost.is_cancelled()));
            let open = kept.iter().find(|it| matches!(body(it), "0" | "10")).unwrap();
            ack(open).await.unwrap();
            cluster.wait_for_commit(1 - partition(&moved), 3).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_in_work_when_its_owner_died_is_told_and_what_came_later_is_not() {
    let cluster = Cluster::new(1);
    cluster.send(0, 0..8).await;
    let limit = Progress { position: 2, limit: 5, under_way: vec![3], interruptions: vec![(4, 2)], notes: 0 };
    let text = limit.text(false).replace(&*progress::OWNER, "another");
    cluster.leave_behind(2, &text);
    let mut consumer = cluster.consumer();
    let taken = take(&mut consumer, 6).await;
    let told: Vec<_> = taken.iter().map(|it| (body(it), it.redelivered, it.earlier)).collect();
    let under_way = |interruptions| Earlier::UnderWay { interruptions };
    assert_eq!(
        told,
        [
            ("2", true, Earlier::InDoubt),
            ("3", true, under_way(1)),
            ("4", true, under_way(2)),
            ("5", false, Earlier::Nothing),
            ("6", false, Earlier::Nothing),
            ("7", false, Earlier::Nothing),
        ]
    );
    // An attempt on a suspect is known to the broker before it begins.
    taken[1].settler.note_interruptions(2).await.unwrap();
    let (position, text) = cluster.committed(0).unwrap();
    let start = progress::Start::read(position, &text.replace(&*progress::OWNER, "another"));
    assert_eq!(start.interruptions.get(&3), Some(&2), "{text}");
    assert_eq!(start.interruptions.get(&4), Some(&2), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_that_is_dropped_leaves_without_anybody_waiting() {
    let cluster = Cluster::new(1);
    cluster.send(0, 0..1).await;
    let mut consumer = cluster.consumer();
    ack(&next(&mut consumer).await).await.unwrap();
    let left = consumer.shared.left.clone();
    let begin = std::time::Instant::now();
    drop(consumer);
    assert!(begin.elapsed() < Duration::from_millis(100));
    timeout(DEADLINE, left.cancelled()).await.expect("it leaves by itself");
    assert_eq!(cluster.committed(0), Some((1, "reprieve/1 clean".to_owned())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_of_every_partition_come_while_one_is_held() {
    let mut cluster = Cluster::new(4);
    cluster.settings.window = 2;
    for partition in 0..4 {
        cluster.send(partition, partition * 10..partition * 10 + 4).await;
    }
    let mut consumer = cluster.consumer();
    let mut seen = BTreeSet::new();
    // The first partition is never settled.
    while seen.len() < 2 + 3 * 4 {
        let delivery = next(&mut consumer).await;
        seen.insert(body(&delivery).parse::<i32>().unwrap());
        if partition(&delivery) != 0 {
            ack(&delivery).await.unwrap();
        } else {
            std::mem::forget(delivery);
        }
    }
    assert!(seen.contains(&0) && seen.contains(&1) && !seen.contains(&2), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_begins_anew_is_read_from_there_and_committed_from_there() {
    let cluster = Cluster::new(1);
    cluster.send(0, 0..3).await;
    let mut consumer = cluster.consumer();
    let taken = take(&mut consumer, 3).await;
    for delivery in &taken {
        ack(delivery).await.unwrap();
    }
    cluster.wait_for_commit(0, 3).await;
    // The library begins again with the first record, as where the topic was made anew.
    let out_of_range = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE];
    cluster.mock.request_errors(RDKafkaApiKey::Fetch, &out_of_range);
    let others = take(&mut consumer, 3).await;
    let seen: Vec<_> = others.iter().map(|it| (body(it), it.earlier)).collect();
    assert_eq!(seen, [("0", Earlier::Nothing), ("1", Earlier::Nothing), ("2", Earlier::Nothing)]);
    assert_eq!(cluster.committed(0).map(|(offset, _)| offset), Some(0), "what comes now is not skipped after a crash");
    for delivery in &others {
        ack(delivery).await.unwrap();
    }
    cluster.wait_for_commit(0, 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_that_has_ended_says_so_while_what_it_lost_is_still_in_work() {
    let cluster = Cluster::new(1);
    cluster.send(0, 0..2).await;
    let (plan, publisher) = (Plan::new("orders", "orders"), Arc::new(Publisher::new(&cluster.settings)));
    let mut consumer =
        KafkaConsumer::start(&cluster.settings, &plan, 2, Arc::clone(&cluster.remembered), publisher).unwrap();
    let in_work = take(&mut consumer, 2).await;
    let shared = Arc::clone(&consumer.shared);
    let (ended, ()) = tokio::join!(timeout(DEADLINE, consumer.next()), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        shared.end("the broker is gone".to_owned());
    });
    let ended = ended.expect("it waits for none that is lost").err().expect("it has ended").to_string();
    assert!(ended.contains("the broker is gone"), "{ended}");
    let again = timeout(DEADLINE, consumer.next()).await.expect("at once");
    assert!(again.is_err() && in_work.iter().all(|delivery| delivery.lost.is_cancelled()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_while_nobody_has_a_partition_that_begins_at_its_end_is_not_skipped() {
    let mut cluster = Cluster::new(1);
    cluster.settings.client.insert("auto.offset.reset".to_owned(), "latest".to_owned());
    cluster.send(0, 0..2).await;
    let mut consumer = cluster.consumer();
    cluster.wait_for_commit(0, 2).await;
    consumer.stop().await;
    consumer.close().await;
    cluster.send(0, 2..3).await;
    assert_eq!(body(&next(&mut cluster.consumer()).await), "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ended_an_owner_is_still_told_after_the_next_one_handed_it_on_in_order() {
    let cluster = Cluster::new(1);
    cluster.send(0, 0..3).await;
    let died = Progress { position: 0, limit: 2, under_way: vec![0], interruptions: vec![(1, 2)], notes: 0 };
    cluster.leave_behind(0, &died.text(false).replace(&*progress::OWNER, "another"));
    let mut consumer = cluster.consumer();
    take(&mut consumer, 3).await;
    consumer.stop().await;
    consumer.close().await;
    let mut consumer = cluster.consumer();
    let told: Vec<_> = take(&mut consumer, 3).await.iter().map(|it| it.earlier).collect();
    let under_way = |interruptions| Earlier::UnderWay { interruptions };
    assert_eq!(told, [under_way(1), under_way(2), Earlier::Nothing]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_decided_is_remembered_though_the_partition_leaves_again_before_it_is_read() {
    let mut cluster = Cluster::new(1);
    cluster.send(0, 0..3).await;
    let mut consumer = cluster.consumer();
    let taken = take(&mut consumer, 3).await;
    ack(&taken[1]).await.unwrap();
    ack(&taken[2]).await.unwrap();
    consumer.stop().await;
    consumer.close().await;
    // The first record pins the partition, and the others find no room.
    cluster.settings.window = 1;
    let mut consumer = cluster.consumer();
    next(&mut consumer).await;
    consumer.stop().await;
    consumer.close().await;
    cluster.settings.window = 1000;
    let mut consumer = cluster.consumer();
    let told: Vec<_> = take(&mut consumer, 3).await.iter().map(|it| it.earlier).collect();
    assert_eq!(told, [Earlier::Nothing, Earlier::Done, Earlier::Done]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_position_on_a_topic_that_is_gone_is_not_left_to_one_that_takes_its_place() {
    let mut cluster = Cluster::new(1);
    cluster.settings.client.insert("topic.metadata.refresh.interval.ms".to_owned(), "200".to_owned());
    cluster.settings.client.insert("topic.metadata.propagation.max.ms".to_owned(), "0".to_owned());
    cluster.send(0, 0..1).await;
    let mut consumer = cluster.consumer();
    ack(&next(&mut consumer).await).await.unwrap();
    cluster.wait_for_commit(0, 1).await;
    let before = cluster.committed(0);
    cluster.mock.topic_error("orders", RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART).unwrap();
    let ended = timeout(DEADLINE, consumer.next()).await.expect("it ends").err().expect("it ends with a reason");
    // Which of the two the library notices first is its own affair.
    let told = ended.to_string();
    assert!(told.contains("Unknown topic or partition") || told.contains("Unknown partition"), "{told}");
    timeout(DEADLINE, consumer.shared.left.cancelled()).await.expect("it leaves");
    cluster.mock.topic_error("orders", RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR).unwrap();
    assert_eq!(cluster.committed(0), before, "nothing is committed at the end");
}
