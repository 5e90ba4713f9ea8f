//! What a thousand files that are no good cost the decisions of a route, beside the same decisions in peace.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use reprieve::failure::Failure;
use reprieve::observer::Observer;
use reprieve::policy::candidate::CandidatePlan;
use reprieve::policy::embedded;
use reprieve::policy::engine::{Engine, EngineLimits};
use reprieve::policy::registry::{Policies, PolicyHandle, PolicySettings, RoutePolicy};

use crate::fixture;
use crate::table::{Table, percentile};

const SWAPS: usize = 1_000;
/// Between two decisions: the rate of a busy route, on a machine that is not full.
const PACE: Duration = Duration::from_millis(1);
const PEACE: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn measure(table: &mut Table) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    tokio::runtime::Runtime::new()?.block_on(measure_in(folder.path(), table))
}

async fn measure_in(folder: &Path, table: &mut Table) -> anyhow::Result<()> {
    let good = fixture::rules_policy()?;
    std::fs::create_dir(folder.join("policies"))?;
    std::fs::write(folder.join("policies/live.wasm"), &good)?;
    let settings = PolicySettings {
        folder: Some(folder.join("policies")),
        state: Some(folder.join("state")),
        ..PolicySettings::default()
    };
    let route = RoutePolicy {
        record: fixture::route(),
        policy: Some("live".to_owned()),
        settings: fixture::twenty_rules(),
        policy_digest: None,
        candidate: CandidatePlan::default(),
    };
    let policies =
        Policies::start(Engine::new(EngineLimits::default())?, settings, vec![route], Observer::new()).await?;
    let handle = policies.handle("orders").context("the route has a handle")?;
    let revision = Arc::clone(handle.live().context("the good policy is live")?.maker());

    let stop = Arc::new(AtomicBool::new(false));
    let deciding = decide_at_a_pace(handle.clone(), Arc::clone(&stop));
    tokio::time::sleep(PEACE).await;
    stop.store(true, Ordering::Relaxed);
    let mut before = deciding.await?;

    stop.store(false, Ordering::Relaxed);
    let deciding = decide_at_a_pace(handle.clone(), Arc::clone(&stop));
    let begin = Instant::now();
    for n in 0..SWAPS {
        let (bytes, refusal) = bad_file(&good, n)?;
        install(folder, &bytes)?;
        until_refused(&policies, n, refusal).await?;
        if (n + 1).is_multiple_of(100) {
            eprintln!("bad swaps: {} in {:.0?}", n + 1, begin.elapsed());
        }
    }
    let took = begin.elapsed();
    stop.store(true, Ordering::Relaxed);
    let mut during = deciding.await?;

    let live = handle.live().context("a policy is live")?;
    ensure!(*live.maker() == revision, "the policy that was live is live no more");
    policies.shutdown().await;
    table.row("bad swaps, one after the other", format!("{SWAPS} in {took:.0?}"), "-", true);
    for part in [50, 99] {
        table.row(&format!("decision in peace, p{part}"), format!("{:.0?}", percentile(&mut before, part)), "-", true);
        table.row(
            &format!("decision during bad swaps, p{part}"),
            format!("{:.0?}", percentile(&mut during, part)),
            "-",
            true,
        );
    }
    Ok(())
}

/// From the question to the answer, as a route's driver sees it, until `stop`.
fn decide_at_a_pace(handle: PolicyHandle, stop: Arc<AtomicBool>) -> tokio::task::JoinHandle<Vec<Duration>> {
    tokio::spawn(async move {
        let failure: Arc<Failure> = Arc::new(fixture::failure());
        let mut times = Vec::new();
        let mut pace = tokio::time::interval(PACE);
        pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !stop.load(Ordering::Relaxed) {
            pace.tick().await;
            let begin = Instant::now();
            let decision = handle.decide(Arc::clone(&failure)).await;
            times.push(begin.elapsed());
            decision.result.expect("the policy that is live decides");
        }
        times
    })
}

/// A file that differs from all others, and what its refusal says.
fn bad_file(good: &[u8], n: usize) -> anyhow::Result<(Vec<u8>, &'static str)> {
    let (bytes, refusal) = match n % 4 {
        0 => (good[..good.len() / 2 - n].to_vec(), "cut short"),
        1 => (embedded::STANDARD.to_vec(), "refuses its settings"),
        2 => (replaced(good, b"judges every failure", b"panics every failure")?, "made-up failure"),
        _ => (replaced(good, b"reprieve:policy/log@", b"reprieve:policy/lag@")?, "reprieve:policy/lag"),
    };
    let is_cut = n.is_multiple_of(4);
    Ok((if is_cut { bytes } else { numbered(bytes, n) }, refusal))
}

fn replaced(bytes: &[u8], what: &[u8], by: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut bytes = bytes.to_vec();
    let at: Vec<usize> = (0..=bytes.len() - what.len()).filter(|&at| bytes[at..].starts_with(what)).collect();
    ensure!(!at.is_empty(), "the policy does not hold {:?}", String::from_utf8_lossy(what));
    at.into_iter().for_each(|at| bytes[at..at + by.len()].copy_from_slice(by));
    Ok(bytes)
}

/// The same module with a custom section that makes it another file.
fn numbered(mut module: Vec<u8>, n: usize) -> Vec<u8> {
    let text = format!("{n:06}");
    module.extend([0, 2 + text.len() as u8, 1, b'n']);
    module.extend(text.as_bytes());
    module
}

fn install(folder: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::write(folder.join("next"), bytes)?;
    Ok(std::fs::rename(folder.join("next"), folder.join("policies/live.wasm"))?)
}

/// Waits until the status tells of a new refusal that says `text`.
async fn until_refused(policies: &Policies, n: usize, text: &str) -> anyhow::Result<()> {
    let begin = Instant::now();
    let mut seen = None;
    while begin.elapsed() < PATIENCE {
        let status = policies.status();
        let error = status.routes.iter().find_map(|route| route.last_error.clone());
        if error.as_ref().is_some_and(|error| error.text.contains(text)) {
            return Ok(());
        }
        seen = error.map(|error| error.text);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    anyhow::bail!("waited in vain for swap {n} to be refused for {text:?}; the last refusal: {seen:?}")
}
