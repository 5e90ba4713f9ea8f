//! A program that is started for each message.
//!
//! The body is its standard input; what it writes to standard output is thrown away. It learns about the message
//! from its environment: `REPRIEVE_ROUTE`, `REPRIEVE_ATTEMPT` (from 1), `REPRIEVE_REDELIVERED` (`true` or `false`),
//! and, where the message has them, `REPRIEVE_ID`, `REPRIEVE_KEY` and `REPRIEVE_CONTENT_TYPE`, and the trace
//! that its own spans belong to as `TRACEPARENT` and `TRACESTATE`. A value that is longer than 4 KiB or cannot stand in
//! an environment is left out.
//!
//! Exit code 0 is success. Anything else is an error: kind `exit-CODE`, or `signal-NUMBER` where a signal ended the
//! program; the last line on standard error is its text, the last 8 KiB there its detail. A line
//! `reprieve-error-kind: NAME` within those gives the kind its name. A program that cannot be started is an error of
//! kind `spawn`.
//!
//! The program runs in a process group of its own, so that a Ctrl-C for the host does not reach it. When the
//! attempt is cancelled (time-out, end of a shutdown) the whole group is killed.

mod group;
mod stderr;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{bail, ensure};
use async_trait::async_trait;
use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, Command};

use super::{Call, Handler};
use crate::handler_error::HandlerError;
use group::Group;
use stderr::Stderr;

/// How long the pipes are attended to once the program has ended: something that it left running may hold them.
const AFTER_EXIT: Duration = Duration::from_millis(200);
/// The longest value in the environment. Systems refuse to start a program whose environment is too large.
const MAX_VALUE: usize = 4 * 1024;

/// What is started. May hold secrets, so it cannot be printed.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct CommandSettings {
    /// The program and its arguments. No shell reads them.
    pub program: Vec<String>,
    /// Added to the host's own environment.
    pub env: BTreeMap<String, String>,
    /// The folder to run in; the host's own where it is absent.
    pub cwd: Option<PathBuf>,
}

/// Starts a program for each message.
pub struct CommandHandler {
    settings: CommandSettings,
}

impl CommandHandler {
    /// Checks the settings; starts nothing.
    ///
    /// # Errors
    ///
    /// No program is named, the folder is not there, or a name or value cannot be handed to a program.
    pub fn new(settings: CommandSettings) -> anyhow::Result<Self> {
        let program = settings.program.first().map_or("", String::as_str);
        ensure!(!program.is_empty(), "the handler's program is empty; write it as [\"program\", \"argument\"]");
        for argument in &settings.program {
            ensure!(!argument.contains('\0'), "the handler's argument {argument:?} has a zero byte in it; remove it");
        }
        for (name, value) in &settings.env {
            ensure!(
                !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0'),
                "the handler's environment variable {name:?} cannot be set: a name has no '=', and neither name nor \
                 value has a zero byte"
            );
        }
        if let Some(folder) = &settings.cwd {
            let is_folder = folder.metadata().map(|found| found.is_dir());
            let problem = match is_folder {
                Ok(true) => None,
                Ok(false) => Some("it is no folder".to_owned()),
                Err(error) => Some(error.to_string()),
            };
            if let Some(problem) = problem {
                let folder = folder.display();
                bail!("the handler's folder {folder} cannot be used: {problem}; create it, or correct `directory`");
            }
        }
        Ok(Self { settings })
    }

    fn command(&self, call: &Call) -> Command {
        let mut command = Command::new(&self.settings.program[0]);
        command.args(&self.settings.program[1..]).envs(&self.settings.env);
        if let Some(folder) = &self.settings.cwd {
            command.current_dir(folder);
        }
        for (name, value) in variables(call) {
            match value.filter(|value| value.len() <= MAX_VALUE && !value.contains('\0')) {
                Some(value) => command.env(name, value),
                // One that the host happens to run with is not this message's.
                None => command.env_remove(name),
            };
        }
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        command
    }

    async fn run(&self, call: &Call) -> io::Result<(ExitStatus, Stderr)> {
        let mut child = self.command(call).spawn()?;
        let mut group = Group::of(&child);
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        let body = call.message.body.clone().unwrap_or_default();

        let mut said = Stderr::default();
        let status = {
            // Both at once: a program may write more than a pipe holds before it reads its input.
            let pipes = async { tokio::join!(feed(stdin, body), said.read(stderr)) };
            tokio::pin!(pipes);
            tokio::select! {
                status = child.wait() => {
                    group.has_ended();
                    if tokio::time::timeout(AFTER_EXIT, pipes).await.is_err() {
                        tracing::debug!("a program ended and left its pipes open to another");
                    }
                    status?
                }
                _ = &mut pipes => {
                    let status = child.wait().await;
                    group.has_ended();
                    status?
                }
            }
        };
        Ok((status, said))
    }
}

impl fmt::Debug for CommandHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandHandler").field("program", &self.settings.program[0]).finish_non_exhaustive()
    }
}

#[async_trait]
impl Handler for CommandHandler {
    async fn handle(&self, call: &Call) -> Result<(), HandlerError> {
        let (status, said) = self.run(call).await.map_err(|error| {
            let program = &self.settings.program[0];
            HandlerError::new("spawn", format!("cannot run {program}: {error}; correct the handler's `program`"))
        })?;
        if status.success() { Ok(()) } else { Err(failed(status, &said)) }
    }
}

fn variables(call: &Call) -> [(&'static str, Option<String>); 8] {
    let message = &call.message;
    let key = message.key.as_deref().and_then(|key| std::str::from_utf8(key).ok());
    [
        ("REPRIEVE_ROUTE", Some(call.route.to_string())),
        ("REPRIEVE_ATTEMPT", Some(call.attempt.to_string())),
        ("REPRIEVE_REDELIVERED", Some(call.redelivered.to_string())),
        ("REPRIEVE_ID", message.id.clone()),
        ("REPRIEVE_KEY", key.map(str::to_owned)),
        ("REPRIEVE_CONTENT_TYPE", message.properties.content_type.clone()),
        ("TRACEPARENT", call.traceparent().map(str::to_owned)),
        ("TRACESTATE", call.tracestate().map(str::to_owned)),
    ]
}

/// Writes the body and closes the pipe. A program need not read its input: its exit code says what it made of it.
async fn feed(stdin: Option<ChildStdin>, body: Bytes) {
    let Some(mut stdin) = stdin else { return };
    if let Err(error) = stdin.write_all(&body).await {
        tracing::debug!("a program did not read all of its input: {error}");
    }
}

fn failed(status: ExitStatus, said: &Stderr) -> HandlerError {
    let (name, text) = match (status.code(), signal(status)) {
        (Some(code), _) => (format!("exit-{code}"), format!("exited with code {code}")),
        (None, Some(signal)) => (format!("signal-{signal}"), format!("killed by signal {signal}")),
        (None, None) => ("exit-unknown".to_owned(), status.to_string()),
    };
    HandlerError {
        status: status.code().and_then(|code| u16::try_from(code).ok()),
        detail: said.detail(),
        ..HandlerError::new(said.kind().unwrap_or(name), said.last_line().unwrap_or(text))
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}
