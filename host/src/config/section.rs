//! Reads one table of the file, key by key. What was asked for is what is known; the rest is reported.

use std::cell::RefCell;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use bytesize::ByteSize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::Problems;
use super::suggestion::suggest;

/// Far beyond any sensible setting, and far from where clocks overflow.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// One table of the file.
///
/// A reader returns `None` where the key is absent, and also where its value is wrong: that has been reported then,
/// and whatever is made of the default is never used.
pub(super) struct Section<'d> {
    /// How messages call it, such as ``route `orders` ``.
    pub(super) title: String,
    pub(super) span: Range<usize>,
    pub(super) problems: &'d Problems<'d>,
    table: &'d DeTable<'d>,
    asked: RefCell<Vec<&'static str>>,
}

impl<'d> Section<'d> {
    pub(super) fn new(
        title: impl Into<String>,
        span: Range<usize>,
        table: &'d DeTable<'d>,
        problems: &'d Problems<'d>,
    ) -> Self {
        Self { title: title.into(), span, problems, table, asked: RefCell::default() }
    }

    /// The value of a key, whatever it is.
    pub(super) fn value(&self, key: &'static str) -> Option<&'d Spanned<DeValue<'d>>> {
        self.asked.borrow_mut().push(key);
        self.table.get(key)
    }

    /// The table itself, for what may hold anything.
    pub(super) const fn table(&self) -> &'d DeTable<'d> {
        self.table
    }

