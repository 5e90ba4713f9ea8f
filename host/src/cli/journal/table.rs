//! Rows under a heading, each column as wide as what is in it.

use crate::cli::style::Style;

/// The lines, without spaces at their ends.
pub(in crate::cli) fn lines(heading: &[&str], rows: &[Vec<String>], style: Style) -> Vec<String> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([heading[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..heading.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<_> = cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    let heading = style.dim(&line(&mut heading.iter().copied()));
    std::iter::once(heading).chain(rows.iter().map(|row| line(&mut row.iter().map(String::as_str)))).collect()
}
