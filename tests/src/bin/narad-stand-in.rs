//! A stand-in for Narad, to try examples with where there is no real one: see `reprieve_tests::narad`.

use reprieve_tests::narad::{Cluster, Release};

/// Where a real one answers in its `--dev` mode.
const ADDRESS: &str = "127.0.0.1:7942";

#[tokio::main]
async fn main() {
    let address = std::env::args().nth(1).unwrap_or_else(|| ADDRESS.to_owned());
    let Ok(address) = address.parse() else {
        eprintln!("usage: narad-stand-in [ADDRESS], such as {ADDRESS}");
        std::process::exit(2);
    };
    let cluster = Cluster::start_at(Release::V3_1, &[address]).await;
    println!("a stand-in for Narad v3.1 answers on {}; its topics end with it", cluster.url());
    std::future::pending::<()>().await;
}
