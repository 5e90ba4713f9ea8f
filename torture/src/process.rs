//! A process of the rig's that does not outlive it, however the rig ends.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use anyhow::{Context as _, Result};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, ChildStdin, Command};

/// Becomes the program, beside a watcher that kills the group once the rig's end of the standard input closes. The
/// watcher is no child of the program, which need not know of it.
const KEEPER: &str = "exec 3<&0 < /dev/null; ( { read -r _ <&3; kill -KILL 0; } & ); exec 3<&-; exec \"$0\" \"$@\"";

/// A running process, which leads a group of its own. Dropped, all of the group is killed.
pub(crate) struct Process {
    child: Child,
    /// Held apart from the child, where waiting would close it.
    _leash: ChildStdin,
}

impl Process {
    /// Starts a program with nothing to read. One that is not there ends with status 127, and says so in its output.
    pub(crate) fn start<A: AsRef<OsStr>>(program: &Path, arguments: &[A], out: Stdio, err: Stdio) -> Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER]).arg(program).args(arguments).stdin(Stdio::piped()).stdout(out).stderr(err);
        // Of its own also since Ctrl-C is meant for the rig, which ends its processes in order.
        let child = command.process_group(0).kill_on_drop(true).spawn();
        let mut child = child.with_context(|| format!("cannot start {}", program.display()))?;
        let leash = child.stdin.take().expect("it was asked for");
        Ok(Self { child, _leash: leash })
    }

    /// Sends a signal to the program alone. One that ended gets none.
    pub(crate) fn signal(&self, signal: Signal) -> nix::Result<()> {
        self.id().map_or(Ok(()), |id| kill(id, signal))
    }

    /// How it ended, where it did.
    pub(crate) fn try_wait(&mut self) -> std::io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    pub(crate) async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// `kill -9`, of the program and of what it started.
    pub(crate) async fn kill(mut self) -> Result<()> {
        if let Some(group) = self.id() {
            killpg(group, Signal::SIGKILL)?;
        }
        self.wait().await?;
        Ok(())
    }

    /// Its id and that of its group, until it was waited for.
    fn id(&self) -> Option<Pid> {
        Some(Pid::from_raw(i32::try_from(self.child.id()?).expect("a process id")))
    }
}
