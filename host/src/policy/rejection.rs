//! Why a candidate did not become a revision, and what to do about it.

use std::fmt;

use serde::Serialize;

use super::text::one_line;
use crate::verdict::Fault;

/// The most bytes of a text that quotes the file, which may be anything.
const MAX_CAUSE: usize = 1024;
/// The most bytes of a case's name.
const MAX_NAME: usize = 128;

/// What to do about a file with more bytes than the host reads.
pub(super) const TOO_LARGE_CURE: &str = "build it for release, stripped, or raise `file_size` under [policies]";

/// Why a policy was not loaded. The revision that was live before stays so. Displayed as what is wrong and its cure.
#[derive(Debug)]
pub enum Rejection {
    /// The file is larger than the host reads.
    TooLarge {
        /// Bytes in the file.
        size: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// The file is empty.
    Empty,
    /// The file is something else than WebAssembly.
    NotWasm {
        /// Its first bytes, as text.
        start: String,
    },
    /// The file is native code, such as what `wasmtime compile` makes.
    Native,
    /// The file ends in the middle of something.
    Truncated {
        /// Bytes in the file.
        size: usize,
    },
    /// The file is WebAssembly that is broken, or that uses what this host does not run.
    Invalid {
        /// What is wrong, and where in the file.
        cause: String,
    },
    /// A module or component that exports no policy.
    NotAPolicy {
        /// What was looked for.
        missing: &'static str,
    },
    /// A policy for another version of the interface.
    WrongWorld {
        /// The version that it is built for.
        found: String,
        /// The version that this host takes.
        supported: &'static str,
    },
    /// The policy names the interface but its functions have other types.
    WrongTypes {
        /// The version that it claims.
        supported: &'static str,
        /// What differs.
        cause: String,
    },
    /// The policy needs what no policy is given.
    Imports {
        /// The names of what it imports.
        imports: Vec<String>,
    },
    /// The policy could not be compiled or instantiated within the host's limits.
    Compile {
        /// What the compiler said.
        cause: String,
    },
    /// The policy refused its settings.
    Settings(Vec<Problem>),
    /// The cases that the policy carries cannot be read.
    Cases {
        /// What is wrong with them.
        cause: String,
    },
    /// The policy fails one of its own cases.
    CaseFailed {
        /// The case's name.
        case: String,
        /// How the verdict is not the expected one.
        cause: String,
    },
    /// The policy's cases take too long.
    SlowCases {
        /// How many were done when the time was over.
        done: usize,
        /// How many there are.
        of: usize,
    },
    /// The policy faulted before it could judge anything.
    Faulted {
        /// What it was asked.
        during: Step,
        /// How it failed.
        fault: Fault,
    },
}

impl Rejection {
    /// What is wrong.
    #[must_use]
    pub fn what(&self) -> String {
        match self {
            Self::TooLarge { size, limit } => {
                format!("the file has {size} bytes, more than the {limit} that a policy may have")
            }
            Self::Empty => "the file is empty".into(),
            Self::NotWasm { start } => format!("the file is not WebAssembly: it begins with {start:?}"),
            Self::Native => "the file is native code, not WebAssembly".into(),
            Self::Truncated { size } => format!("the file is cut short after {size} bytes"),
            Self::Invalid { cause } => format!("the file is not WebAssembly that this host runs: {}", short(cause)),
            Self::NotAPolicy { missing } => format!("the file is WebAssembly but not a policy: {missing}"),
            Self::WrongWorld { found, supported } => {
                format!("the policy is built for reprieve:policy@{found}, and this host takes {supported}")
            }
            Self::WrongTypes { supported, cause } => {
                format!("the policy's functions are not those of reprieve:policy@{supported}: {}", short(cause))
            }
            Self::Imports { imports } => format!("the policy imports {}", Listed(imports, ", ")),
            Self::Compile { cause } => format!("the policy cannot be compiled: {}", short(cause)),
            Self::Settings(problems) => format!("the policy refuses its settings: {}", Listed(problems, "; ")),
            Self::Cases { cause } => format!("the cases that the policy carries cannot be used: {}", short(cause)),
            Self::CaseFailed { case, cause } => {
                format!("the policy fails its own case {:?}: {}", one_line(case, MAX_NAME), short(cause))
            }
            Self::SlowCases { done, of } => {
                format!("the policy's own cases take too long: {done} of {of} were done when the time was over")
            }
            Self::Faulted { during, fault } => format!("the policy failed when {during}: {fault}"),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn cure(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => TOO_LARGE_CURE,
            Self::Empty | Self::Truncated { .. } => {
                "copy the policy again, under a temporary name, and rename it into place"
            }
            Self::NotWasm { .. } => "give the `.wasm` file that the build made",
            Self::Native => {
                "give the `.wasm` file that it was compiled from: precompiled code is never loaded, since nothing could check it"
            }
            Self::Invalid { .. } => "build it for wasm32-unknown-unknown",
            Self::NotAPolicy { .. } => "build it with the reprieve-sdk crate and its `policy!` line",
            Self::WrongWorld { .. } => {
                "build it with an SDK for this host's version of the interface, or update the host"
            }
            Self::WrongTypes { .. } => "build it with an unchanged SDK",
            Self::Imports { imports } => import_advice(imports),
            Self::Compile { .. } => {
                "build it with the reprieve-sdk crate, small enough for the limits under [policies]"
            }
            Self::Settings(_) => "correct the route's `settings`",
            Self::Cases { .. } => "build it again with `reprieve policy build`, which checks them",
            Self::CaseFailed { .. } => {
                "correct the policy or the case; to see all that fail, build with --no-cases and give the file to `reprieve policy test FILE --cases cases`"
            }
            Self::SlowCases { .. } => "carry fewer cases, or make `configure` quicker",
            Self::Faulted { .. } => "correct the policy or its settings",
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what(), self.cure())
    }
}

impl std::error::Error for Rejection {}

/// What a policy was asked when it faulted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// To start: to set up its memory, and run its start function where it has one.
    Start,
    /// To describe itself.
    Describe,
    /// To take its route and settings.
    Configure,
    /// To judge a failure that the host made up, named here; a live one could look the same.
    Smoke(&'static str),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("starting"),
            Self::Describe => f.write_str("describing itself"),
            Self::Configure => f.write_str("taking its settings"),
            Self::Smoke(case) => write!(f, "judging a made-up failure ({case})"),
        }
    }
}

/// Something wrong in the settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// A JSON pointer into the settings, such as `/rules/0/kind`; empty for the settings as a whole.
    pub path: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}

fn short(cause: &str) -> String {
    one_line(cause, MAX_CAUSE)
}

/// Items with this between them.
struct Listed<'a, T>(&'a [T], &'static str);

impl<T: fmt::Display> fmt::Display for Listed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, item) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(self.1)?;
            }
            write!(f, "{item}")?;
        }
        Ok(())
    }
}

fn import_advice(imports: &[String]) -> &'static str {
    if imports.iter().any(|name| name.starts_with("wasi")) {
        "build it for wasm32-unknown-unknown: a policy is given no WASI, which other targets and languages import"
    } else {
        "remove the dependency that asks for more than reprieve:policy/log (in Rust often a crate that takes wasm32 for a browser)"
    }
}
