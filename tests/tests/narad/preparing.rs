//! What must be there before a route starts.

use std::time::Duration;

use reprieve::broker::narad::{Envelope, Narad, NaradSettings};
use reprieve::broker::{Broker as _, BrokerError, Plan};
use reprieve::topic::Topic;
use reprieve_tests::narad::{Cluster, Fault, On, Release};

use super::{driver, plan, settings, tier, unfit, within};

const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

fn full_plan() -> Plan {
    Plan { tiers: vec![tier(500), tier(2000)], topics: vec!["orders.dlq".into()], ..plan() }
}

#[tokio::test]
async fn missing_topics_are_made_and_found_again() {
    for release in [Release::V2_0, Release::V2_2, Release::V3_1] {
        let cluster = Cluster::start(release, 1).await;
        cluster.create("orders");
        let driver = driver(&cluster);
        let prepared = driver.prepare(&full_plan()).await.unwrap();
        assert_eq!(prepared.remarks, [""; 0], "{release:?}");
        assert!(prepared.requeue_is_safe);
        let expected = [
            "orders",
            "orders.dlq",
            "reprieve.tier.orders.2000ms",
            "reprieve.tier.orders.2000ms.run",
            "reprieve.tier.orders.500ms",
            "reprieve.tier.orders.500ms.run",
        ];
        assert_eq!(cluster.topics(), expected);
        let made = cluster.seen(On::Create).len();
        driver.prepare(&full_plan()).await.unwrap();
        assert_eq!(cluster.seen(On::Create).len(), made);
    }
}

#[tokio::test]
async fn where_nothing_may_be_declared_what_is_missing_is_named() {
    let cluster = Cluster::one().await;
    cluster.create("orders");
    let driver = Narad::new(NaradSettings { declare: false, ..settings(&cluster) }).unwrap();
    let text = unfit(driver.prepare(&full_plan()).await.unwrap_err());
    assert!(text.contains("'orders.dlq'"), "{text}");
    cluster.create("orders.dlq");
    let text = unfit(driver.prepare(&full_plan()).await.unwrap_err());
    assert!(text.contains("'reprieve.tier.orders.500ms'") && text.contains("declare = true"), "{text}");
    assert!(cluster.seen(On::Create).is_empty());
}

#[tokio::test]
async fn a_source_that_is_missing_is_not_made() {
    let cluster = Cluster::one().await;
    let text = unfit(driver(&cluster).prepare(&plan()).await.unwrap_err());
    assert!(text.contains("no topic 'orders'") && text.contains("narad topic add orders"), "{text}");
    assert!(cluster.topics().is_empty());
}

#[tokio::test]
async fn a_tier_that_is_made_otherwise_is_refused_with_its_cure() {
    let only = Plan { tiers: vec![tier(500)], ..plan() };
    let (parent, child) = ("reprieve.tier.orders.500ms", "reprieve.tier.orders.500ms.run");
    let refused = async |arrange: &dyn Fn(&Cluster)| {
        let cluster = Cluster::one().await;
        cluster.create("orders");
        arrange(&cluster);
        unfit(driver(&cluster).prepare(&only).await.unwrap_err())
    };
    let text = refused(&|cluster| cluster.create_with(parent, WEEK, Duration::from_secs(3600))).await;
    assert!(text.contains("409") && text.contains("retention_ms"), "{text}");
    let text = refused(&|cluster| {
        for name in [parent, child, "audit"] {
            cluster.create(name);
        }
        cluster.attach(parent, child, Duration::from_millis(500));
        cluster.attach(parent, "audit", Duration::ZERO);
    })
    .await;
    assert!(text.contains("'audit'") && text.contains("once for each"), "{text}");
    let text = refused(&|cluster| {
        for name in [parent, child] {
            cluster.create(name);
        }
        cluster.attach(parent, child, Duration::from_millis(400));
    })
    .await;
    assert!(text.contains("400ms") && text.contains("cannot be changed"), "{text}");
    let text = refused(&|cluster| cluster.create(child)).await;
    assert!(text.contains("follows no other"), "{text}");
    let text = refused(&|cluster| {
        for name in [parent, child, "other"] {
            cluster.create(name);
        }
        cluster.attach("other", child, Duration::from_millis(500));
    })
    .await;
    assert!(text.contains("child of 'other'"), "{text}");
    let text = refused(&|cluster| {
        for name in [parent, "above"] {
            cluster.create(name);
        }
        cluster.attach("above", parent, Duration::ZERO);
    })
    .await;
    assert!(text.contains("child of 'above'"), "{text}");
    // Names that differ in case only would share a folder.
    let text = refused(&|cluster| cluster.create(&parent.to_uppercase())).await;
    assert!(text.contains("409") && text.contains("by hand"), "{text}");
}

