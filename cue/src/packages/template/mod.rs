//! Package `text/template`: a Go template and data in, text out.

mod execute;
mod format;
mod functions;
mod lexer;
mod number;
mod parser;
mod pipeline;
mod printf;
mod value;

use super::arguments::{any, text};
use super::{ANY, Data, Failure, Kinds, Package, TEXT, function};
use crate::literal::is_printable;

const S: Kinds = Kinds::STRING;

pub(super) static PACKAGE: Package = Package {
    path: "text/template",
    constants: &[],
    declarations: "",
    functions: &[
        function("Execute", &[TEXT, ANY], S, |a| {
            let (source, data) = (text(a, 0)?, any(a, 1)?);
            let templates = parser::parse(source).map_err(|(at, message)| {
                let (line, _) = line_and_column(source, at);
                Failure::error(format!("template: :{line}: {message}"))
            })?;
            // Nothing at all is what `null` decodes to at the top; inside a list or struct it is a value.
            let data = if *data == Data::Null { value::Value::Missing } else { value::Value::of(data) };
            execute::execute(source, &templates, data).map(Data::String)
        }),
        function("HTMLEscape", &[TEXT], S, |a| Ok(Data::String(text_html_escape(text(a, 0)?)))),
        function("JSEscape", &[TEXT], S, |a| Ok(Data::String(js_escape(text(a, 0)?)))),
    ],
};

/// Line from 1, and bytes since its beginning.
fn line_and_column(source: &str, at: usize) -> (usize, usize) {
    let before = &source.as_bytes()[..at.min(source.len())];
    let line = before.iter().filter(|b| **b == b'\n').count() + 1;
    (line, before.iter().rev().take_while(|b| **b != b'\n').count())
}

/// The escaping of `html`, which also replaces zero bytes.
fn text_html_escape(source: &str) -> String {
    super::text::html_escape(source).replace('\0', "\u{fffd}")
}

/// A text that can stand in a JavaScript string.
fn js_escape(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    for c in source.chars() {
        match c {
            '\\' | '\'' | '"' => out.extend(['\\', c]),
            '<' | '>' | '&' | '=' => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            _ if c < ' ' => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            _ if c.is_ascii() || is_printable(c) => out.push(c),
            _ => out.push_str(&format!("\\u{:04X}", u32::from(c))),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::Run;
    use super::*;

    fn execute(source: &str) -> Result<Data, Failure> {
        match PACKAGE.function("Execute").map(|f| f.run) {
            Some(Run::Data(run)) => run(&[Data::text(source), Data::Null]),
            _ => Err(Failure::error("no such function")),
        }
    }

    #[test]
    fn hostile_templates_end_with_a_failure() {
        let over_budget = [
            "{{range 1000000000}}{{end}}",
            "{{range 1000000000}}aaaaaaaaaaaaaaaaaaaaaaaa{{end}}",
            "{{range 10000}}{{printf \"%1000000d\" 1}}{{end}}",
            "{{define \"x\"}}{{template \"x\"}}{{end}}{{template \"x\"}}",
            "{{range 100000}}{{range 100000}}{{$x := 1}}{{end}}{{end}}",
        ];
        for source in over_budget {
            assert!(matches!(execute(source), Err(Failure::Budget(_))), "{source}");
        }
        for unit in ["{{if 1}}", "{{(", "(", "{{block \"x\" .}}", "{{range .}}", "{{"] {
            let source = format!("{{{{{}", unit.repeat(100_000));
            assert!(matches!(execute(&source), Err(Failure::Error(_))), "{unit}");
        }
        let chain = format!("{{{{if 1}}}}{}{{{{end}}}}", "{{else if 1}}".repeat(100_000));
        assert!(matches!(execute(&chain), Err(Failure::Error(_))));
    }
}
