//! `reprieve policy test --watch`, as somebody uses it who edits a policy and its cases.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use reprieve::policy::embedded::{BY_ERROR_KIND, STANDARD};
use tempfile::TempDir;

/// The standard policy retries it, the other one does not.
const RETRIED: &str = "[[case]]\nname = \"it is retried\"\nfailure.error = \"validation\"\nexpect.action = \"retry\"\n";

/// The program at work in a folder with a policy and its cases.
struct Watching {
    folder: TempDir,
    program: Child,
    printed: Arc<(Mutex<String>, Condvar)>,
    /// How much of it a test has read.
    read: usize,
}

impl Watching {
    fn start(cases: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("orders.wasm"), STANDARD).unwrap();
        fs::create_dir(folder.path().join("cases")).unwrap();
        fs::write(folder.path().join("cases/a.toml"), cases).unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_reprieve"))
            .args(["policy", "test", "orders.wasm", "--watch", "--junit", "results.xml"])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let printed = Arc::default();
        let out = program.stdout.take().unwrap();
        thread::spawn({
            let printed = Arc::clone(&printed);
            move || collect(out, &printed)
        });
        Self { folder, program, printed, read: 0 }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// Waits until the program has printed this, after all that was waited for before.
    fn until(&mut self, text: &str) {
        let (printed, more) = &*self.printed;
        let missing = |printed: &mut String| !printed[self.read..].contains(text);
        let waited = more.wait_timeout_while(printed.lock().unwrap(), Duration::from_secs(120), missing);
        let (printed, timeout) = waited.unwrap();
        let unread = &printed[self.read..];
        assert!(!timeout.timed_out(), "waited in vain for {text:?}; there was {unread:?}");
        self.read += unread.find(text).unwrap() + text.len();
    }

    fn everything(&self) -> String {
        self.printed.0.lock().unwrap().clone()
    }

    /// Ctrl-C, and the exit code.
    fn interrupt(mut self) -> Option<i32> {
        kill(Pid::from_raw(self.program.id().cast_signed()), Signal::SIGINT).unwrap();
        self.program.wait().unwrap().code()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // Where a test has failed it may still run; else there is nothing to end.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn collect(mut out: ChildStdout, printed: &(Mutex<String>, Condvar)) {
    let mut some = [0; 4096];
    while let Ok(length @ 1..) = out.read(&mut some) {
        printed.0.lock().unwrap().push_str(&String::from_utf8_lossy(&some[..length]));
        printed.1.notify_all();
    }
}

fn rename_into(place: &Path, content: &[u8]) {
    let temporary = place.with_extension("new");
    fs::write(&temporary, content).unwrap();
    fs::rename(&temporary, place).unwrap();
}

#[test]
fn whatever_changes_is_tested_again_and_the_last_result_is_the_exit_code() {
    let mut watching = Watching::start(RETRIED);
    watching.until("cases/a.toml\n  ok      it is retried\n\n1 passed, 0 failed in ");
    watching.until("waiting for changes; Ctrl-C ends\n");

    // A file that stays half written is told of, and the end of it waited for.
    fs::write(watching.path("cases/a.toml"), &RETRIED[..RETRIED.len() - 5]).unwrap();
    watching.until("error: cases/a.toml:4:20: not TOML: ");
    let dropped = RETRIED.replace("is retried", "is dropped").replace("= \"retry\"", "= \"drop\"");
    fs::write(watching.path("cases/a.toml"), &dropped).unwrap();
    watching.until("FAILED  it is dropped");
    watching.until("0 passed, 1 failed in ");

    // Another file beside it.
    fs::write(watching.path("cases/b.toml"), RETRIED).unwrap();
    watching.until("1 passed, 1 failed in ");

    // Another policy, put in place by a rename.
    rename_into(&watching.path("orders.wasm"), BY_ERROR_KIND);
    watching.until("0 passed, 2 failed in ");

    // No folder, and another one in its place.
    fs::rename(watching.path("cases"), watching.path("elsewhere")).unwrap();
    watching.until("error: no cases: orders.wasm carries none");
    rename_into(&watching.path("orders.wasm"), STANDARD);
    fs::remove_file(watching.path("elsewhere/a.toml")).unwrap();
    fs::rename(watching.path("elsewhere"), watching.path("cases")).unwrap();
    watching.until("cases/b.toml\n  ok      it is retried\n\n1 passed, 0 failed in ");
    watching.until("waiting for changes; Ctrl-C ends\n");

    let junit = fs::read_to_string(watching.path("results.xml")).unwrap();
    assert!(junit.contains("tests=\"1\" failures=\"0\""), "{junit}");
    let everything = watching.everything();
    assert!(!everything.contains('\u{1b}'), "no terminal, so neither colours nor a cleared screen: {everything}");
    let results = everything.matches(" failed in ").count();
    assert_eq!(results, 5, "each change is one result, and the file of results is no change: {everything}");
    assert_eq!(watching.interrupt(), Some(0));
}

#[test]
fn a_session_that_ends_with_a_failed_case_or_without_cases_says_so() {
    let mut watching = Watching::start(&RETRIED.replace("= \"retry\"", "= \"drop\""));
    watching.until("0 passed, 1 failed in ");
    assert_eq!(watching.interrupt(), Some(1));

    let mut watching = Watching::start("");
    watching.until("error: cases/a.toml: it has no cases");
    assert_eq!(watching.interrupt(), Some(2));
}