#[tokio::test]
async fn a_topic_that_another_host_makes_at_the_same_moment_is_as_good() {
    let cluster = Cluster::one().await;
    cluster.create("orders");
    cluster.fail(On::Create, 1, Fault::LoseReply);
    let driver = driver(&cluster);
    let first = driver.prepare(&full_plan()).await;
    assert!(matches!(first, Err(BrokerError::Unreachable { .. })), "{first:?}");
    let plan = full_plan();
    let (one, two) = tokio::join!(driver.prepare(&plan), driver.prepare(&plan));
    one.unwrap();
    two.unwrap();
}

#[tokio::test]
async fn a_dead_letter_topic_that_takes_nothing_is_refused_and_one_that_forgets_is_named() {
    let cluster = Cluster::one().await;
    for name in ["orders", "letters", "parent", "child"] {
        cluster.create(name);
    }
    cluster.attach("parent", "child", Duration::from_secs(1));
    let to = |name: &str| Plan { topics: vec![name.into()], ..plan() };
    let text = unfit(driver(&cluster).prepare(&to("child")).await.unwrap_err());
    assert!(text.contains("'child'") && text.contains("409"), "{text}");
    let remarks = driver(&cluster).prepare(&to("letters")).await.unwrap().remarks;
    assert!(remarks.iter().any(|remark| remark.contains("'letters' keeps messages for 7days only")), "{remarks:?}");
    cluster.give_schema("letters");
    let remarks = driver(&cluster).prepare(&to("letters")).await.unwrap().remarks;
    assert!(remarks.iter().any(|remark| remark.contains("schema")), "{remarks:?}");
    let exchange = Topic::Exchange { exchange: "x".to_owned(), routing_key: "y".to_owned() };
    let text = unfit(driver(&cluster).prepare(&Plan { topics: vec![exchange], ..plan() }).await.unwrap_err());
    assert!(text.contains("no exchanges"), "{text}");
}

#[tokio::test]
async fn what_is_lost_without_an_envelope_is_said() {
    let cluster = Cluster::one().await;
    cluster.create("orders");
    let mut settings = settings(&cluster);
    settings.envelopes.insert("orders".to_owned(), Envelope::None);
    let remarks = Narad::new(settings).unwrap().prepare(&plan()).await.unwrap().remarks;
    assert!(remarks.iter().any(|remark| remark.contains("no envelope") && remark.contains("counts")), "{remarks:?}");
}

#[tokio::test]
async fn a_short_lease_is_remarked_upon() {
    let cluster = Cluster::one().await;
    cluster.create_with("orders", Duration::from_secs(1), WEEK);
    let remarks = driver(&cluster).prepare(&plan()).await.unwrap().remarks;
    assert!(remarks.iter().any(|remark| remark.contains("last 1s only")), "{remarks:?}");
}

#[tokio::test]
async fn a_login_that_is_wrong_is_said_without_showing_it() {
    let cluster = Cluster::one().await;
    cluster.create("orders");
    cluster.demand_login("billing", "s3/cret");
    let with = |login: &str| {
        let url = cluster.url().replace("http://", &format!("http://{login}@"));
        Narad::new(NaradSettings::new("main", url)).unwrap()
    };
    let text = unfit(with("billing:wr0ng").prepare(&plan()).await.unwrap_err());
    assert!(
        text.contains("401") && text.contains("correct the user and password") && !text.contains("wr0ng"),
        "{text}"
    );
    with("billing:s3%2Fcret").prepare(&plan()).await.unwrap();
}

#[tokio::test]
async fn a_cluster_that_is_not_there_is_unreachable() {
    let mut cluster = Cluster::one().await;
    cluster.stop(0).await;
    let error = within(driver(&cluster).prepare(&plan())).await.unwrap_err();
    assert!(matches!(error, BrokerError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("start it, or correct `url` of [brokers.main]"), "{error}");
}
