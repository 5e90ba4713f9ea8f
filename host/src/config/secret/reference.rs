//! Where a secret is: in the configuration itself, in an environment variable, or in a file of its own.

use std::env::{self, VarError};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use toml::Spanned;
use toml::de::DeValue;

use crate::config::Secret;
use crate::config::section::Section;

/// Far more than any password, token or key; in bytes.
const LARGEST: u64 = 64 * 1024;

const CURE: &str = "write it in quotes, or say where it is: { env = \"NAME\" } or { file = \"PATH\" }";

impl<'d> Section<'d> {
    /// The secret under a key: a text, `{ env = "NAME" }` or `{ file = "PATH" }`. Not empty. The span is of what is
    /// written, so that messages can point there; none repeats the secret.
    pub(in crate::config) fn secret(&self, key: &'static str) -> Option<Spanned<Secret>> {
        self.secret_of(key, self.value(key)?)
    }

    /// The same for a key that must be there.
    pub(in crate::config) fn required_secret(&self, key: &'static str, cure: &str) -> Option<Spanned<Secret>> {
        self.required(key, cure)?;
        self.secret(key)
    }

    /// A value as a secret.
    pub(in crate::config) fn secret_of(&self, key: &str, value: &'d Spanned<DeValue<'d>>) -> Option<Spanned<Secret>> {
        let secret = match value.get_ref() {
            DeValue::String(_) => Secret::new(*self.text_of(key, value)?.get_ref()),
            DeValue::Table(_) => self.section_of(key, format!("`{key}`"), value).and_then(referred)?,
            _ => return self.wrong_type(key, value, "a text or where one is", CURE),
        };
        Some(Spanned::new(value.span(), secret))
    }
}

fn referred(section: Section<'_>) -> Option<Secret> {
    let (variable, file) = (section.text("env"), section.text("file"));
    let problems = section.problems;
    // A value that is there and wrong has been reported.
    let written = (section.table().contains_key("env"), section.table().contains_key("file"));
    let found = match (written, variable, file) {
        ((true, true), ..) => {
            problems.error(&section.span, format!("{} has both `env` and `file`", section.title), "leave one out");
            None
        }
        ((false, false), ..) => {
            problems.error(&section.span, format!("{} does not say where it is", section.title), CURE);
            None
        }
        (_, Some(variable), _) => from_environment(&section, &variable),
        (_, _, Some(file)) => from_file(&section, &file),
        _ => None,
    };
    section.finish();
    found
}

fn from_environment(section: &Section<'_>, name: &Spanned<&str>) -> Option<Secret> {
    let (what, cure) = match env::var(name.get_ref()) {
        Ok(text) => match without_line_end(&text) {
            "" => ("is empty", "set it to the secret"),
            secret => return Some(Secret::new(secret)),
        },
        Err(VarError::NotPresent) => ("is not set", "set it in the environment that this program is started with"),
        Err(VarError::NotUnicode(_)) => ("is not UTF-8 text", "set it to text"),
    };
    section.problems.error(&name.span(), format!("the environment variable `{}` {what}", name.get_ref()), cure);
    None
}

fn from_file(section: &Section<'_>, written: &Spanned<&str>) -> Option<Secret> {
    let path = section.problems.folder().join(written.get_ref());
    let (what, cure) = match read(&path) {
        Ok(text) => match without_line_end(&text) {
            "" => ("it is empty".to_owned(), "write the secret into it"),
            secret => return Some(Secret::new(secret)),
        },
        Err(error) => reason(&error),
    };
    let message = format!("cannot read the secret {}: {what}", path.display());
    section.problems.error(&written.span(), message, cure);
    None
}

fn read(path: &Path) -> io::Result<String> {
    // Asked before opening: a FIFO that nobody writes to would be waited for.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut text = String::new();
    let length = File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)?;
    if length as u64 > LARGEST { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}

fn reason(error: &io::Error) -> (String, &'static str) {
    let (what, cure) = match error.kind() {
        io::ErrorKind::NotFound => {
            ("there is no such file", "put it there; relative paths are of the configuration file's folder")
        }
        io::ErrorKind::PermissionDenied => ("permission denied", "let the user of this program read it"),
        io::ErrorKind::IsADirectory => ("it is not a file", "name the file in it that holds the secret"),
        io::ErrorKind::InvalidData => ("it is not UTF-8 text", "save it as text"),
        io::ErrorKind::FileTooLarge => ("it has more than 64 KiB", "name a file that holds the secret alone"),
        _ => return (error.to_string(), "put that right, or name another file"),
    };
    (what.to_owned(), cure)
}

/// Editors and `echo` end a file with a line end, which is never meant to be part of a secret.
fn without_line_end(text: &str) -> &str {
    text.trim_end_matches(['\r', '\n'])
}

#[cfg(test)]
mod tests;
