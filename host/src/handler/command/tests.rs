#![cfg(unix)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::broker::Origin;
use crate::message::Message;

/// Long enough that only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(30);

fn shell(script: &str) -> CommandHandler {
    program(&["/bin/sh", "-c", script])
}

fn program(program: &[&str]) -> CommandHandler {
    let program = program.iter().map(|argument| (*argument).to_owned()).collect();
    CommandHandler::new(CommandSettings { program, ..CommandSettings::default() }).unwrap()
}

fn call(message: Message) -> Call {
    Call {
        message: Arc::new(message),
        origin: Origin::default(),
        route: "orders".into(),
        attempt: 3,
        redelivered: true,
        own_traceparent: None,
    }
}

async fn run(handler: &CommandHandler, message: Message) -> Result<(), HandlerError> {
    tokio::time::timeout(PATIENCE, handler.handle(&call(message))).await.expect("the command hangs")
}

async fn fail(script: &str) -> HandlerError {
    run(&shell(script), Message::new("")).await.unwrap_err()
}

/// Waits until a condition holds.
async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let wait = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, wait).await.is_ok(), "never: {what}");
}

#[tokio::test]
async fn the_body_is_standard_input_and_exit_code_0_is_success() {
    let handler = shell(r#"test "$(cat)" = "a body""#);
    assert_eq!(run(&handler, Message::new("a body")).await, Ok(()));
    assert_eq!(run(&handler, Message::new("another")).await.unwrap_err().kind, "exit-1");
}

#[tokio::test]
async fn the_environment_tells_of_the_message() {
    let mut message = Message::new("").with_id("m-1");
    message.key = Some("k1".into());
    message.properties.content_type = Some("text/plain".to_owned());
    let script = r#"echo "$REPRIEVE_ROUTE $REPRIEVE_ATTEMPT $REPRIEVE_REDELIVERED $REPRIEVE_ID $REPRIEVE_KEY $REPRIEVE_CONTENT_TYPE" >&2; exit 1"#;
    assert_eq!(run(&shell(script), message).await.unwrap_err().text, "orders 3 true m-1 k1 text/plain");
}

#[tokio::test]
async fn the_environment_tells_of_the_trace() {
    const SENDERS: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let handler = shell(r#"echo "${TRACEPARENT-none} ${TRACESTATE-none}" >&2; exit 1"#);
    let message = Message::new("").with_header("traceparent", SENDERS).with_header("tracestate", "v=1");
    assert_eq!(run(&handler, message).await.unwrap_err().text, format!("{SENDERS} v=1"));
    let broken = Message::new("").with_header("traceparent", "nonsense");
    assert_eq!(run(&handler, broken).await.unwrap_err().text, "none none");
}

#[tokio::test]
async fn what_cannot_stand_in_an_environment_is_left_out() {
    let mut message = Message::new("").with_id("i".repeat(1_000_000));
    message.key = Some("zero\0byte".into());
    let handler = shell(r#"test -z "${REPRIEVE_ID+set}${REPRIEVE_KEY+set}${REPRIEVE_CONTENT_TYPE+set}""#);
    assert_eq!(run(&handler, message).await, Ok(()));
}

#[tokio::test]
async fn settings_reach_the_program_and_a_variable_of_ours_stays_ours() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("marker"), "").unwrap();
    let script = r#"test -e marker && test "$MODE" = fast && test -z "${REPRIEVE_ID+set}""#;
    let handler = CommandHandler::new(CommandSettings {
        program: vec!["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned()],
        env: [("MODE", "fast"), ("REPRIEVE_ID", "forged")].map(|(n, v)| (n.to_owned(), v.to_owned())).into(),
        cwd: Some(folder.path().to_owned()),
    });
    assert_eq!(run(&handler.unwrap(), Message::new("")).await, Ok(()));
}

#[tokio::test]
async fn an_exit_code_and_the_last_line_make_the_error() {
    let error = fail("echo warming up >&2; echo no stock >&2; exit 4").await;
    assert_eq!((error.kind.as_str(), error.text.as_str(), error.status), ("exit-4", "no stock", Some(4)));
    assert_eq!(error.detail.as_deref(), Some("warming up\nno stock"));
}

#[tokio::test]
async fn a_program_can_name_its_error() {
    let error = fail("echo no such account >&2; echo reprieve-error-kind: validation >&2; exit 1").await;
    assert_eq!((error.kind.as_str(), error.text.as_str()), ("validation", "no such account"));
}

#[tokio::test]
async fn a_silent_failure_is_told_by_its_code() {
    let error = fail("exit 9").await;
    assert_eq!((error.text.as_str(), error.detail), ("exited with code 9", None));
}

#[tokio::test]
async fn a_signal_is_a_kind_of_its_own() {
    let error = fail("kill -TERM $$").await;
    assert_eq!((error.kind.as_str(), error.text.as_str()), ("signal-15", "killed by signal 15"));
    assert_eq!(error.status, None);
}

#[tokio::test]
async fn a_program_that_cannot_start_is_a_spawn_error_that_names_it() {
    for name in ["/nowhere/at-all", "/etc/passwd"] {
        let error = run(&program(&[name]), Message::new("")).await.unwrap_err();
        assert_eq!(error.kind, "spawn");
        assert!(error.text.contains(name), "{}", error.text);
    }
}

#[tokio::test]
async fn a_program_need_not_read_its_input() {
    let large = Message::new(vec![b'x'; 8 << 20]);
    assert_eq!(run(&shell("exit 0"), large.clone()).await, Ok(()));
    assert_eq!(run(&shell("exec <&-; exit 3"), large).await.unwrap_err().kind, "exit-3");
}

#[tokio::test]
async fn a_program_may_write_much_before_it_reads_much() {
    let script = "yes 0123456789abcdef | head -c 4000000 >&2; echo >&2; wc -c >&2; exit 1";
    let error = run(&shell(script), Message::new(vec![b'x'; 4 << 20])).await.unwrap_err();
    assert_eq!(error.text, "4194304");
    assert!(error.detail.is_some_and(|detail| detail.len() <= 8192));
}

#[tokio::test]
async fn what_a_program_leaves_running_does_not_hold_its_result_up() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let started = tokio::time::Instant::now();
    let error = fail(&format!("sleep 600 & echo $! > {}; echo done >&2; exit 2", pid.display())).await;
    assert_eq!((error.kind.as_str(), error.text.as_str()), ("exit-2", "done"));
    assert!(started.elapsed() < PATIENCE / 2);
    // It is the program's to end; here the test does it.
    let pid = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).unwrap();
}

