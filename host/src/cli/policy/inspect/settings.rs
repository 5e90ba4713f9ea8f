//! The settings as a table, the last column wrapped.

use crate::cli::style::Style;
use crate::policy::settings_schema::Setting;

/// A column that is wider than this does not push the others away.
const WIDEST: usize = 34;
/// The meaning is never narrower than this.
const NARROWEST_MEANING: usize = 24;

/// The lines of the table.
pub(super) fn table(settings: &[Setting], width: usize, style: Style) -> Vec<String> {
    let rows: Vec<[String; 3]> = settings.iter().map(cells).collect();
    let titles = ["name", "type", "default"].map(str::to_owned);
    let mut widths = [0; 3];
    for row in rows.iter().chain([&titles]) {
        for (column, cell) in row.iter().enumerate() {
            widths[column] = widths[column].max(cell.chars().count()).min(WIDEST);
        }
    }
    let line = |row: &[String; 3]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("  {}", cells.collect::<Vec<_>>().join("  "))
    };
    let indent = 2 + widths.iter().sum::<usize>() + 3 * 2;
    let room = width.saturating_sub(indent).max(NARROWEST_MEANING);
    let mut lines = vec![style.dim(format!("{}  meaning", line(&titles)).trim_end())];
    for (row, setting) in rows.iter().zip(settings) {
        let mut meaning = wrapped(&setting.meaning, room).into_iter();
        let first = line(row);
        // What is too wide for its column has a line of its own.
        if first.chars().count() + 2 > indent {
            lines.push(first.trim_end().to_owned());
        } else {
            lines.push(format!("{first}  {}", meaning.next().unwrap_or_default()).trim_end().to_owned());
        }
        lines.extend(meaning.map(|part| format!("{:indent$}{part}", "")));
    }
    lines
}

fn cells(setting: &Setting) -> [String; 3] {
    let default = match &setting.default {
        Some(value) => value.to_string(),
        None if setting.required => "required".to_owned(),
        None => String::new(),
    };
    [setting.name.clone(), setting.kind.clone(), default]
}

/// The words in lines of at most `room` characters, where they have so few.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
