//! Rules in CUE and a YAML file in; every mistake of the file with its place, and what to do about it, out.
//!
//! `cargo run -p vela-cue --example validate`

use std::fmt::Write as _;

use vela_cue::{Diagnostics, Format, Source, Template};

const RULES: &str = r#"
#Server: {
	host:  string
	port:  int & >=1 & <=65535
	mode?: "http" | "https"
}
servers: [...#Server]
"#;

const DATA: &str = "\
servers:
- host: a.example.com
  port: 80
- host: b.example.com
  port: 70000
  prot: https
";

/// One line for each mistake. A program that wants more takes the labels of each diagnostic, which name all places that
/// disagree, or `Diagnostics::to_json`; people are shown `Diagnostics::render`.
pub(crate) fn run() -> Result<String, Diagnostics> {
    let rules = Source::new("rules.cue", RULES);
    let data = Source::new("servers.yaml", DATA).with_format(Format::Yaml);
    let Err(found) = Template::compile(&[rules, data])?.instantiate(&[]).root().validate(true) else {
        return Ok("all is well\n".to_owned());
    };
    let mut out = String::new();
    for mistake in found.iter() {
        let (file, line, column) = found.position(mistake).unwrap_or_default();
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{file}:{line}:{column}: {} ({})", mistake.title(), mistake.code);
        if let Some(hint) = &mistake.hint {
            let _ = writeln!(out, "  {hint}");
        }
    }
    Ok(out)
}

fn main() -> Result<(), Diagnostics> {
    print!("{}", run()?);
    Ok(())
}