#[tokio::test]
async fn a_cancelled_attempt_takes_the_whole_process_group_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let script = format!("sleep 600 & echo $$ $! > {0}.new; mv {0}.new {0}; wait", pids.display());
    let handler = shell(&script);
    let attempt = tokio::spawn(async move { handler.handle(&call(Message::new(""))).await });
    eventually("the program runs", || pids.exists()).await;
    let pids = std::fs::read_to_string(&pids).unwrap();
    let pids: Vec<_> = pids.split_whitespace().collect();
    assert!(pids.len() == 2 && pids.iter().all(|pid| is_alive(pid)));

    attempt.abort();
    assert!(attempt.await.unwrap_err().is_cancelled());
    eventually("both processes are gone", || !pids.iter().any(|pid| is_alive(pid))).await;
}

/// Whether a process runs: not whether its entry waits for a parent to read its end.
fn is_alive(pid: &str) -> bool {
    let state = std::process::Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    let state = String::from_utf8_lossy(&state.stdout);
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

#[test]
fn settings_that_cannot_work_are_refused_with_the_cure() {
    let refused = |settings: CommandSettings| format!("{:#}", CommandHandler::new(settings).unwrap_err());
    let program = vec!["true".to_owned()];
    let env = |name: &str, value: &str| CommandSettings {
        program: vec!["true".to_owned()],
        env: [(name.to_owned(), value.to_owned())].into(),
        cwd: None,
    };
    let cwd = |folder: &str| CommandSettings {
        program: program.clone(),
        cwd: Some(Path::new(folder).to_owned()),
        ..CommandSettings::default()
    };
    for (settings, told) in [
        (CommandSettings::default(), "the handler's program is empty; write it as [\"program\", \"argument\"]"),
        (CommandSettings { program: vec!["a\0b".to_owned()], ..CommandSettings::default() }, "zero byte"),
        (env("", "x"), "cannot be set"),
        (env("A=B", "x"), "\"A=B\" cannot be set"),
        (env("A", "x\0"), "\"A\" cannot be set"),
        (cwd("/nowhere/at-all"), "the handler's folder /nowhere/at-all cannot be used: No such file"),
        (
            cwd("/etc/passwd"),
            "the handler's folder /etc/passwd cannot be used: it is no folder; create it, or correct `directory`",
        ),
    ] {
        let message = refused(settings);
        assert!(message.contains(told), "{message}");
    }
}
