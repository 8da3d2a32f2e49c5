//! A template and its inputs in; what they give as JSON, YAML and CUE out.
//!
//! `cargo run -p vela-cue --example export`

use vela_cue::value::Shown;
use vela_cue::{Diagnostics, Input, Source, Template, format, packages};

const TEMPLATE: &str = r#"
import "strings"

// What is asked of the caller.
input: {
	name:     string
	replicas: *1 | int & >0
}
// What comes of it.
output: {
	title: strings.ToTitle(input.name)
	pods: [for number in [1, 2, 3] if number <= input.replicas {"\(input.name)-\(number)"}]
}
"#;

/// The result three times. The template is compiled once, and could be used for many inputs, in many threads.
pub(crate) fn run() -> Result<String, Diagnostics> {
    let template = Template::compile(&[Source::new("template.cue", TEMPLATE)])?;
    let given = serde_json::json!({"name": "web", "replicas": 2});
    let output = template.instantiate(&[Input::new("input", &given)]).root().lookup("output");

    let json = output.to_json()?;
    // Data keeps the order of fields, and every digit of numbers.
    let yaml = packages::yaml_marshal(&output.to_data()?).unwrap_or_default();
    let cue = format::format_file(&output.printed(Shown { defaults: true, ..Shown::default() }), "");
    Ok(format!("{json}\n---\n{yaml}---\n{cue}"))
}

fn main() -> Result<(), Diagnostics> {
    print!("{}", run()?);
    Ok(())
}
