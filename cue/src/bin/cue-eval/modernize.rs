//! A definition of an older era in; its text for the newest release and what was proven of it out.

use serde_json::{Value as Json, json};
use vela_cue::{
    Era, Source, Template,
    modernize::{ChangeKind, Modernized, Sample, from_parameter, modernize},
};

use super::failure::Failure;

/// The names that templates use without declaring them.
const SURROUNDINGS: &str = "context: _\nparameter: _\n";

/// Options of the command.
pub(crate) struct Options<'a> {
    /// The era the file was written for.
    pub(crate) era: Era,
    /// Files with values for `parameter`; without any, they are made from its declaration.
    pub(crate) samples: &'a [String],
    /// Whether the file is overwritten.
    pub(crate) write: bool,
}

/// Rewrites one file; the new text is the result, the changes go to standard error.
pub(crate) fn run(source: Source, options: &Options<'_>) -> Result<String, Failure> {
    let source = source.with_era(options.era);
    let beside = [Source::new("surroundings", SURROUNDINGS)];
    let template = Template::compile_with(std::slice::from_ref(&source), &[]);
    // A file that declares its context itself stands alone.
    let beside = if template.is_ok() { &[] } else { &beside[..] };
    let samples = samples(&source, beside, options.samples)?;
    let made = modernize(&source, beside, &[], &samples)
        .map_err(|failure| Failure::Diagnostics(failure.diagnostics(&source)))?;
    report(&source.name, &made);
    if options.write {
        std::fs::write(&source.name, &made.text)
            .map_err(|e| Failure::Message(format!("cannot write {}: {e}", source.name)))?;
        return Ok(String::new());
    }
    Ok(made.text)
}

fn samples(source: &Source, beside: &[Source], files: &[String]) -> Result<Vec<Sample>, Failure> {
    let mut parameters = Vec::new();
    for name in files {
        let text = std::fs::read_to_string(name)
            .map_err(|e| Failure::Message(format!("cannot read {name}: {e}")))?;
        let value: Json = serde_json::from_str(&text)
            .map_err(|e| Failure::Message(format!("{name}:{}:{}: {e}", e.line(), e.column())))?;
        parameters.push(value);
    }
    let mut all = vec![source.clone()];
    all.extend(beside.iter().cloned());
    let root = Template::compile(&all)?.instantiate(&[]).root();
    // A file may hold its template in a field beside what describes it.
    let within = if root.lookup("template.parameter").exists() { "template.parameter" } else { "parameter" };
    if parameters.is_empty() {
        parameters = from_parameter(&root.lookup(within));
    }
    let context = json!({
        "name": "sample", "namespace": "default", "appName": "sample", "appRevision": "sample-v1",
        "appRevisionNum": 1, "revision": "sample-v1",
    });
    Ok(parameters
        .into_iter()
        .map(|parameter| vec![(within.to_owned(), parameter), ("context".to_owned(), context.clone())])
        .collect())
}

fn report(name: &str, made: &Modernized) {
    for change in &made.changes {
        let what = match change.kind {
            ChangeKind::Concat => "addition of lists",
            ChangeKind::Repeat => "multiplication of a list",
            ChangeKind::Division => "infix division",
            ChangeKind::SingleNumber => "bounds that leave one number",
            ChangeKind::Guard => "guard instead of a bound",
            ChangeKind::Import => "import",
        };
        let before = if change.before.is_empty() { String::new() } else { format!("{} -> ", change.before) };
        eprintln!("{name}:{}:{}: {what}: {before}{}", change.line, change.column, change.after);
    }
    for (line, column) in &made.undecided {
        eprintln!(
            "{name}:{line}:{column}: left as it is: no sample shows whether this works on lists; give one with --sample"
        );
    }
    eprintln!("{name}: {} changes; both texts give the same on {} samples", made.changes.len(), made.proven);
}
