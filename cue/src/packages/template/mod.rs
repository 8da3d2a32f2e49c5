//! Package `text/template`: a Go template and data in, text out.

mod execute;
mod format;
mod functions;
mod lexer;
mod number;
mod parser;
mod pipeline;
mod printf;
mod text;
mod value;

use self::text::{js_escape, line_and_column, text_html_escape};
use super::arguments::{any, text};
use super::{ANY, Data, Failure, Kinds, Package, TEXT, function};

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
            // A top-level `null` means that there is no value; inside a list or struct it is a value.
            let data = if *data == Data::Null { value::Value::Missing } else { value::Value::of(data) };
            execute::execute(source, &templates, data).map(Data::String)
        }),
        function("HTMLEscape", &[TEXT], S, |a| Ok(Data::String(text_html_escape(text(a, 0)?)))),
        function("JSEscape", &[TEXT], S, |a| Ok(Data::String(js_escape(text(a, 0)?)))),
    ],
};

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
