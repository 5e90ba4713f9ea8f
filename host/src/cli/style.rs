//! Bold, dim and colours, where they are wanted.

use std::io::IsTerminal;

/// Whether to use them.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Style {
    coloured: bool,
}

impl Style {
    /// None of them.
    pub(in crate::cli) const PLAIN: Self = Self { coloured: false };

    /// On a terminal, unless the environment has a `NO_COLOR` that is not empty.
    pub(in crate::cli) fn for_stdout() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { coloured: std::io::stdout().is_terminal() && !refused }
    }

    pub(in crate::cli) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(in crate::cli) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(in crate::cli) fn good(self, text: &str) -> String {
        self.with("1;32", text)
    }

    pub(in crate::cli) fn warning(self, text: &str) -> String {
        self.with("33", text)
    }

    pub(in crate::cli) fn info(self, text: &str) -> String {
        self.with("36", text)
    }

    pub(in crate::cli) fn bad(self, text: &str) -> String {
        self.with("1;31", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.coloured { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
