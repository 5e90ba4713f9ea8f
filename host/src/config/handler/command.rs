//! `handler = { kind = "command", … }`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::de::DeValue;

use super::read_timeout;
use crate::config::Secret;
use crate::config::section::Section;

/// A program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandConfig {
    /// The program and its arguments. Not empty. A program with a `/` in it is resolved already; one without is looked
    /// for in `PATH`.
    pub program: Vec<String>,
    /// How long one attempt may take. At least a millisecond.
    pub timeout: Duration,
    /// Set in the program's environment, beside what the host itself was started with.
    pub env: BTreeMap<String, Secret>,
    /// The folder that the program starts in: the configuration file's, where nothing else is set.
    pub directory: PathBuf,
}

impl CommandConfig {
    pub(super) fn read(section: &Section<'_>, folder: &Path) -> Option<Self> {
        let timeout = read_timeout(section);
        let env = section.section("env", "the handler's `env`").map(|env| read_environment(&env)).unwrap_or_default();
        let directory = section.text("directory").map_or_else(|| folder.to_owned(), |text| folder.join(text.get_ref()));
        let program = read_program(section, folder)?;
        // An empty path is the current folder to people and an error to the system.
        let directory = if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory };
        Some(Self { program, timeout, env, directory })
    }
}

fn read_program(section: &Section<'_>, folder: &Path) -> Option<Vec<String>> {
    const CURE: &str = "write the program and its arguments as a list, such as [\"python3\", \"handler.py\"]";
    let value = section.required("program", CURE)?;
    let mut program = Vec::new();
    for item in section.items("program", "[\"python3\", \"handler.py\"]")? {
        // An argument may be empty, the program may not.
        let Some(text) = item.get_ref().as_str() else {
            return section.wrong_type("program", item, "a list of texts", "write it in quotes");
        };
        if text.contains('\0') {
            section.problems.error(&item.span(), "no program can be given a NUL character", "leave it out");
            return None;
        }
        program.push(text.to_owned());
    }
    match program.first_mut() {
        Some(first) if !first.is_empty() => {
            if first.contains('/') {
                // The program starts in another folder, so a path must not depend on the current one.
                let path = std::path::absolute(folder.join(&*first)).unwrap_or_else(|_| folder.join(&*first));
                *first = path.to_string_lossy().into_owned();
            }
            Some(program)
        }
        _ => {
            section.problems.error(&value.span(), "`program` names no program", CURE);
            None
        }
    }
}

fn read_environment(section: &Section<'_>) -> BTreeMap<String, Secret> {
    let mut environment = BTreeMap::new();
    for (key, value) in section.entries() {
        let name = *key.get_ref();
        let secret = match value.get_ref() {
            // Unlike other secrets, it may be empty: programs tell an empty variable from none.
            DeValue::String(text) => Secret::new(&**text),
            _ => match section.secret_of(name, value) {
                Some(secret) => secret.into_inner(),
                None => continue,
            },
        };
        if name.is_empty() || name.contains(['=', '\0']) || secret.expose().contains('\0') {
            section.problems.error(
                &key.span(),
                format!("\"{}\" cannot be set in an environment", name.escape_debug()),
                "leave `=` out of the name, and NUL characters out of both name and value",
            );
            continue;
        }
        environment.insert(name.to_owned(), secret);
    }
    environment
}
