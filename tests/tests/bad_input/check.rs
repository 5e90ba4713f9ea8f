//! `reprieve check` refuses what `run` would not run on, before it runs.

use reprieve::policy::embedded;
use reprieve_tests::rabbitmq::{Proxy, Sandbox, url};

use crate::place::{Place, bad_files};
use crate::text::host_and_port;

const CHECK: [&str; 3] = ["check", "-c", "reprieve.toml"];
const CONNECT: [&str; 4] = ["check", "--connect", "-c", "reprieve.toml"];

fn route(name: &str, broker: &str, policy: &str) -> String {
    format!(
        "\n[[routes]]\nname = \"{name}\"\nbroker = \"{broker}\"\nsource = \"{name}\"\n{policy}\
         handler = {{ kind = \"http\", url = \"http://127.0.0.1:9000/\" }}\n\
         dead_letters = {{ default = \"{name}.dlq\" }}\n"
    )
}

#[test]
fn every_bad_policy_is_refused_where_it_is_named() {
    let mut routes = route("missing", "local", "policy = \"missing\"\n")
        + &route("settings", "local", "policy = \"good\"\nsettings = { give_up_aftr = \"24h\" }\n");
    for (name, _) in bad_files() {
        routes += &route(name, "local", &format!("policy = \"{name}\"\n"));
    }
    let place = Place::new(&routes);
    for (name, bytes) in bad_files() {
        place.install(name, bytes);
    }
    place.install("good", embedded::STANDARD);
    let (code, out, err) = place.call(&CHECK);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    insta::assert_snapshot!("policies", err);
}

#[tokio::test(flavor = "multi_thread")]
async fn brokers_are_asked_only_where_that_is_wanted() {
    let sandbox = Sandbox::new().await;
    let (source, missing) = (sandbox.queue("source", &[]).await, sandbox.name("missing"));
    let dead = sandbox.name("source.dlq");
    let down = Proxy::down();
    let brokers = |name, url: &str| format!("\n[brokers.{name}]\nkind = \"rabbitmq\"\nurl = \"{url}\"\n");
    let place = Place::new(
        &[
            brokers("main", &url()),
            brokers("down", &down.url()),
            route(&source, "main", ""),
            route(&missing, "main", ""),
            route("far", "down", ""),
        ]
        .concat(),
    );

    let (code, _, err) = place.call(&CHECK);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(!sandbox.exists(&dead).await, "nothing was connected to");

    let (code, out, err) = place.call(&CONNECT);
    assert_eq!((code, err.as_str()), (Some(1), ""));
    assert!(sandbox.exists(&dead).await, "what run would declare is declared");
    let (_, answers) = out.split_once("\nbrokers\n").expect("what the brokers said is at the end");
    let address = host_and_port(&down.url());
    let shown = answers.replace(&source, "orders").replace(&missing, "missing").replace(&address, "ADDRESS");
    insta::assert_snapshot!("connect", shown);
}
