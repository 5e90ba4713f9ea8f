//! The policies that judge, good and bad, and the settings that each takes.

use std::path::{Path, PathBuf};

use crate::random::Random;

/// A policy file with settings.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) name: &'static str,
    file: File,
    /// What stands under `[routes.settings]`.
    pub(crate) settings: &'static str,
}

#[derive(Debug, PartialEq, Eq)]
enum File {
    /// In the folder of what the host embeds.
    Embedded(&'static str),
    /// In the folder of test policies.
    Test(&'static str),
}

/// Those that bring every message to an end.
pub(crate) static GOOD: [Policy; 3] = [
    Policy {
        name: "standard, through the tiers",
        file: File::Embedded("standard.wasm"),
        settings: r#"
tiers = ["1s", "3s"]
rules = [
    { kinds = ["unwanted"], retry = { max_attempts = 1 }, tiers = [], exhausted = "drop" },
    { kinds = ["invalid*"], retry = { max_attempts = 1 }, tiers = [], exhausted = { dead-letter-to = "invalid" } },
]
"#,
    },
    Policy { name: "standard, in process", file: File::Embedded("standard.wasm"), settings: "" },
    Policy {
        name: "by-error-kind",
        file: File::Embedded("by-error-kind.wasm"),
        settings: r#"
delay = "1s"
standard = { tiers = ["3s"], rules = [{ kinds = ["unwanted"], tiers = [], exhausted = "drop" }] }
"#,
    },
];

/// Those that a host must survive for a while: none of them drops.
pub(crate) static TRYING: [Policy; 6] = [
    Policy { name: "panics", file: File::Test("misbehaving.wasm"), settings: r#"do = "panic""# },
    Policy { name: "eats memory", file: File::Test("misbehaving.wasm"), settings: r#"do = "eat-memory""# },
    Policy { name: "an unknown tier", file: File::Test("misbehaving.wasm"), settings: r#"do = "unknown-tier""# },
    Policy { name: "requeues", file: File::Test("misbehaving.wasm"), settings: "do = \"requeue\"\nmillis = 300" },
    Policy { name: "retries for ever", file: File::Test("misbehaving.wasm"), settings: "do = \"retry\"\nmillis = 200" },
    Policy {
        name: "delays for ever",
        file: File::Test("misbehaving.wasm"),
        settings: "do = \"delay-to\"\nname = \"1s\"",
    },
];

/// Where the files are.
#[derive(Debug, Clone)]
pub(crate) struct Folders {
    pub(crate) embedded: PathBuf,
    pub(crate) test: PathBuf,
}

impl Folders {
    pub(crate) fn file(&self, policy: &Policy) -> PathBuf {
        match policy.file {
            File::Embedded(name) => self.embedded.join(name),
            File::Test(name) => self.test.join(name),
        }
    }
}

/// A file that no host may take: what is wrong with it, and its bytes.
pub(crate) fn bad(random: &mut Random, folders: &Folders) -> std::io::Result<(&'static str, Vec<u8>)> {
    let read = |folder: &Path, name: &str| std::fs::read(folder.join(name));
    Ok(match random.below(4) {
        0 => ("an empty file", Vec::new()),
        1 => ("not WebAssembly", b"this is no policy".repeat(100)),
        2 => {
            let mut half = read(&folders.embedded, "standard.wasm")?;
            half.truncate(half.len() / 2);
            ("half a file", half)
        }
        // It demands settings of its own.
        _ => ("settings that do not fit", read(&folders.test, "rules.wasm")?),
    })
}
