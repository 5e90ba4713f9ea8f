//! The `[journal]` section.

use std::time::Duration;

use regex::Regex;

use super::section::Section;

/// What is recorded of failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalConfig {
    /// What the host is called in the journal; the machine's name where nothing is said.
    pub host: String,
    /// Older entries are taken out.
    pub max_age: Duration,
    /// The size of the file, in bytes, from which on the oldest entries are taken out.
    pub max_size: u64,
    /// Names of headers whose values are kept; `*` at one end stands for anything.
    pub headers: Vec<String>,
    /// Bytes of each body that are kept.
    pub body: u64,
    /// Patterns, each a regular expression, and what stands in the place of what they find.
    pub masks: Vec<(String, String)>,
}

impl Default for JournalConfig {
    fn default() -> Self {
        Self {
            host: this_machine(),
            max_age: Duration::from_secs(30 * 24 * 60 * 60),
            max_size: 1 << 30,
            headers: Vec::new(),
            body: 0,
            masks: Vec::new(),
        }
    }
}

impl JournalConfig {
    /// `None` where the section says `enabled = false`.
    pub(super) fn read(section: Option<Section<'_>>) -> Option<Self> {
        let mut journal = Self::default();
        let Some(section) = section else { return Some(journal) };
        let enabled = section.boolean("enabled").unwrap_or(true);
        if let Some(host) = section.text("host") {
            (*host.get_ref()).clone_into(&mut journal.host);
        }
        if let Some(age) = section.positive_duration("max_age") {
            journal.max_age = age.into_inner();
        }
        if let Some(size) = section.size("max_size", 1 << 20..=1 << 40) {
            journal.max_size = size;
        }
        if let Some(body) = section.size("body", 0..=1 << 20) {
            journal.body = body;
        }
        if let Some(headers) = section.texts("headers") {
            journal.headers = headers.iter().filter_map(|name| read_name(&section, name)).collect();
        }
        journal.masks = read_masks(&section);
        section.finish();
        enabled.then_some(journal)
    }
}

fn read_name(section: &Section<'_>, name: &toml::Spanned<&str>) -> Option<String> {
    let text = *name.get_ref();
    let inner = text.strip_prefix('*').unwrap_or_else(|| text.strip_suffix('*').unwrap_or(text));
    if !inner.contains('*') {
        return Some(text.to_owned());
    }
    let message = format!("\"{text}\" has a `*` that is not at one end");
    section.problems.error(&name.span(), message, "write a header's name, \"begin-*\", \"*-end\", or \"*\" for all");
    None
}

fn read_masks(section: &Section<'_>) -> Vec<(String, String)> {
    const EXAMPLE: &str = r#"[{ pattern = '\d{16}', with = "***" }]"#;
    let items = section.items("mask", EXAMPLE).unwrap_or_default();
    let masks = items.iter().filter_map(|item| section.section_of("mask", "this mask", item));
    let read = |mask: Section<'_>| {
        let pattern = mask.required_text("pattern", "add what to look for, a regular expression");
        let with = mask.text("with").map_or("***", |with| *with.get_ref()).to_owned();
        mask.finish();
        let pattern = pattern?;
        if let Err(error) = Regex::new(pattern.get_ref()) {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            let message = format!("\"{}\" is no regular expression: {why}", pattern.get_ref());
            section.problems.error(&pattern.span(), message, "correct it; single quotes keep backslashes as they are");
            return None;
        }
        Some(((*pattern.get_ref()).to_owned(), with))
    };
    masks.filter_map(read).collect()
}

fn this_machine() -> String {
    #[cfg(unix)]
    if let Some(name) = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()) {
        return name;
    }
    std::env::var("HOSTNAME").or_else(|_| std::env::var("COMPUTERNAME")).unwrap_or_else(|_| "this host".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn parse(journal: &str) -> Result<Option<JournalConfig>, String> {
        let text = format!(
            "{journal}\n[brokers.b]\nkind = \"memory\"\n[[routes]]\nname = \"r\"\nbroker = \"b\"\nsource = \"q\"\n\
             dead_letters = {{ default = \"d\" }}\nhandler = {{ kind = \"http\", url = \"http://127.0.0.1:9\" }}\n"
        );
        Config::parse(text, "reprieve.toml").map(|config| config.journal).map_err(|error| error.to_string())
    }

    #[test]
    fn failures_are_recorded_without_values_of_headers_and_without_bodies_where_nothing_is_said() {
        let journal = parse("").unwrap().unwrap();
        assert_eq!((journal.headers, journal.body), (Vec::new(), 0));
        assert_eq!((journal.max_age.as_secs(), journal.max_size), (30 * 24 * 3600, 1 << 30));
        assert!(!journal.host.is_empty());
        assert_eq!(parse("[journal]\nenabled = false"), Ok(None));
    }

    #[test]
    fn what_is_kept_and_masked_is_read() {
        let text = "[journal]\nhost = \"a\"\nmax_age = \"7d\"\nmax_size = \"10MiB\"\nheaders = [\"x-tenant\", \"content-*\"]\n\
                    body = \"4KiB\"\nmask = [{ pattern = '\\d{16}' }]";
        let journal = parse(text).unwrap().unwrap();
        assert_eq!((journal.host.as_str(), journal.max_size, journal.body), ("a", 10 << 20, 4096));
        assert_eq!(journal.headers, ["x-tenant", "content-*"]);
        assert_eq!(journal.masks, [(r"\d{16}".to_owned(), "***".to_owned())]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_cure() {
        let wrong = |text: &str| parse(&format!("[journal]\n{text}")).unwrap_err();
        assert!(wrong("headers = [\"a*b\"]").contains("not at one end"));
        assert!(wrong("mask = [{ pattern = '(' }]").contains("is no regular expression"));
        assert!(wrong("mask = [{ with = \"x\" }]").contains("no `pattern`"));
        assert!(wrong("max_size = \"1KiB\"").contains("write a size from"));
        assert!(wrong("header = []").contains("headers"));
    }
}
