//! Which journals are read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::cli::ConfigArgument;
use crate::config::{Config, ConfigError};
use crate::journal::{FILE, JournalError, Reader};

/// Which journals: that of a configuration's host, or those that are named.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct SourceArguments {
    #[command(flatten)]
    config: ConfigArgument,

    /// A journal's file, or the state folder that it is in, instead of the configuration's; may be given many times
    #[arg(short, long = "journal", value_name = "PATH")]
    journals: Vec<PathBuf>,
}

/// A journal, and whose it is.
#[derive(Debug)]
pub(in crate::cli) struct Source {
    pub(in crate::cli) host: Arc<str>,
    pub(in crate::cli) reader: Reader,
}

impl SourceArguments {
    /// Opens them, at least one.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub(in crate::cli) fn open(&self) -> anyhow::Result<Vec<Source>> {
        if !self.journals.is_empty() {
            return Ok(self.journals.iter().map(|path| Source::open(path)).collect::<Result<_, _>>()?);
        }
        Ok(vec![Source::of_host(&self.config.config)?])
    }
}

impl Source {
    /// Opens that of the host with this configuration.
    ///
    /// # Errors
    /// It cannot be read, or nothing was recorded.
    pub(in crate::cli) fn of_host(configuration: &Path) -> anyhow::Result<Self> {
        let config = Config::load(configuration)?;
        match Self::open(&config.host.state) {
            Err(JournalError::Missing(_)) if config.journal.is_none() => Err(ConfigError::Unusable(format!(
                "{} has its journal turned off, so nothing was recorded\n = help: take `enabled = false` out of \
                 `[journal]`, or name another host's journal with --journal",
                configuration.display()
            ))
            .into()),
            opened => Ok(opened?),
        }
    }

    /// Opens a file, or that of a state folder.
    ///
    /// # Errors
    /// It cannot be read.
    pub(in crate::cli) fn open(path: &Path) -> Result<Self, JournalError> {
        let file = if path.is_dir() { path.join(FILE) } else { path.to_owned() };
        let reader = Reader::open(&file)?;
        let host = reader.host()?.unwrap_or_else(|| file.display().to_string());
        Ok(Self { host: host.into(), reader })
    }
}
