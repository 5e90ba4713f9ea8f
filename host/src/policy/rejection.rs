//! Why a candidate did not become a revision, and what to do about it.

use std::fmt;

use serde::Serialize;

use crate::verdict::Fault;

/// Why a policy was not loaded. The revision that was live before stays so.
#[derive(Debug, thiserror::Error)]
pub enum Rejection {
    /// The file is larger than the host reads.
    #[error("the file has {size} bytes, more than the {limit} that a policy may have: build it for release, stripped")]
    TooLarge {
        /// Bytes in the file.
        size: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// The file is empty.
    #[error("the file is empty: copy the policy again, under a temporary name, and rename it into place")]
    Empty,
    /// The file is something else than WebAssembly.
    #[error("the file is not WebAssembly: it begins with {start:?}; give the `.wasm` file that the build made")]
    NotWasm {
        /// Its first bytes, as text.
        start: String,
    },
    /// The file ends in the middle of something.
    #[error(
        "the file is cut short after {size} bytes: copy it again, under a temporary name, and rename it into place"
    )]
    Truncated {
        /// Bytes in the file.
        size: usize,
    },
    /// The file is WebAssembly that is broken, or that uses what this host does not run.
    #[error("the file is not WebAssembly that this host runs: {cause}; build it for wasm32-unknown-unknown")]
    Invalid {
        /// What is wrong, and where in the file.
        cause: String,
    },
    /// A module or component that exports no policy.
    #[error(
        "the file is WebAssembly but not a policy: {missing}; build it with the reprieve-sdk crate and its `policy!` line"
    )]
    NotAPolicy {
        /// What was looked for.
        missing: &'static str,
    },
    /// A policy for another version of the interface.
    #[error(
        "the policy is built for reprieve:policy@{found}, this host takes {supported}: build it with an SDK of that version, or update the host"
    )]
    WrongWorld {
        /// The version that it is built for.
        found: String,
        /// The version that this host takes.
        supported: &'static str,
    },
    /// The policy names the interface but its functions have other types.
    #[error(
        "the policy's functions are not those of reprieve:policy@{supported}: {cause}; build it with an unchanged SDK"
    )]
    WrongTypes {
        /// The version that it claims.
        supported: &'static str,
        /// What differs.
        cause: String,
    },
    /// The policy needs what no policy is given.
    #[error("the policy imports {}: {}", Listed(.imports, ", "), import_advice(.imports))]
    Imports {
        /// The names of what it imports.
        imports: Vec<String>,
    },
    /// The policy could not be compiled or instantiated within the host's limits.
    #[error(
        "the policy cannot be compiled: {cause}; build it with the reprieve-sdk crate, small enough for the limits under `[policies]`"
    )]
    Compile {
        /// What the compiler said.
        cause: String,
    },
    /// The policy refused its settings.
    #[error("the policy refuses its settings: {}; correct the route's `settings`", Listed(.0, "; "))]
    Settings(Vec<Problem>),
    /// The policy faulted before it could judge anything.
    #[error("the policy failed when {during}: {fault}; correct the policy or its settings")]
    Faulted {
        /// What it was asked.
        during: Step,
        /// How it failed.
        fault: Fault,
    },
}

/// What a policy was asked when it faulted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
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
        "it was built for a WASI target or with another language's runtime, and a policy is given no WASI; build it for wasm32-unknown-unknown"
    } else {
        "a policy is given nothing but reprieve:policy/log; remove the dependency that asks for more (in Rust often a crate that takes wasm32 for a browser)"
    }
}
