//! Two hosts on one source.

use std::collections::BTreeMap;

use reprieve::broker::{Plan, Settlement, Target};
use reprieve::message::Message;

use crate::cases::on_every_broker;
use crate::stage::{Stage, consume, leave, next};
use crate::within;

on_every_broker! {
    two_hosts_share_the_work_and_each_message_is_for_one_of_them,
    what_one_host_leaves_the_other_gets,
}

async fn two_hosts_share_the_work_and_each_message_is_for_one_of_them(stage: Stage) {
    const MESSAGES: usize = 200;
    let shared = stage.place.name("shared");
    stage.place.make(&shared, 4).await;
    let plan = Plan { source: shared.clone(), ..stage.plan() };
    let drivers = [stage.driver(), stage.driver()];
    let mut consumers = [consume(&drivers[0], &plan, 5).await, consume(&drivers[1], &plan, 5).await];
    let target = Target::Topic(shared.as_str().into());
    let [one, two] = &mut consumers;
    let mut taken = [Vec::new(), Vec::new()];
    let mut sent = 0;
    // Until both have a share: on a log it takes a moment until the second host has partitions.
    within(async {
        while taken.iter().map(Vec::len).sum::<usize>() < sent || sent < MESSAGES || taken.iter().any(Vec::is_empty) {
            if taken.iter().map(Vec::len).sum::<usize>() == sent {
                for _ in 0..20 {
                    let message = Message::new("body").with_id(sent.to_string());
                    stage.onlooker.publish(&target, &message).await.expect("a message that is kept");
                    sent += 1;
                }
            }
            let (by, delivery) = tokio::select! {
                delivery = one.next() => (0, delivery),
                delivery = two.next() => (1, delivery),
            };
            let delivery = delivery.expect("a delivery");
            let settled = delivery.settler.settle(Settlement::Ack).await;
            // A partition that moves takes along what is not settled.
            if settled.is_ok() {
                taken[by].push(delivery.message.id.clone().unwrap());
            }
        }
    })
    .await;
    let mut times = BTreeMap::<String, u32>::new();
    for id in taken.into_iter().flatten() {
        *times.entry(id).or_default() += 1;
    }
    assert!(times.values().all(|times| *times == 1), "{times:?}");
    assert_eq!(times.len(), sent);
}

async fn what_one_host_leaves_the_other_gets(stage: Stage) {
    let (staying, leaving) = (stage.driver(), stage.driver());
    let mut leaver = stage.consume(&leaving, 2).await;
    stage.send_ids(&["1", "2"]).await;
    for _ in 0..2 {
        drop(next(&mut *leaver).await);
    }
    let mut stayer = stage.consume(&staying, 2).await;
    leave(leaver).await;
    let mut ids = [(); 2].map(|()| String::new());
    for id in &mut ids {
        *id = next(&mut *stayer).await.message.id.clone().unwrap();
    }
    ids.sort();
    assert_eq!(ids, ["1", "2"]);
}
