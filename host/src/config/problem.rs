//! What is wrong in a configuration, as people are told.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::source::{Excerpt, Source, masked};

/// Something wrong at one place of the file. Displayed with the line and a cure; secrets are masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    severity: Severity,
    file: PathBuf,
    excerpt: Excerpt,
    message: String,
    cure: String,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Nothing may start.
    Error,
    /// It works, though probably not as it was meant.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

impl Problem {
    pub(super) fn new(severity: Severity, source: &Source, span: &Range<usize>, message: &str, cure: &str) -> Self {
        let (message, cure) = (masked(message), masked(cure));
        Self { severity, file: source.path.clone(), excerpt: source.excerpt(span), message, cure }
    }

    /// How bad it is.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        self.severity
    }

    /// The configuration file, as it was named.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The line, from 1.
    #[must_use]
    pub const fn line(&self) -> usize {
        self.excerpt.line
    }

    /// The column in characters, from 1.
    #[must_use]
    pub const fn column(&self) -> usize {
        self.excerpt.column
    }

    /// What is wrong.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What would be right.
    #[must_use]
    pub fn cure(&self) -> &str {
        &self.cure
    }
}

/// Several lines: what is wrong, where, the line with a mark, and the cure. No newline at the end.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Excerpt { line, column, text, marked } = &self.excerpt;
        let gutter = line.to_string().len();
        writeln!(f, "{}: {}", self.severity, self.message)?;
        writeln!(f, "{:gutter$}--> {}:{line}:{column}", "", self.file.display())?;
        writeln!(f, "{:gutter$} |", "")?;
        writeln!(f, "{line} | {text}")?;
        writeln!(f, "{:gutter$} | {:indent$}{}", "", "", "^".repeat(marked.len()), indent = marked.start)?;
        write!(f, "{:gutter$} = help: {}", "", self.cure)
    }
}

/// Collects problems, so that one reading of a file reports them all.
pub(super) struct Problems<'s> {
    source: &'s Source,
    found: RefCell<Vec<Problem>>,
}

impl<'s> Problems<'s> {
    pub(super) const fn new(source: &'s Source) -> Self {
        Self { source, found: RefCell::new(Vec::new()) }
    }

    pub(super) fn error(&self, span: &Range<usize>, message: impl AsRef<str>, cure: impl AsRef<str>) {
        self.add(Severity::Error, span, message.as_ref(), cure.as_ref());
    }

    pub(super) fn warning(&self, span: &Range<usize>, message: impl AsRef<str>, cure: impl AsRef<str>) {
        self.add(Severity::Warning, span, message.as_ref(), cure.as_ref());
    }

    fn add(&self, severity: Severity, span: &Range<usize>, message: &str, cure: &str) {
        self.found.borrow_mut().push(Problem::new(severity, self.source, span, message, cure));
    }

    /// The line that a span begins on, for a message about another place.
    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        self.source.excerpt(span).line
    }

    /// What relative paths in the file are of.
    pub(super) fn folder(&self) -> &Path {
        self.source.path.parent().unwrap_or(Path::new(""))
    }

    /// In the file's order: the errors, or the warnings of a file without an error.
    pub(super) fn finish(self) -> Result<Vec<Problem>, Vec<Problem>> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|problem| (problem.line(), problem.column()));
        let (errors, warnings): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|problem| problem.severity == Severity::Error);
        if errors.is_empty() { Ok(warnings) } else { Err(errors) }
    }
}
