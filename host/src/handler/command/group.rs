//! The processes that belong to one attempt.

use tokio::process::Child;

/// Kills a program and everything that it started, when dropped before the program's end was seen. Without process
/// groups (outside Unix) it does nothing, and only the program itself is killed, by tokio.
pub(super) struct Group {
    /// The program's process id, which is its group's too. It cannot mean another process before it is reaped.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there are no process groups"))]
    leader: Option<u32>,
}

impl Group {
    pub(super) fn of(child: &Child) -> Self {
        Self { leader: child.id() }
    }

    /// The program was reaped: its id may be given to another process from now on.
    pub(super) fn has_ended(&mut self) {
        self.leader = None;
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        use nix::sys::signal::{Signal, killpg};
        use nix::unistd::Pid;

        let Some(leader) = self.leader.and_then(|id| i32::try_from(id).ok()) else { return };
        if let Err(error) = killpg(Pid::from_raw(leader), Signal::SIGKILL) {
            tracing::warn!("cannot kill the process group {leader} of a cancelled command: {error}");
        }
    }
}
