//! Prints rows of cells as aligned columns.

use crate::screen::{cut, shown, text_width};

/// Space between two columns.
const GAP: usize = 3;
/// A text that is cut to less says nothing.
const LEAST_TEXT: usize = 16;

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

    /// The same, no wider than a terminal where the column `long` can give enough: its texts end in "…" then.
    #[must_use]
    pub(crate) fn cut_to(mut self, width: Option<usize>, long: usize) -> Self {
        let Some(width) = width else { return self };
        let others: usize = (0..self.columns()).filter(|at| *at != long).map(|at| self.width(at) + GAP).sum();
        let least =
            self.rows.first().and_then(|heading| heading.get(long)).map_or(0, |cell| text_width(cell));
        let left = width.saturating_sub(others).max(least);
        for cell in self.rows.iter_mut().filter_map(|row| row.get_mut(long)) {
            *cell = cut(cell, left);
        }
        self
    }

    /// How wide it is at least, where the column `long` gives what it can.
    pub(crate) fn least(&self, long: usize) -> usize {
        let width = |at: usize| if at == long { LEAST_TEXT } else { self.width(at) };
        (0..self.columns()).map(|at| width(at) + GAP).sum::<usize>().saturating_sub(GAP)
    }

    /// The same without its last column.
    #[must_use]
    pub(crate) fn without_last(mut self) -> Self {
        let last = self.columns().saturating_sub(1);
        self.rows.iter_mut().for_each(|row| row.truncate(last));
        self
    }

    /// Its columns, for rows that follow it one by one.
    pub(crate) fn columns_as_they_are(&self) -> Columns {
        Columns::of(self.rows.iter().map(Vec::as_slice))
    }

    fn columns(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or(0)
    }

    fn width(&self, column: usize) -> usize {
        self.rows.iter().filter_map(|row| row.get(column)).map(|cell| text_width(cell)).max().unwrap_or(0)
    }

    pub(crate) fn render(&self) -> String {
        let columns = self.columns_as_they_are();
        self.rows.iter().map(|row| columns.row(row) + "\n").collect()
    }
}

/// How wide the columns of a table are. Longer cells stay whole and move what follows them.
pub(crate) struct Columns {
    widths: Vec<usize>,
}

impl Columns {
    /// As wide as the widest cells of these rows.
    pub(crate) fn of<'a>(rows: impl Iterator<Item = &'a [String]>) -> Self {
        let mut widths: Vec<usize> = Vec::new();
        for row in rows {
            widths.resize(widths.len().max(row.len()), 0);
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = text_width(cell).max(*width);
            }
        }
        Self { widths }
    }

    /// One row as a line.
    pub(crate) fn row(&self, cells: &[String]) -> String {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(&self.widths) {
            let cell = shown(cell).replace('\n', " ");
            line.push_str(&cell);
            line.extend(std::iter::repeat_n(' ', width.saturating_sub(text_width(&cell)) + GAP));
        }
        line.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_long_message_gives_way_to_the_terminal() {
        let table = || {
            let mut table = Table::new(&["APP", "STATUS", "AGE"]);
            table.row(vec!["web".into(), "a message that is longer than it may be".into(), "1d".into()]);
            table
        };
        assert_eq!(
            table().cut_to(Some(24), 1).render(),
            "APP   STATUS         AGE\nweb   a message t…   1d\n"
        );
        assert!(table().cut_to(None, 1).render().contains("longer than it may be   1d"));
        assert!(table().cut_to(Some(5), 1).render().contains("a mes…   1d"), "the heading stays");
    }

    use super::*;
    use crate::screen::{GOOD, styled};

    #[test]
    fn columns_are_as_wide_as_what_is_seen() {
        let mut table = Table::new(&["A", "LONG"]);
        table.row(vec![styled(GOOD, "four"), "x".into()]);
        table.row(vec!["ünï".into(), "y".into()]);
        table.row(vec!["中".into(), "z".into()]);
        let plain = anstream::adapter::strip_str(&table.render()).to_string();
        assert_eq!(plain, "A      LONG\nfour   x\nünï    y\n中     z\n");
    }
}
