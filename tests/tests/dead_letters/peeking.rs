use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn letters_are_shown_and_stay_in_their_order() {
    let stage = Stage::new().await;
    for (id, kind) in [("A1", "late"), ("A2", "invalid"), ("A3", "late")] {
        stage.letter(id, kind, &[]).await;
    }
    stage.sandbox.wait_for_count(&stage.dlq, 3).await;
    let shown = stage.run(&["peek"]).await.ended(0);
    for part in ["A1", "A3", "late", "it broke", "after 3 attempts", "body of A1", "3 of 3 shown"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    stage.sandbox.wait_for_count(&stage.dlq, 3).await;
    let one = stage.run(&["peek", "--route", "orders", "--error-kind", "invalid"]).await.ended(0);
    assert!(one.contains("A2") && !one.contains("A1") && one.contains("1 of kind \"invalid\""), "{one}");
    stage.sandbox.wait_for_count(&stage.dlq, 3).await;
    assert_eq!(stage.take_ids(&stage.dlq).await, ["A1", "A2", "A3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_in_json_is_a_failure_that_a_policy_can_judge() {
    let stage = Stage::new().await;
    stage.letter("A1", "http-503", &[]).await;
    stage.sandbox.wait_for_count(&stage.dlq, 1).await;
    let line = stage.run(&["peek", "--json"]).await.ended(0);
    assert_eq!(line.lines().count(), 1);
    std::fs::write(stage.path("failure.json"), line).unwrap();
    let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/policies/standard.wasm");
    let mut judge = stage.command(&["policy", "run", policy, "--failure", "failure.json"]);
    let judged = judge.output().unwrap();
    let text = String::from_utf8_lossy(&judged.stdout).into_owned();
    assert!(judged.status.success() && text.contains("dead"), "{text}{}", String::from_utf8_lossy(&judged.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_looked_at_is_said_with_a_cure() {
    let stage = Stage::new().await;
    let empty = stage.run(&["peek"]).await.ended(0);
    assert!(empty.contains("is empty"), "{empty}");
    let missing = stage.run(&["peek", "--topic", &stage.sandbox.name("missing")]).await;
    assert_eq!(missing.code(), Some(1));
    assert!(missing.err().contains("no queue"), "{}", missing.err());
    let wrong = stage.run(&["peek", "--route", "nobody"]).await;
    assert_eq!(wrong.code(), Some(2));
    assert!(wrong.err().contains("there are: orders"), "{}", wrong.err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_in_memory_is_left_to_its_host() {
    let stage = Stage::new().await;
    let config = "[brokers.local]\nkind = \"memory\"\n\n[[routes]]\nname = \"orders\"\nbroker = \"local\"\n\
                  source = \"orders\"\nhandler = { kind = \"command\", program = [\"true\"] }\n\
                  dead_letters = { default = \"orders.dlq\" }\n";
    std::fs::write(stage.path("reprieve.toml"), config).unwrap();
    let refused = stage.run(&["peek"]).await;
    assert_eq!(refused.code(), Some(2), "{}", refused.err());
    assert!(refused.err().contains("/topics/orders.dlq?broker=local"), "{}", refused.err());
}
