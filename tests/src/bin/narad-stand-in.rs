//! A stand-in for Narad, to try examples with where there is no real one: see `reprieve_tests::narad`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use reprieve_tests::narad::{Cluster, Release};
use tokio::signal::unix::{SignalKind, signal};

/// Where a real one answers in its `--dev` mode.
const ADDRESS: &str = "127.0.0.1:7942";

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| ADDRESS.to_owned());
    let (Ok(address), file, None) = (address.parse(), arguments.next(), arguments.next()) else {
        eprintln!("usage: narad-stand-in [ADDRESS [FILE]], such as {ADDRESS} topics.jsonl");
        return ExitCode::from(2);
    };
    match serve(address, file.map(PathBuf::from)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(address: SocketAddr, file: Option<PathBuf>) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let (cluster, kept) = match file {
        Some(file) => (Cluster::durable(address, &file).await?, format!("are kept in {}", file.display())),
        None => (Cluster::start_at(Release::V3_1, &[address]).await, "end with it".to_owned()),
    };
    println!("a stand-in for Narad v3.1 answers on {}; its topics {kept}", cluster.url());
    terminate.recv().await;
    cluster.drain().await;
    Ok(())
}
