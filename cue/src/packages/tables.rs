//! Packages `encoding/csv` and `text/tabwriter`: rows in, text out, and back.
//!
//! Not by csv: its reader takes quotes wherever they stand, where Go's fails, and its writer quotes other fields.

use super::arguments::{any, list, text};
use super::{ANY, BYTES, Data, Failure, Kinds, Package, function};

type Outcome = Result<Data, Failure>;

pub(super) static CSV: Package = Package {
    path: "encoding/csv",
    constants: &[],
    declarations: "",
    functions: &[
        function("Encode", &[ANY], Kinds::STRING, encode),
        function("Decode", &[BYTES], Kinds::LIST, decode),
    ],
};

pub(super) static TABWRITER: Package = Package {
    path: "text/tabwriter",
    constants: &[],
    declarations: "",
    functions: &[function("Write", &[ANY], Kinds::STRING, |a| match any(a, 0)? {
        Data::String(text) => Ok(Data::String(aligned(text))),
        Data::Bytes(bytes) => Ok(Data::String(aligned(&String::from_utf8_lossy(bytes)))),
        Data::List(lines) => {
            let mut all = String::new();
            for line in lines {
                let Data::String(line) = line else {
                    return Err(Failure::error("element must be a string"));
                };
                all.push_str(line);
                all.push('\n');
            }
            Ok(Data::String(aligned(&all)))
        }
        _ => Err(Failure::error("argument 1 must be a string or a list of strings")),
    })],
};

fn encode(a: &[Data]) -> Outcome {
    let mut out = String::new();
    for row in list(a, 0)? {
        let Data::List(cells) = row else {
            return Err(Failure::error("each row must be a list"));
        };
        for (index, cell) in cells.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            let field = match cell {
                Data::String(text) => text.clone(),
                other => super::json_marshal(other)?,
            };
            let quoted = field == "\\."
                || field.contains([',', '"', '\r', '\n'])
                || field.starts_with(|c: char| c.is_whitespace());
            if quoted {
                out.push_str(&format!("\"{}\"", field.replace('"', "\"\"")));
            } else {
                out.push_str(&field);
            }
        }
        out.push('\n');
    }
    Ok(Data::String(out))
}

fn decode(a: &[Data]) -> Outcome {
    let source = text(a, 0)?.replace("\r\n", "\n");
    let mut rows: Vec<Data> = Vec::new();
    let mut characters = source.chars().peekable();
    let mut width = None;
    while characters.peek().is_some() {
        if characters.next_if_eq(&'\n').is_some() {
            continue;
        }
        let number = rows.len() + 1;
        let mut cells = Vec::new();
        loop {
            let mut cell = String::new();
            if characters.next_if_eq(&'"').is_some() {
                loop {
                    match characters.next() {
                        Some('"') if characters.next_if_eq(&'"').is_some() => cell.push('"'),
                        Some('"') => break,
                        Some(c) => cell.push(c),
                        None => {
                            return Err(Failure::error(format!(
                                "record {number}: quoted field not terminated"
                            )));
                        }
                    }
                }
                if !matches!(characters.peek(), None | Some(',' | '\n')) {
                    return Err(Failure::error(format!(
                        "record {number}: extraneous or missing \" in quoted-field"
                    )));
                }
            } else {
                while let Some(c) = characters.next_if(|c| !matches!(c, ',' | '\n')) {
                    if c == '"' {
                        return Err(Failure::error(format!("record {number}: bare \" in non-quoted field")));
                    }
                    cell.push(c);
                }
            }
            cells.push(cell);
            if characters.next_if_eq(&',').is_none() {
                break;
            }
        }
        characters.next_if_eq(&'\n');
        if *width.get_or_insert(cells.len()) != cells.len() {
            return Err(Failure::error(format!("record {number}: wrong number of fields")));
        }
        rows.push(Data::texts(cells));
    }
    Ok(Data::List(rows))
}

/// Columns end with a tab; a column is as wide as its widest cell in a block of lines that have it, plus one.
/// A vertical tab ends a cell as a tab does; a form feed ends a line, and all columns with it.
fn aligned(source: &str) -> String {
    let mut out = String::new();
    let mut blocks = source.split('\u{c}').peekable();
    while let Some(block) = blocks.next() {
        aligned_block(&mut out, block);
        if blocks.peek().is_some() {
            out.push('\n');
        }
    }
    out
}

fn aligned_block(out: &mut String, source: &str) {
    let lines: Vec<Vec<&str>> =
        source.split('\n').map(|line| line.split(['\t', '\u{b}']).collect()).collect();
    let mut widths: Vec<Vec<usize>> =
        lines.iter().map(|cells| vec![0; cells.len().saturating_sub(1)]).collect();
    let columns = widths.iter().map(Vec::len).max().unwrap_or(0);
    for column in 0..columns {
        let mut start = 0;
        while start < lines.len() {
            let end = (start..lines.len()).find(|row| widths[*row].len() <= column).unwrap_or(lines.len());
            let widest = (start..end).map(|row| lines[row][column].chars().count()).max().unwrap_or(0);
            for row in widths.iter_mut().take(end).skip(start) {
                row[column] = widest + 1;
            }
            start = end + 1;
        }
    }
    for (index, cells) in lines.iter().enumerate() {
        for (column, cell) in cells.iter().enumerate() {
            out.push_str(cell);
            if let Some(width) = widths[index].get(column) {
                let missing = width.saturating_sub(cell.chars().count());
                out.extend(std::iter::repeat_n(' ', missing));
            }
        }
        if index + 1 < lines.len() {
            out.push('\n');
        }
    }
}
