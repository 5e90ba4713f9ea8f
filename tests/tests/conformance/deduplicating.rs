//! A message that was handled before is acknowledged unrun, also after the host's end.

use std::time::Duration;

use reprieve::event::{EventKind, SkipReason};
use reprieve::route::{Deduplicate, KeySource};
use reprieve::store::Store;
use reprieve::verdict::Action;

use crate::cases::on_every_broker;
use crate::running::Running;
use crate::stage::Stage;

on_every_broker! {
    a_message_that_is_sent_again_is_handled_once_also_over_an_end_of_the_host,
}

async fn a_message_that_is_sent_again_is_handled_once_also_over_an_end_of_the_host(stage: Stage) {
    let folder = tempfile::tempdir().unwrap();
    let start = async || {
        let store = Store::new(folder.path().join("state/host.db")).unwrap();
        let deduplicate = Deduplicate { by: KeySource::Id, window: Duration::from_secs(600), store };
        let verdicts = [Action::Retry { delay_ms: 1 }];
        Running::start(&stage, &verdicts, |spec| spec.deduplicate = Some(deduplicate)).await
    };
    let mut first = start().await;
    stage.send_ids(&["m"]).await;
    // A failure is no reason to take the next one for a duplicate.
    first.attempt().await.fail();
    first.event("consumed").await;
    first.attempt().await.succeed();
    first.event("consumed").await;
    stage.send_ids(&["m"]).await;
    assert!(matches!(first.event("skipped").await, EventKind::Skipped { why: SkipReason::Duplicate, .. }));
    first.stop().await;

    let mut second = start().await;
    stage.send_ids(&["m", "other"]).await;
    assert_eq!(second.attempt().await.succeed().message.id.as_deref(), Some("other"));
    assert!(matches!(second.event("skipped").await, EventKind::Skipped { why: SkipReason::Duplicate, .. }));
    second.stop().await;
    stage.assert_empty().await;
}
