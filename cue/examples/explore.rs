//! A value in; its fields step by step, with what is said about them and where each came from, out.
//!
//! `cargo run -p vela-cue --example explore`

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use vela_cue::input::{Place, Segment};
use vela_cue::number::Decimal;
use vela_cue::packages::Data;
use vela_cue::value::{FieldOptions, OriginKind};
use vela_cue::{Diagnostics, Input, Kind, Source, Template, Value};

const TEMPLATE: &str = r#"
// Where it listens.
// +short=p
port: *80 | int
// How many it serves.
limit?: int
price: 1.10
url:   "http://localhost:\(port)"
"#;

/// Fields with their comments, exact numbers, and the places that made a value.
pub(crate) fn run() -> Result<String, Diagnostics> {
    let template = Template::compile(&[Source::new("service.cue", TEMPLATE)])?;
    let mut out = String::new();

    // Nothing is evaluated before it is asked for, and what is not there is a value, too. Writing into a string cannot fail.
    let root = template.instantiate(&[]).root();
    for field in root.fields(FieldOptions { optional: true, ..FieldOptions::default() }) {
        let comments = field.value.comments();
        let _ = writeln!(out, "{} {:?} {:?} {:?}", field.name, field.kind, comments.doc, comments.markers);
    }
    assert_eq!(root.lookup("no.such.field").kind(), Kind::Bottom);

    let price = exact(&root.lookup("price"))?.unwrap_or(Decimal::ZERO);
    let _ = writeln!(out, "the price is {}", price.to_plain());
    let _ = writeln!(out, "{}", provenance(&root.lookup("url")));

    // The reader of a file can tell where its values stand.
    let file = Arc::new(Source::new("settings.yaml", "port: 8080\n"));
    let places = BTreeMap::from([(Vec::<Segment>::new(), Place { source: file, line: 1, column: 7 })]);
    let given = serde_json::json!(8080);
    let root = template.instantiate(&[Input::new("port", &given).with_positions(Arc::new(places))]).root();
    let _ = writeln!(out, "{}", provenance(&root.lookup("url")));
    Ok(out)
}

/// A number with every digit that was written; a float would be 1.1.
fn exact(value: &Value) -> Result<Option<Decimal>, Diagnostics> {
    Ok(match value.to_data()? {
        Data::Number { value, .. } => Some(value),
        _ => None,
    })
}

/// The value, and the data that its text was computed with.
fn provenance(value: &Value) -> String {
    let mut out = format!("{} comes of", value.as_str().unwrap_or_default());
    // The sources of inputs are known once the origins have been asked for.
    let (origins, sources) = (value.origins(), value.sources());
    for origin in origins {
        let (OriginKind::Default | OriginKind::Input) = origin.kind else { continue };
        let (file, line, column) = sources.position(origin.span).unwrap_or_default();
        let (kind, text) = (origin.kind.as_str(), sources.text(origin.span));
        let _ = write!(out, " the {kind} {text} in {file}:{line}:{column}");
    }
    out
}

fn main() -> Result<(), Diagnostics> {
    print!("{}", run()?);
    Ok(())
}
