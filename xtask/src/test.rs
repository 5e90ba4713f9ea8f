//! `cargo xtask test`: sets up what the tests need, and runs all of them.

mod steps;

use std::ffi::OsString;
use std::process::Command;

use anyhow::Result;

use crate::{frozen, kafka, policies, python, rabbitmq, system, systemd, test_policies, torture, wasm, workspace};
use steps::Steps;

/// All of `plugins/`: what the committed policies are compared with, and what runs the cases of its own folder.
const FRESH_POLICIES: &str = "target/fresh-policies";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only the tests whose names contain one of these
    filters: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut steps = Steps::default();
    let outcome = every_step(&mut steps, &args.filters);
    println!("\n{steps}");
    outcome
}

/// A set-up that fails ends it all. Tests that fail do not keep the others from running.
fn every_step(steps: &mut Steps, filters: &[String]) -> Result<()> {
    steps.take("what building needs", system::ensure)?;
    steps.take("committed policies", policies::check)?;
    steps.take("frozen policies", frozen::check)?;
    steps.take("wasm32 toolchain", || wasm::toolchain().map(drop))?;
    steps.take("test policies", test_policies::run)?;
    steps.take("fresh policies", || policies::build_all(&workspace::root().join(FRESH_POLICIES)))?;
    let rabbitmq = steps.take("RabbitMQ", rabbitmq::ensure)?;
    let kafka = steps.take("Kafka", kafka::ensure)?;
    let python = steps.take("Python with pika", python::ensure)?;
    steps.take("systemd-analyze", systemd::ensure)?;
    let peers = [
        ("REPRIEVE_TEST_RABBITMQ", rabbitmq.url().into()),
        ("REPRIEVE_TEST_KAFKA", kafka.address().into()),
        ("REPRIEVE_TEST_PYTHON", python.into()),
    ];

    steps.take("build", || workspace::run(cargo_test(&peers).arg("--no-run")))?;
    let mut test = |what, targets: &[&str]| {
        let mut cargo = cargo_test(&peers);
        cargo.arg("--no-fail-fast").args(targets).args(["--", "--quiet"]).args(filters);
        steps.take(what, || workspace::run(&mut cargo))
    };
    let unit = test("unit tests", &["--lib", "--bins"]);
    let documentation = test("documentation tests", &["--doc"]);
    let integration = test("integration tests", &["--test", "*"]);
    // It is no test that a name selects.
    let mut torture = |what, short: fn() -> Result<()>| {
        if filters.is_empty() { steps.take(what, short) } else { Ok(()) }
    };
    let rabbitmq = torture("torture", torture::short);
    let kafka = torture("torture on Kafka", torture::short_kafka);
    let narad = torture("torture on a stand-in for Narad", torture::short_on_narad);
    unit.and(documentation).and(integration).and(rabbitmq).and(kafka).and(narad)
}

/// Always of the whole workspace: a selection of packages could mean other features, and that dependencies are compiled
/// once more. The program is built along with its tests.
fn cargo_test(peers: &[(&str, OsString)]) -> Command {
    let mut cargo = workspace::cargo();
    cargo.args(["test", "--workspace"]);
    cargo.envs(peers.iter().map(|(name, value)| (name, value)));
    // A snapshot that differs is a failure, and is not to be accepted on the way.
    cargo.env("INSTA_UPDATE", "no");
    cargo
}
