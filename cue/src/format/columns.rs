//! Text with column marks in, aligned text out.
//!
//! A column is a run of lines that all have a mark at that position; it is as wide as its widest cell plus one.

/// Ends a cell whose column vanishes when all its cells are empty.
pub(super) const CELL: char = '\u{b}';
/// Ends a line and all columns.
pub(super) const FEED: char = '\u{c}';
/// Encloses text in which marks mean nothing; a character that no text is meant to hold.
pub(super) const ESCAPE: char = '\u{10ffff}';

const TAB_WIDTH: usize = 8;

struct Cell {
    text: String,
    width: usize,
    is_tab: bool,
}

struct Line {
    cells: Vec<Cell>,
    widths: Vec<usize>,
}

/// Aligns the columns.
pub(super) fn aligned(marked: &str) -> String {
    let mut out = String::with_capacity(marked.len());
    let mut block: Vec<Line> = Vec::new();
    let mut cells: Vec<Cell> = Vec::new();
    let mut text = String::new();
    let mut escaped = false;
    for c in marked.chars() {
        match c {
            ESCAPE => escaped = !escaped,
            '\t' | CELL if !escaped => cells.push(cell(&mut text, c == '\t')),
            '\n' | FEED if !escaped => {
                cells.push(cell(&mut text, false));
                let ends_block = c == FEED || cells.len() == 1;
                block.push(Line { cells: std::mem::take(&mut cells), widths: Vec::new() });
                if ends_block {
                    flush(&mut out, &mut block);
                }
            }
            _ => text.push(c),
        }
    }
    cells.push(cell(&mut text, false));
    block.push(Line { cells, widths: Vec::new() });
    flush(&mut out, &mut block);
    // The last line has no end of its own.
    out.pop();
    out
}

fn cell(text: &mut String, is_tab: bool) -> Cell {
    let text = std::mem::take(text);
    Cell { width: text.chars().count(), text, is_tab }
}

fn flush(out: &mut String, block: &mut Vec<Line>) {
    widths(block, 0);
    for line in block.drain(..) {
        let mut leading = true;
        for (index, cell) in line.cells.iter().enumerate() {
            out.push_str(&cell.text);
            leading &= cell.width == 0;
            let Some(width) = line.widths.get(index).copied() else { continue };
            if leading {
                // Indentation is written with tabs.
                out.extend(std::iter::repeat_n('\t', width.div_ceil(TAB_WIDTH)));
            } else {
                out.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width)));
            }
        }
        out.push('\n');
    }
}

/// Sets the widths of column `column` and, inside each of its runs, of the following ones.
fn widths(lines: &mut [Line], column: usize) {
    let mut start = 0;
    while start < lines.len() {
        if lines[start].cells.len() <= column + 1 {
            start += 1;
            continue;
        }
        let length = lines[start..].iter().take_while(|l| l.cells.len() > column + 1).count();
        let run = &mut lines[start..start + length];
        let vanishes = run.iter().all(|l| l.cells[column].width == 0 && !l.cells[column].is_tab);
        let widest = run.iter().map(|l| l.cells[column].width).max().unwrap_or(0);
        for line in run.iter_mut() {
            line.widths.push(if vanishes { 0 } else { widest + 1 });
        }
        widths(run, column + 1);
        start += length;
    }
}
