//! Processes that end with the one that started them, and traces of those that did not.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Runs the command that is its arguments behind the first two, and ends with its status. When the standard input ends, which
/// is what happens when whoever started this comes to an end in any way, the command is killed and the folder removed that is
/// the second argument, if it is one. The first is the file to write the process ids to: of this and of the command.
pub(crate) const KEEPER: &str = r#"
ids=$1; remove=$2; shift 2
exec 3<&0
"$@" < /dev/null 3<&- &
kept=$!
echo "$$ $kept" > "$ids"
trap 'kill -KILL $kept; wait $kept; [ -z "$remove" ] || rm -rf -- "$remove"; exit 1' USR1
{ read -r _ <&3; kill -USR1 $$; } &
watch=$!
exec 3<&-
wait $kept
status=$?
kill $watch
exit $status
"#;

/// The file in a node's folder with the ids of its keeper and of itself; they are the same where it has no keeper.
pub(crate) const IDS: &str = "pids";

/// The ids in a node's folder: of the keeper and of the node. `None` where it was never started.
pub(crate) fn ids(folder: &Path) -> Result<Option<(Pid, Pid)>> {
    let file = folder.join(IDS);
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("kafka: cannot read {}", file.display())),
    };
    let ids = text.split_whitespace().map(|id| id.parse().map(Pid::from_raw)).collect::<Result<Vec<_>, _>>();
    match ids.with_context(|| format!("kafka: no process ids in {}", file.display()))?[..] {
        [keeper, node] => Ok(Some((keeper, node))),
        // The keeper is just writing it.
        _ => Ok(None),
    }
}

/// Whether there is a process of this id.
pub(crate) fn is_alive(id: Pid) -> bool {
    !matches!(kill(id, None), Err(Errno::ESRCH))
}

/// Whether a process of this id has the folder in its command line: ids are given again.
pub(crate) fn belongs_to(id: Pid, folder: &Path) -> bool {
    let asked = Command::new("ps").args(["-o", "args=", "-p", &id.to_string()]).output();
    asked.is_ok_and(|answer| String::from_utf8_lossy(&answer.stdout).contains(&*folder.to_string_lossy()))
}

/// Ends what is left over of nodes whose keeper was killed itself, and removes the folders of all that run no more. Gives
/// what it ended or removed.
///
/// # Errors
/// Where a folder cannot be read or removed.
pub fn sweep() -> Result<Vec<PathBuf>> {
    let folder = crate::folder();
    fs::create_dir_all(&folder).with_context(|| format!("kafka: cannot make {}", folder.display()))?;
    let mut swept = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("kafka: cannot list {}", folder.display()))? {
        let path = entry?.path();
        let is_a_nodes = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("node-"));
        if is_a_nodes && is_left_over(&path)? {
            fs::remove_dir_all(&path).with_context(|| format!("kafka: cannot remove {}", path.display()))?;
            swept.push(path);
        }
    }
    Ok(swept)
}

/// Whether nobody keeps the node of this folder any more. One that runs all the same is killed.
fn is_left_over(folder: &Path) -> Result<bool> {
    // Without ids it is one that somebody is about to start, or was, a moment before the end.
    let Some((keeper, node)) = ids(folder)? else { return Ok(false) };
    if is_alive(keeper) && belongs_to(keeper, folder) {
        return Ok(false);
    }
    if is_alive(node) && belongs_to(node, folder) {
        kill(node, Signal::SIGKILL).with_context(|| format!("kafka: cannot end the left-over process {node}"))?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use super::*;

    fn wait_until(mut seen: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !seen() {
            assert!(begun.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn what_is_kept_ends_with_the_pipe_and_its_folder_goes_too() {
        let folder = std::env::temp_dir().join(format!("reprieve-keeper-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .args([&folder.join(IDS), &folder])
            .args(["sleep", "600"])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until(|| ids(&folder).unwrap().is_some());
        let (first, kept) = ids(&folder).unwrap().unwrap();
        assert_eq!(first.as_raw().cast_unsigned(), keeper.id());
        assert!(is_alive(kept));
        drop(keeper.stdin.take());
        keeper.wait().unwrap();
        wait_until(|| !is_alive(kept));
        assert!(!folder.exists());
    }

    #[test]
    fn what_ends_by_itself_ends_its_keeper_with_the_same_status() {
        let ids = std::env::temp_dir().join(format!("reprieve-keeper-{}-ids", std::process::id()));
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "keeper"]).arg(&ids).args(["", "sh", "-c", "exit 7"]).stdin(Stdio::piped());
        let mut keeper = keeper.spawn().unwrap();
        // `wait` would close the pipe first.
        wait_until(|| keeper.try_wait().unwrap().is_some());
        assert_eq!(keeper.wait().unwrap().code(), Some(7));
        fs::remove_file(ids).unwrap();
    }
}
