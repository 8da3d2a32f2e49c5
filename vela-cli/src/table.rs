//! Rows of cells in, aligned columns out.

use crate::screen::shown;

/// Space between two columns.
const GAP: usize = 3;

/// A table for people: a heading and rows, each column as wide as its widest cell.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heading: &[&str]) -> Self {
        Self { rows: vec![heading.iter().map(|cell| (*cell).to_owned()).collect()] }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        // A cell is as wide as it is shown, and stands on one line.
        self.rows.push(cells.iter().map(|cell| shown(cell).replace('\n', " ")).collect());
    }

    /// Only the heading?
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    pub(crate) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| shown_width(cell))
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', width.saturating_sub(shown_width(cell)) + GAP));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// How many columns of a terminal the text takes, colour codes not counted. Wide scripts are counted as one: they
/// shift a column, which is a blemish and not an error.
fn shown_width(text: &str) -> usize {
    anstream::adapter::strip_str(text).map(|part| part.chars().count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::{GOOD, styled};

    #[test]
    fn columns_are_as_wide_as_what_is_seen() {
        let mut table = Table::new(&["A", "LONG"]);
        table.row(vec![styled(GOOD, "four"), "x".into()]);
        table.row(vec!["ünï".into(), "y".into()]);
        let plain = anstream::adapter::strip_str(&table.render()).to_string();
        assert_eq!(plain, "A      LONG\nfour   x\nünï    y\n");
    }
}
