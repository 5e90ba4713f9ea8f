//! What a program says on standard error, of which only the end is kept.

use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;

use crate::handler::excerpt::{self, MAX_DETAIL};

/// A line of this form names the error's kind, like the response header of an HTTP handler.
const KIND: &str = "reprieve-error-kind:";

/// The last 8 KiB.
#[derive(Default)]
pub(super) struct Stderr {
    kept: Vec<u8>,
    cut: bool,
}

impl Stderr {
    /// Reads to the end, whatever comes: a program that nobody listens to would wait for ever.
    pub(super) async fn read(&mut self, pipe: Option<ChildStderr>) {
        let Some(mut pipe) = pipe else { return };
        let mut chunk = vec![0; 16 * 1024];
        loop {
            match pipe.read(&mut chunk).await {
                Ok(0) => return,
                Ok(length) => self.push(&chunk[..length]),
                Err(error) => {
                    tracing::debug!("cannot read a program's standard error: {error}");
                    return;
                }
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        if let Some(excess) = self.kept.len().checked_sub(MAX_DETAIL)
            && excess > 0
        {
            self.kept.drain(..excess);
            self.cut = true;
        }
    }

    /// The kept text. Where it was cut, its first line is a fragment (of a character even) and is left out, unless
    /// it is all there is.
    fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.kept);
        match text.split_once('\n') {
            Some((_, rest)) if self.cut && !rest.trim().is_empty() => rest.to_owned(),
            _ => text.into_owned(),
        }
    }

    /// The name that the last line of the agreed form gives.
    pub(super) fn kind(&self) -> Option<String> {
        self.text().lines().rev().find_map(|line| excerpt::kind(line.trim().strip_prefix(KIND)?))
    }

    /// The last line for a person.
    pub(super) fn last_line(&self) -> Option<String> {
        let text = self.text();
        text.lines().rev().filter(|line| !line.trim().starts_with(KIND)).find_map(excerpt::first_line)
    }

    pub(super) fn detail(&self) -> Option<String> {
        let text = self.text();
        excerpt::detail(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Stderr {
        let mut stderr = Stderr::default();
        text.as_bytes().chunks(1000).for_each(|chunk| stderr.push(chunk));
        stderr
    }

    #[test]
    fn the_last_line_tells_a_person_and_a_named_line_gives_the_kind() {
        let stderr = said("warming up\nreprieve-error-kind: old\nno such account\nreprieve-error-kind: validation\n\n");
        assert_eq!(stderr.kind().as_deref(), Some("validation"));
        assert_eq!(stderr.last_line().as_deref(), Some("no such account"));
    }

    #[test]
    fn silence_says_nothing() {
        let stderr = said(" \n");
        assert_eq!((stderr.kind(), stderr.last_line(), stderr.detail()), (None, None, None));
    }

    #[test]
    fn only_whole_lines_of_the_end_are_kept() {
        let stderr = said(&(0..10_000).map(|number| format!("line {number}\n")).collect::<String>());
        let detail = stderr.detail().unwrap();
        assert!(detail.len() <= MAX_DETAIL && detail.len() > MAX_DETAIL - 20, "{} bytes", detail.len());
        assert!(detail.starts_with("line ") && detail.ends_with("line 9999"), "{detail}");
    }

    #[test]
    fn one_endless_line_is_kept_in_part() {
        let stderr = said(&"ä".repeat(100_000));
        assert!(stderr.last_line().is_some_and(|line| line.contains("ää")));
        assert!(stderr.detail().is_some_and(|detail| detail.len() <= MAX_DETAIL));
    }
}
