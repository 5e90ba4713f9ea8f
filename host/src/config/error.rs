//! Why there is no configuration.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::problem::{Problem, Severity};

/// Why a configuration cannot be used. Displayed whole, for people: each problem with its place and cure.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("error: cannot read the configuration file {}: {}", path.display(), reason(source))]
    Unreadable {
        /// The file, as it was named.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file says something wrong: at least one error.
    #[error("{}", Report(.0))]
    Invalid(Vec<Problem>),
    /// What the file says can be understood, and cannot be had on this machine. The text says where and the cure.
    #[error("error: {0}")]
    Unusable(String),
}

/// Why, and the cure. The system's own words carry a number that helps nobody.
fn reason(source: &io::Error) -> String {
    let (reason, cure) = match source.kind() {
        io::ErrorKind::NotFound => ("there is no such file", "name the file with --config"),
        io::ErrorKind::InvalidData => ("it is not UTF-8 text", "save it as UTF-8, or name another file with --config"),
        io::ErrorKind::IsADirectory => ("it is a folder", "name a file with --config"),
        io::ErrorKind::PermissionDenied => ("permission denied", "let the user of this program read it"),
        _ => return source.to_string(),
    };
    format!("{reason}\n = help: {cure}")
}

/// Problems one below the other, and how many.
pub(crate) struct Report<'p>(pub(crate) &'p [Problem]);

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in self.0 {
            writeln!(f, "{problem}\n")?;
        }
        let count = |severity| self.0.iter().filter(|problem| problem.severity() == severity).count();
        match count(Severity::Error) {
            0 => {}
            1 => f.write_str("1 error")?,
            errors => write!(f, "{errors} errors")?,
        }
        let separator = if count(Severity::Error) == 0 { "" } else { ", " };
        match count(Severity::Warning) {
            0 => Ok(()),
            1 => write!(f, "{separator}1 warning"),
            warnings => write!(f, "{separator}{warnings} warnings"),
        }
    }
}
