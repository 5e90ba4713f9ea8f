//! What a file says of itself, for people.

use std::fmt;

use super::super::usage::{bar, bytes};
use super::super::words;
use super::{Inspected, settings};
use crate::cli::style::Style;
use crate::policy::inspection::Form;

/// The cells of a bar.
const BAR: usize = 24;
/// The characters of a section's name, with a gap behind it.
const NAME: usize = 28;
/// Smaller sections than this part of the file are told together.
const SMALL: f64 = 0.005;

pub(super) struct View<'i> {
    pub(super) inspected: &'i Inspected,
    /// Of the terminal, in characters.
    pub(super) width: usize,
    pub(super) style: Style,
}

impl fmt::Display for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (inspected, style) = (self.inspected, self.style);
        match &inspected.description {
            None => writeln!(f, "{}\n", style.bold(&inspected.policy))?,
            Some(about) => {
                writeln!(f, "{}\n{}\n", style.bold(&format!("{} {}", about.name, about.version)), about.summary)?;
            }
        }
        if let Some(why) = &inspected.refused {
            line(f, "refused", &style.bad(why))?;
        }
        let file = &inspected.file;
        line(f, "file", &bytes(file.size as u64))?;
        line(f, "SHA-256", &file.digest)?;
        line(
            f,
            "form",
            match file.form {
                Form::Module => "module, which a host makes a component of",
                Form::Component => "component",
            },
        )?;
        if let Some(version) = inspected.interface {
            line(f, "interface", &format!("reprieve:policy@{version}"))?;
        }
        line(f, "SDK", file.sdk.as_deref().unwrap_or("none is named"))?;
        list(f, "made with", &file.tools, "not said")?;
        list(f, "exports", &file.exports, "nothing")?;
        list(f, "imports", &file.imports, "nothing")?;
        if let Some(needs) = &inspected.needs {
            line(f, "is given", &words::needs(needs))?;
        }
        self.settings(f)?;
        self.cases(f)?;
        self.sections(f)
    }
}

impl View<'_> {
    fn settings(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = &self.inspected.settings;
        if settings.is_empty() {
            return writeln!(f, "\n{}", self.style.dim("No schema says which settings it takes."));
        }
        writeln!(f, "\n{}", self.style.bold("Settings"))?;
        settings::table(settings, self.width, self.style).iter().try_for_each(|line| writeln!(f, "{line}"))
    }

    fn cases(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cases = &self.inspected.cases;
        if cases.is_empty() {
            return writeln!(f, "\n{}", self.style.dim("It carries no cases."));
        }
        writeln!(f, "\n{}", self.style.bold(&format!("Cases that it carries ({})", cases.len())))?;
        cases.iter().try_for_each(|name| writeln!(f, "  {name}"))
    }

    fn sections(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = &self.inspected.file;
        let share = |size: usize| size as f64 / file.size.max(1) as f64;
        let (large, small): (Vec<_>, Vec<_>) = file.sections.iter().partition(|section| share(section.size) >= SMALL);
        writeln!(f, "\n{}", self.style.bold("Size by section"))?;
        let rest: usize = small.iter().map(|section| section.size).sum();
        let others = format!("{} others", small.len());
        let rows = large.iter().map(|section| (section.name.as_str(), section.size));
        for (name, size) in rows.chain((rest > 0).then_some((others.as_str(), rest))) {
            let percent = share(size) * 100.0;
            let name = short(name);
            writeln!(f, "  {name:<NAME$}{:>10}  {percent:>3.0} %  {}", bytes(size as u64), bar(share(size), BAR))?;
        }
        Ok(())
    }
}

/// A name that fits its column; compilers give custom sections long ones.
fn short(name: &str) -> String {
    match name.char_indices().nth(NAME - 2) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

fn list(f: &mut fmt::Formatter<'_>, name: &str, items: &[String], none: &str) -> fmt::Result {
    if items.is_empty() {
        return line(f, name, none);
    }
    items.iter().enumerate().try_for_each(|(index, item)| line(f, if index == 0 { name } else { "" }, item))
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, value: &str) -> fmt::Result {
    writeln!(f, "  {name:<12}{value}")
}