    /// All keys, for tables whose keys are names.
    pub(super) fn entries(&self) -> impl Iterator<Item = (Spanned<&'d str>, &'d Spanned<DeValue<'d>>)> + use<'d> {
        self.table.iter().map(|(key, value)| (Spanned::new(key.span(), &**key.get_ref()), value))
    }

    pub(super) fn text(&self, key: &'static str) -> Option<Spanned<&'d str>> {
        self.text_of(key, self.value(key)?)
    }

    pub(super) fn required_text(&self, key: &'static str, cure: &str) -> Option<Spanned<&'d str>> {
        self.required(key, cure)?;
        self.text(key)
    }

    /// The value of a key that must be there.
    pub(super) fn required(&self, key: &'static str, cure: &str) -> Option<&'d Spanned<DeValue<'d>>> {
        let value = self.value(key);
        if value.is_none() {
            self.problems.error(&self.span, format!("{} has no `{key}`", self.title), cure);
        }
        value
    }

    /// A value as a text that is not empty.
    pub(super) fn text_of(&self, key: &str, value: &'d Spanned<DeValue<'d>>) -> Option<Spanned<&'d str>> {
        match value.get_ref().as_str() {
            Some("") => {
                self.problems.error(
                    &value.span(),
                    format!("`{key}` is empty"),
                    "write something between the quotes, or leave the key out",
                );
                None
            }
            Some(text) => Some(Spanned::new(value.span(), text)),
            None => self.wrong_type(key, value, "a text", "write it in quotes"),
        }
    }

    pub(super) fn boolean(&self, key: &'static str) -> Option<bool> {
        let value = self.value(key)?;
        value
            .get_ref()
            .as_bool()
            .or_else(|| self.wrong_type(key, value, "true or false", "write true or false, without quotes"))
    }

    pub(super) fn integer(&self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let value = self.value(key)?;
        let Some(written) = value.get_ref().as_integer() else {
            return self.wrong_type(key, value, "a whole number", "write it without quotes and without a fraction");
        };
        let number =
            u64::from_str_radix(written.as_str(), written.radix()).ok().filter(|number| range.contains(number));
        if number.is_none() {
            self.problems.error(
                &value.span(),
                format!("`{key}` cannot be {written}"),
                format!("write a whole number from {} to {}", range.start(), range.end()),
            );
        }
        number
    }

    /// A number that may have a fraction; not a number and infinity included.
    pub(super) fn number(&self, key: &'static str) -> Option<Spanned<f64>> {
        const CURE: &str = "write it without quotes, such as 2.0";
        let value = self.value(key)?;
        let text = match value.get_ref() {
            DeValue::Integer(written) if written.radix() == 10 => written.as_str(),
            DeValue::Float(written) => written.as_str(),
            _ => return self.wrong_type(key, value, "a number", CURE),
        };
        match text.parse() {
            Ok(number) => Some(Spanned::new(value.span(), number)),
            Err(_) => self.wrong_type(key, value, "a number", CURE),
        }
    }

    pub(super) fn duration(&self, key: &'static str) -> Option<Spanned<Duration>> {
        self.duration_of(key, self.value(key)?)
    }

    /// A duration of at least a millisecond.
    pub(super) fn positive_duration(&self, key: &'static str) -> Option<Spanned<Duration>> {
        let duration = self.duration(key)?;
        if *duration.get_ref() >= Duration::from_millis(1) {
            return Some(duration);
        }
        self.problems.error(&duration.span(), format!("`{key}` is too short"), "write at least \"1ms\"");
        None
    }

    pub(super) fn duration_of(&self, key: &str, value: &'d Spanned<DeValue<'d>>) -> Option<Spanned<Duration>> {
        const CURE: &str = "write a number with a unit, such as \"500ms\", \"30s\", \"5m\" or \"1h 30m\"";
        let span = value.span();
        let Some(text) = value.get_ref().as_str() else {
            self.problems.error(&span, format!("`{key}` must be a duration, not {}", with_article(value)), CURE);
            return None;
        };
        match humantime::parse_duration(text) {
            Ok(duration) if duration > LONGEST => {
                self.problems.error(&span, format!("`{key}` is longer than ten years"), CURE);
            }
            // A slip that would be found out months later.
            Ok(_) if text.contains('M') => {
                self.problems.error(
                    &span,
                    format!("\"{text}\" counts months"),
                    "write a small m for minutes, or d for days",
                );
            }
            Ok(duration) => return Some(Spanned::new(span, duration)),
            Err(_) => self.problems.error(&span, format!("\"{text}\" is not a duration"), CURE),
        }
        None
    }

    /// A number of bytes.
    pub(super) fn size(&self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        const CURE: &str = "write a number with a unit, such as \"512KiB\" or \"16MiB\"";
        let value = self.value(key)?;
        let span = value.span();
        let Some(text) = value.get_ref().as_str() else {
            self.problems.error(&span, format!("`{key}` must be a size, not {}", with_article(value)), CURE);
            return None;
        };
        match text.parse::<ByteSize>() {
            Ok(ByteSize(size)) if range.contains(&size) => return Some(size),
            Ok(size) => self.problems.error(
                &span,
                format!("`{key}` cannot be {size}"),
                format!("write a size from {} to {}", ByteSize(*range.start()), ByteSize(*range.end())),
            ),
            Err(_) => self.problems.error(&span, format!("\"{text}\" is not a size"), CURE),
        }
        None
    }

    /// A list of texts.
    pub(super) fn texts(&self, key: &'static str) -> Option<Vec<Spanned<&'d str>>> {
        self.items(key, "[\"…\", \"…\"]")?.iter().map(|item| self.text_of(key, item)).collect()
    }

    /// A list's items. `example` shows a whole list.
    pub(super) fn items(&self, key: &'static str, example: &str) -> Option<&'d [Spanned<DeValue<'d>>]> {
        let value = self.value(key)?;
        match value.get_ref() {
            DeValue::Array(items) => Some(items),
            _ => self.wrong_type(key, value, "a list", &format!("write it in brackets, such as {example}")),
        }
    }

    /// The table under a key.
    pub(super) fn section(&self, key: &'static str, title: impl Into<String>) -> Option<Self> {
        self.section_of(key, title, self.value(key)?)
    }

    /// A value as a table.
    pub(super) fn section_of(
        &self,
        key: &str,
        title: impl Into<String>,
        value: &'d Spanned<DeValue<'d>>,
    ) -> Option<Self> {
        match value.get_ref() {
            DeValue::Table(table) => Some(Self::new(title, value.span(), table, self.problems)),
            _ => self.wrong_type(
                key,
                value,
                "a table",
                "write it in braces, such as { key = \"…\" }, or as a section of its own",
            ),
        }
    }

    /// Reports a value of the wrong type. Always `None`.
    pub(super) fn wrong_type<T>(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        expected: &str,
        cure: &str,
    ) -> Option<T> {
        let message = format!("`{key}` must be {expected}, not {}", with_article(value));
        self.problems.error(&value.span(), message, cure);
        None
    }

    /// Reports the keys that nobody asked for.
    pub(super) fn finish(self) {
        let asked = self.asked.into_inner();
        let mut known = asked.clone();
        known.sort_unstable();
        known.dedup();
        for key in self.table.keys().filter(|key| !known.contains(&&**key.get_ref())) {
            let message = format!("unknown key `{}` in {}", key.get_ref(), self.title);
            self.problems.error(&key.span(), message, suggest(key.get_ref(), &known));
        }
    }
}

/// What a value is, as in "not a list".
fn with_article(value: &Spanned<DeValue<'_>>) -> &'static str {
    match value.get_ref() {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
