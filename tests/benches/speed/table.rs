//! What was measured, beside what it is held against.

/// Rows, printed as soon as they are known and once more as a table at the end.
pub(crate) struct Table {
    rows: Vec<[String; 4]>,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self { rows: Vec::new() }
    }

    /// `wanted` says the goal; `meets` whether the figure keeps it.
    pub(crate) fn row(&mut self, what: &str, figure: String, wanted: &str, meets: bool) {
        eprintln!("{what}: {figure}");
        let mark = if meets { "yes" } else { "NO" };
        self.rows.push([what.to_owned(), figure, wanted.to_owned(), mark.to_owned()]);
    }

    pub(crate) fn print(&self) {
        let header = ["what", "measured", "goal", "met"].map(str::to_owned);
        let all = || std::iter::once(&header).chain(&self.rows);
        let widths: Vec<usize> =
            (0..4).map(|column| all().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
        let line = |row: &[String; 4]| {
            let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            println!("| {} |", cells.join(" | "));
        };
        println!();
        line(&header);
        println!("| {} |", widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>().join(" | "));
        self.rows.iter().for_each(line);
    }
}

/// The middle one.
pub(crate) fn median<T: Copy + PartialOrd>(values: &mut [T]) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).expect("measurements can be compared"));
    values[values.len() / 2]
}

/// The value that `part` in a hundred are not above.
pub(crate) fn percentile<T: Copy + PartialOrd>(values: &mut [T], part: usize) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).expect("measurements can be compared"));
    values[(values.len() * part / 100).min(values.len() - 1)]
}
