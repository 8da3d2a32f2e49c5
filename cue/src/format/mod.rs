//! A syntax tree in, formatted CUE text out.
//!
//! Line breaks of the source are kept where they carry meaning for the reader; indentation, blanks, columns of values and
//! comments are made new. Nodes without a place in the source get the canonical layout.

mod binary;
mod columns;
mod declarations;
mod expressions;
mod simplify;
mod spacing;

use crate::ast::{Expr, File};
use spacing::Printer;

/// The text of a file. `source` is what the file was parsed from (its line breaks guide the layout).
pub fn format_file(file: &File, source: &str) -> String {
    let mut printer = Printer::new(source);
    printer.file(file);
    finish(printer)
}

/// The text of a file in its short form: needless braces, quotes of labels and patterns are left out.
pub fn format_simplified(file: &File, source: &str) -> String {
    let mut file = file.clone();
    simplify::simplify(&mut file);
    format_file(&file, source)
}

/// The text of an expression without a source, one declaration a line.
pub fn format_expr(expr: &Expr) -> String {
    let mut printer = Printer::new("");
    printer.expr(expr);
    finish(printer).trim_end().to_string()
}

/// The text of the declarations of a struct without a source, as a file shows them.
pub fn format_struct_as_file(literal: &crate::ast::StructLit) -> String {
    let file = File { decls: literal.decls.clone(), ..File::default() };
    format_file(&file, "")
}

fn finish(printer: Printer<'_>) -> String {
    columns::aligned(&printer.output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{FileId, Source};

    /// Texts with the output of the reference formatter.
    #[test]
    fn layout_is_that_of_the_reference() {
        for (source, expected) in [
            ("a:1\nbcd:   2 // x\n", "a:   1\nbcd: 2 // x\n"),
            ("a: b: {\n  c: 1\n}\n", "a: b: {\n\tc: 1\n}\n"),
            (
                "import (\n\"strings\"\n)\nx: strings.Join( [\"a\",\"b\"],  \",\" )",
                "import (\n\t\"strings\"\n)\n\nx: strings.Join( [\"a\", \"b\"], \",\")\n",
            ),
            ("x: [for k,v in a if k==\"b\" {v}]", "x: [for k, v in a if k == \"b\" {v}]\n"),
            ("x: 1+2*3\ny: (1+2)*3|*4", "x: 1 + 2*3\ny: (1+2)*3 | *4\n"),
            ("// doc\n\n// more\na?: int\n\n\n#D: {...}\n", "// doc\n\n// more\na?: int\n\n#D: {...}\n"),
            ("a: {b: 1,c: 2}\n", "a: {b: 1, c: 2}\n"),
            ("a: \"\"\"\n  x\n  \"\"\"\n", "a: \"\"\"\n\tx\n\t\"\"\"\n"),
            ("if x!=_|_ {\na: 1.\n}", "if x != _|_ {\n\ta: 1.0\n}\n"),
        ] {
            let (file, mistakes) = crate::parser::parse(&Source::new("x.cue", source), FileId(0));
            assert!(mistakes.is_empty(), "{source}: {mistakes:?}");
            let text = format_file(&file, source);
            assert_eq!(text, expected, "{source}");
            let (again, _) = crate::parser::parse(&Source::new("x.cue", text.clone()), FileId(0));
            assert_eq!(format_file(&again, &text), text, "a formatted text stays as it is");
        }
    }
}
