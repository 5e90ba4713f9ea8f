//! A RabbitMQ of the tests' own: with TLS and the management plugin, and free to be put into trouble.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::certificates::Authority;

/// The programs themselves, beneath Debian's wrappers, which insist on the system's user and folders.
const PROGRAMS: &str = "/usr/lib/rabbitmq/bin";
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// Stops the node and removes its folder when the tests' end of the standard input closes, however they came to an end.
const KEEPER: &str = "\"$0\" < /dev/null & read -r _; trap '' TERM; kill -TERM -$$; wait; rm -rf -- \"$1\"";

/// A node that runs for as long as this process.
pub struct Node {
    folder: TempDir,
    name: String,
    plain: u16,
    secure: u16,
    management: u16,
    /// Who signed the node's certificate, and whose signatures it accepts on those of clients.
    pub authority: Authority,
    keeper: Child,
}

impl Node {
    /// The one node that all tests of this process share. The first who asks waits until it is up.
    ///
    /// # Panics
    /// Where it cannot be started.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Node> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Starts a node and waits until it answers. Its certificate is for `localhost`.
    ///
    /// # Panics
    /// Where `rabbitmq-server` is not installed, or does not come up in time.
    #[must_use]
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [plain, secure, management, distribution] = free_ports();
        let authority = Authority::new();
        configure(folder.path(), [plain, secure, management], &authority);
        let name = format!("reprieve-test-{plain}@localhost");
        let log = File::create(folder.path().join("output.log")).expect("a log");
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, &format!("{PROGRAMS}/rabbitmq-server")]).arg(folder.path());
        surroundings(&mut command, folder.path(), &name);
        let keeper = command
            .env("RABBITMQ_NODE_PORT", plain.to_string())
            .env("RABBITMQ_DIST_PORT", distribution.to_string())
            .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "-kernel inet_dist_use_interface {127,0,0,1}")
            .env("RABBITMQ_CONFIG_FILE", folder.path().join("rabbitmq.conf"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", folder.path().join("enabled_plugins"))
            .env("RABBITMQ_MNESIA_BASE", folder.path().join("data"))
            .env("RABBITMQ_LOG_BASE", folder.path().join("log"))
            .env("RABBITMQ_PID_FILE", folder.path().join("pid"))
            .stdin(Stdio::piped())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .process_group(0)
            .spawn()
            .expect("a shell");
        let node = Self { folder, name, plain, secure, management, authority, keeper };
        node.wait_until_up();
        node
    }

    /// The node's URL without TLS.
    #[must_use]
    pub fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/%2f", self.plain)
    }

    /// The node's URL with TLS. It wants a client certificate.
    #[must_use]
    pub fn secure_url(&self) -> String {
        format!("amqps://guest:guest@localhost:{}/%2f", self.secure)
    }

    /// The port without TLS.
    #[must_use]
    pub const fn plain_port(&self) -> u16 {
        self.plain
    }

    /// The port with TLS.
    #[must_use]
    pub const fn secure_port(&self) -> u16 {
        self.secure
    }

    /// The URL of the management API.
    #[must_use]
    pub fn management(&self) -> String {
        format!("http://guest:guest@127.0.0.1:{}", self.management)
    }

    /// Runs `rabbitmqctl` with these arguments.
    ///
    /// # Panics
    /// Where it fails.
    pub fn control(&self, arguments: &[&str]) {
        let output = self.try_control(arguments);
        assert!(output.status.success(), "rabbitmqctl {arguments:?}: {output:?}");
    }

    fn try_control(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(format!("{PROGRAMS}/rabbitmqctl"));
        surroundings(&mut command, self.folder.path(), &self.name);
        command.args(["--node", &self.name]).args(arguments).output().expect("rabbitmqctl")
    }

    fn wait_until_up(&self) {
        let begun = Instant::now();
        // The management plugin is the last to come up.
        while [self.plain, self.secure, self.management].iter().any(|port| !listens(*port)) {
            assert!(begun.elapsed() < START_TIMEOUT, "no RabbitMQ of our own: {}", self.log());
            std::thread::sleep(Duration::from_millis(200));
        }
        while !self.try_control(&["await_startup"]).status.success() {
            assert!(begun.elapsed() < START_TIMEOUT, "no RabbitMQ of our own: {}", self.log());
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("output.log")).unwrap_or_default()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

fn surroundings(command: &mut Command, folder: &Path, name: &str) {
    command
        .env("HOME", folder)
        .env("RABBITMQ_NODENAME", name)
        .env("ERL_EPMD_ADDRESS", "127.0.0.1")
        .env("RABBITMQ_CONF_ENV_FILE", folder.join("rabbitmq-env.conf"));
}

fn configure(folder: &Path, [plain, secure, management]: [u16; 3], authority: &Authority) {
    let (certificate, key) = authority.sign(&["localhost"]).write(folder, "node");
    let ca = folder.join("ca.pem");
    fs::write(&ca, &authority.certificate).expect("a folder that can be written");
    let config = format!(
        "listeners.tcp.1 = 127.0.0.1:{plain}\n\
         listeners.ssl.1 = 127.0.0.1:{secure}\n\
         ssl_options.cacertfile = {}\n\
         ssl_options.certfile = {}\n\
         ssl_options.keyfile = {}\n\
         ssl_options.verify = verify_peer\n\
         ssl_options.fail_if_no_peer_cert = true\n\
         management.tcp.ip = 127.0.0.1\n\
         management.tcp.port = {management}\n\
         collect_statistics_interval = 1000\n",
        ca.display(),
        certificate.display(),
        key.display()
    );
    fs::write(folder.join("rabbitmq.conf"), config).expect("a folder that can be written");
    fs::write(folder.join("enabled_plugins"), "[rabbitmq_management].\n").expect("a folder that can be written");
}

/// Ports that nobody has now.
fn free_ports<const N: usize>() -> [u16; N] {
    // All are held until each is found, so that none is found twice.
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    listeners.map(|listener| listener.local_addr().expect("a bound listener has an address").port())
}

fn listens(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}
