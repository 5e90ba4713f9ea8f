//! A record that ends the host each time it is handled. Each host has a state folder of its own: what it knows of those before it
//! stands in the commits.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reprieve_tests::kafka::{Record, Sandbox, address};
use tempfile::TempDir;

/// As it stands in the configuration.
const MAX_INTERRUPTIONS: usize = 2;
const KILLER: &str = "m4";

#[tokio::test]
async fn a_record_that_ends_the_host_again_and_again_is_dead_lettered_and_its_neighbours_are_not() {
    let sandbox = Sandbox::new();
    let (orders, dlq) = (sandbox.topic("orders", 2, &[]).await, sandbox.topic("dlq", 1, &[]).await);
    let folder = TempDir::new().expect("a temporary folder");
    let handled = folder.path().join("handled");
    // Neighbours are under way at each end of the host.
    let script = format!(
        "if [ \"$REPRIEVE_ID\" = {KILLER} ]; then sleep 0.1; kill -9 $PPID; exit 1; fi\n\
         sleep 0.2; echo $REPRIEVE_ID >> {}",
        handled.display()
    );
    let config = format!(
        "[host]\nadmin = \"127.0.0.1:0\"\ntiers = []\n\n\
         [brokers.main]\nkind = \"kafka\"\nservers = \"{}\"\nsettings = {{ \"session.timeout.ms\" = 6000 }}\n\n\
         [[routes]]\nname = \"{}\"\nbroker = \"main\"\nsource = \"{orders}\"\nconcurrency = 4\n\
         handler = {{ kind = \"command\", program = {} }}\n\
         dead_letters = {{ default = \"{dlq}\" }}\n\
         retry = {{ max_attempts = 1000, initial_delay = \"10ms\" }}\nmax_interruptions = {MAX_INTERRUPTIONS}\n",
        address(),
        sandbox.name("route"),
        serde_json::json!(["sh", "-c", script]),
    );
    fs::write(folder.path().join("reprieve.toml"), config).expect("a writable folder");
    let ids: Vec<String> = (0..8).map(|number| format!("m{number}")).collect();
    for (number, id) in (0..).zip(&ids) {
        sandbox.put(&orders, &Record::new("body").on(number % 2).with_header("reprieve-id", Some(id.as_bytes()))).await;
    }

    let begun = Instant::now();
    let lines =
        || -> Vec<String> { fs::read_to_string(&handled).unwrap_or_default().lines().map(str::to_owned).collect() };
    let (mut kills, mut host) = (0, Host::start(&folder));
    while sandbox.read(&dlq).await.is_empty() || !ids.iter().all(|id| id == KILLER || lines().contains(id)) {
        assert!(begun.elapsed() < Duration::from_secs(180), "{kills} kills, handled: {:?}", lines());
        if host.0.try_wait().expect("a child").is_some() {
            kills += 1;
            assert!(kills <= 1 + MAX_INTERRUPTIONS, "it is not told from its neighbours");
            host = Host::start(&folder);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(kills >= MAX_INTERRUPTIONS, "it was not run often enough: {kills}");
    let letters = sandbox.read(&dlq).await;
    let dead: Vec<_> = letters.iter().map(|letter| letter.text("reprieve-id")).collect();
    assert_eq!(dead, [Some(KILLER)]);
}

/// `reprieve run` with the configuration in a folder.
struct Host(Child);

impl Host {
    fn start(folder: &TempDir) -> Self {
        let program = std::env::current_exe().expect("a test has a path");
        let program = program.parent().and_then(|deps| deps.parent()).expect("the build's folder").join("reprieve");
        let state = folder.path().join("state");
        if state.exists() {
            fs::remove_dir_all(state).expect("a folder that nobody uses any more");
        }
        let mut command = Command::new(program);
        Self(command.arg("run").current_dir(folder.path()).stdin(Stdio::null()).spawn().expect("the program starts"))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if self.0.try_wait().expect("a child").is_none() {
            self.0.kill().expect("a child that runs");
            self.0.wait().expect("a child that was killed");
        }
    }
}
