//! Lines for the host's log, the one thing that a policy may ask of its host.
//!
//! The host bounds their size and rate. Built for another target than wasm32, where tests run, the
//! lines go to standard error.
//!
//! ```
//! use reprieve_sdk::log;
//!
//! let kind = "validation";
//! log::warn!("no rule for {kind}");
//! ```

use std::fmt;

#[doc(inline)]
pub use crate::__log_debug as debug;
#[doc(inline)]
pub use crate::__log_error as error;
#[doc(inline)]
pub use crate::__log_info as info;
#[doc(inline)]
pub use crate::__log_warn as warn;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Only when looking for something.
    Debug,
    /// Worth knowing.
    Info,
    /// Somebody should look.
    Warn,
    /// Something is broken.
    Error,
}

/// Writes a line. The macros [`debug!`], [`info!`], [`warn!`] and [`error!`] are shorter.
pub fn write(level: Level, line: fmt::Arguments<'_>) {
    #[cfg(target_arch = "wasm32")]
    crate::wasm::log(level, &line.to_string());
    #[cfg(not(target_arch = "wasm32"))]
    eprintln!("{level:?}: {line}");
}

/// Writes a debugging line; takes what `format!` takes.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_debug {
    ($($line:tt)+) => { $crate::log::write($crate::log::Level::Debug, ::std::format_args!($($line)+)) };
}

/// Writes a line worth knowing; takes what `format!` takes.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_info {
    ($($line:tt)+) => { $crate::log::write($crate::log::Level::Info, ::std::format_args!($($line)+)) };
}

/// Writes a line that somebody should look at; takes what `format!` takes.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_warn {
    ($($line:tt)+) => { $crate::log::write($crate::log::Level::Warn, ::std::format_args!($($line)+)) };
}

/// Writes a line about something broken; takes what `format!` takes.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_error {
    ($($line:tt)+) => { $crate::log::write($crate::log::Level::Error, ::std::format_args!($($line)+)) };
}
