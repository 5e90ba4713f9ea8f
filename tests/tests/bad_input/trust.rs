//! Policies that the configuration trusts, and others in their place.

use std::fmt::Write as _;

use reprieve::policy::embedded;
use serde_json::Value;

use crate::place::Place;
use crate::policies::{route, status};
use crate::program::Program;
use crate::signing::Signer;
use crate::wait_for;

const CHECK: [&str; 3] = ["check", "-c", "reprieve.toml"];
/// Stands at the end of `[policies]`, which is where [`Place::configure`] puts what it is given.
const RESCAN: &str = "rescan = \"20ms\"\n";

/// The refusals in the log, not counting its time stamps.
fn refusals(program: &Program) -> String {
    program.lines(&["the policy was not taken"], &[])
}

fn wait_for_scans(program: &Program) {
    let scans = || program.get("/status").1["policies"]["folder"]["scans"].as_u64().expect("a number");
    let before = scans();
    wait_for("more scans", || (scans() > before + 5).then_some(()));
}

fn wait_for_refusal(program: &Program, text: &str) {
    wait_for(text, || status(program, "orders")["last_error"]["text"].as_str()?.contains(text).then_some(()));
}

fn wait_for_swap(program: &Program, digest: &str) {
    wait_for("the swap", || {
        let status = status(program, "orders");
        (status["file_digest"] == digest && status["last_error"] == Value::Null).then_some(())
    });
}

/// As `sha256sum` prints it.
fn digest(place: &Place, policy: &str) -> String {
    let file = place.path(&format!("policies/{policy}.wasm"));
    let output = std::process::Command::new("sha256sum").arg(file).output().expect("sha256sum is there");
    let text = String::from_utf8(output.stdout).expect("it prints UTF-8");
    text.split_whitespace().next().expect("it prints the digest first").to_owned()
}

#[test]
fn a_signed_policy_is_swapped_for_another_signed_one_and_for_nothing_else() {
    let signer = Signer::new(1);
    let key = format!("public_keys = [\"{}\"]\n", signer.public_key());
    let place = Place::new(&[RESCAN, &key, &route("orders", "orders", "{}")].concat());
    place.install("orders", embedded::STANDARD);
    let (code, _, err) = place.call(&CHECK);
    assert_eq!(code, Some(2));
    insta::assert_snapshot!("unsigned", err);

    place.write("policies/orders.wasm.minisig", signer.sign(embedded::STANDARD));
    let (code, out, err) = place.call(&CHECK);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.contains("signed with   the key "), "{out}");
    let program = place.run();
    program.wait_until_ready("orders");
    assert_eq!(status(&program, "orders")["file_digest"], digest(&place, "orders"));

    place.install("orders", embedded::BY_ERROR_KIND);
    wait_for_refusal(&program, "does not fit the file");
    wait_for_scans(&program);
    assert_eq!(refusals(&program).lines().count(), 1, "{}", refusals(&program));
    place.write("policies/orders.wasm.minisig", signer.sign(embedded::BY_ERROR_KIND));
    wait_for_swap(&program, &digest(&place, "orders"));
    program.send("orders", "m1", "an order");
    program.messages("orders.dlq", 1);
    program.stop();
}

#[test]
fn a_pinned_route_says_so_at_start_refuses_another_file_once_and_takes_it_with_another_pin() {
    let place = Place::new("");
    let configure = |pin: &str| {
        let mut route = route("orders", "orders", "{}");
        writeln!(route, "policy_digest = \"sha256:{pin}\"").expect("a text takes what is written");
        place.configure(&[RESCAN, &route].concat());
    };
    place.install("orders", embedded::STANDARD);
    let first = digest(&place, "orders");
    configure(&first);
    let (code, out, err) = place.call(&CHECK);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.contains(&format!("pinned to     sha256:{first}\n")), "{out}");
    let program = place.run();
    program.wait_until_ready("orders");
    program.wait_for_line(&["the route is pinned to one file", &first]);
    assert_eq!(status(&program, "orders")["policy_digest"], format!("sha256:{first}"));

    place.install("orders", embedded::BY_ERROR_KIND);
    let second = digest(&place, "orders");
    wait_for_refusal(&program, &format!("this file's is sha256:{second}"));
    wait_for_scans(&program);
    assert_eq!(refusals(&program).lines().count(), 1, "{}", refusals(&program));
    let (code, _, err) = place.call(&CHECK);
    assert_eq!(code, Some(2));
    insta::assert_snapshot!("pinned", err.replace(&first, "FIRST").replace(&second, "SECOND"));

    configure(&second);
    program.hang_up();
    wait_for_swap(&program, &second);
    program.wait_for_line(&["the route is pinned to one file", &second]);
    program.stop();
}
