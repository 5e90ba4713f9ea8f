//! The threads that compile policies, behind everything else that the process does.

use std::thread;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Of 99, where half is a thread's usual priority. On Linux a nice value of 10: compiling gives way to decisions, and still
/// gets a tenth of a core that is busy otherwise.
#[cfg(unix)]
const PRIORITY: u8 = 22;

/// The nice value that this is.
#[cfg(unix)]
const NICE: i32 = 10;

/// As many threads as there are cores. At the usual priority they would hold up one decision in a hundred for a
/// millisecond whenever a policy is loaded, be it a good one or not.
pub(super) struct Compilers(ThreadPool);

impl Compilers {
    /// # Errors
    /// The system gives no threads.
    pub(super) fn start() -> anyhow::Result<Self> {
        let pool = ThreadPoolBuilder::new()
            .num_threads(thread::available_parallelism().map_or(1, Into::into))
            .thread_name(|number| format!("policy-compiler-{number}"))
            .start_handler(|_| give_way())
            .build()?;
        Ok(Self(pool))
    }

    /// Does `work`, which may spread over all of the threads, and waits for it.
    pub(super) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.0.install(work)
    }
}

/// Lowers the priority of this thread below that of threads that decide.
#[cfg(unix)]
pub(in crate::policy) fn give_way() {
    use thread_priority::unix::{set_thread_priority_and_policy, thread_native_id};
    use thread_priority::{NormalThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy};

    if nice().is_some_and(|nice| nice >= NICE) {
        return;
    }
    let priority = ThreadPriorityValue::try_from(PRIORITY).expect("22 is between 0 and 99");
    // The class as well: where the process has a real-time one, no priority in that gives way to ordinary threads.
    let ordinary = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
    let given = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(priority), ordinary);
    if let Err(error) = given {
        tracing::debug!(?error, "policies are compiled at the usual priority, since the system allows no lower one");
    }
}

#[cfg(not(unix))]
pub(in crate::policy) fn give_way() {}

/// The nice value that the thread has already, where it can be known.
#[cfg(unix)]
fn nice() -> Option<i32> {
    // The nineteenth value, counted from 1, of which the second is the thread's name in brackets.
    let stat = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(16)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn policies_are_compiled_at_a_lower_priority_than_decisions_have() {
        let usual = nice();
        assert!(usual.is_some());
        assert_eq!(Compilers::start().unwrap().run(nice), usual.max(Some(NICE)));
        assert_eq!(nice(), usual, "the thread that waits keeps its own");
    }
}
