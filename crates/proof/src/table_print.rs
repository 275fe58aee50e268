//! The tables that benchmarks print.

/// A table with a header; the first column is text, the others are numbers.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|cell| (*cell).to_owned()).collect()] }
    }

    pub(crate) fn add(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// Returns the lines: each column as wide as its widest cell, with a rule under the header.
    pub(crate) fn lines(&self) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut lines: Vec<String> = self.rows.iter().map(|row| line(row, &widths)).collect();
        lines.insert(1, "-".repeat(widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1)));
        lines
    }

    pub(crate) fn print(&self) {
        for line in self.lines() {
            println!("{line}");
        }
    }
}

fn line(row: &[String], widths: &[usize]) -> String {
    let cell = |(column, text): (usize, &String)| {
        let width = widths[column];
        if column == 0 { format!("{text:<width$}") } else { format!("{text:>width$}") }
    };
    let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
    cells.join("  ").trim_end().to_owned()
}

/// The median and the range of the measurements of several rounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) most: f64,
}

impl Spread {
    pub(crate) fn of(rounds: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = rounds.into_iter().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        let last = sorted.len().saturating_sub(1);
        Self {
            least: at(0),
            median: f64::midpoint(at(last / 2), at(last.div_ceil(2))),
            most: at(last),
        }
    }

    /// `0.91 (0.88–0.95)`
    pub(crate) fn show(&self, decimals: usize) -> String {
        let Self { least, median, most } = self;
        format!("{median:.decimals$} ({least:.decimals$}–{most:.decimals$})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(&["clients", "jobs/s"]);
        table.add(vec![String::from("4"), String::from("12345")]);
        assert_eq!(table.lines(), ["clients  jobs/s", "---------------", "4         12345"]);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]).show(1), "2.0 (1.0–3.0)");
        assert_eq!(Spread::of([1.0, 2.0]).show(2), "1.50 (1.00–2.00)");
    }
}
