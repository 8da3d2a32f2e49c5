//! A text written for an older release in; the same text for the newest one, with what was changed and a proof, out.
//!
//! Whether `+` joins lists can only be told by values: the text is evaluated in its era on samples, the operators that met
//! lists are noted, and exactly these are rewritten. Then both texts are evaluated on the same samples, each in its own
//! era, and every node of the results must be equal. The layout of the text stays as it is.

mod change;
mod edits;
mod find;
mod samples;

use serde_json::Value as Json;

use crate::{
    diagnostic::{Code, Diagnostic, Diagnostics},
    era::Era,
    input::Input,
    parser,
    provider::Provider,
    source::{Source, Sources, Span},
    template::Template,
};

pub use change::{Change, ChangeKind};
pub use samples::from_parameter;

/// Most samples that are evaluated for one text.
pub const MAX_SAMPLES: usize = 64;

/// Inputs for one evaluation: paths with their values, for instance `parameter` and `context`.
pub type Sample = Vec<(String, Json)>;

/// A rewritten text.
#[derive(Debug, Clone)]
pub struct Modernized {
    /// The text for the newest release.
    pub text: String,
    /// The changes, in the order of the text; empty when none was needed.
    pub changes: Vec<Change>,
    /// Samples on which both texts gave the same.
    pub proven: usize,
    /// `+` and `*` whose operands no sample made known (line and column): they are as they were.
    pub undecided: Vec<(usize, usize)>,
}

/// Why a text was not rewritten.
#[derive(Debug)]
pub enum Failure {
    /// The text given, or the text made of it, is broken.
    Broken(Diagnostics),
    /// The two texts differ on this sample.
    Differs {
        /// Index of the sample.
        sample: usize,
        /// Path of the first node that differs.
        path: String,
        /// The value of the given text there, and that of the new one.
        values: (Json, Json),
    },
}

/// Rewrites a source of an older era. `beside` are further files of its package (declarations such as `context: _`), and
/// `providers` what it imports.
///
/// # Errors
/// The text is broken before or after, or both texts give different values on a sample.
pub fn modernize(
    source: &Source,
    beside: &[Source],
    providers: &[&dyn Provider],
    samples: &[Sample],
) -> Result<Modernized, Failure> {
    let compile = |source: Source| {
        let mut all = vec![source];
        all.extend(beside.iter().cloned());
        Template::compile_with(&all, providers).map_err(Failure::Broken)
    };
    let mut sources = Sources::default();
    let id = sources.add(source.clone());
    let (mut file, mistakes) = parser::parse(source, id);
    if !mistakes.is_empty() {
        return Err(Failure::Broken(Diagnostics::new(mistakes, sources)));
    }
    let old = compile(source.clone())?;
    let samples = if samples.is_empty() { &[Sample::new()] } else { samples };
    let samples = &samples[..samples.len().min(MAX_SAMPLES)];
    let mut operators = Vec::new();
    let mut results = Vec::with_capacity(samples.len());
    for sample in samples {
        let (result, used) = evaluate(&old, sample);
        operators.extend(used);
        results.push(result);
    }
    let found = find::places(&mut file, source, &operators);
    let (text, changes) = edits::apply(&file, source, &sources, &found.places);
    let undecided = found.undecided.iter().map(|span| edits::line_column(&sources, *span)).collect();
    let new = compile(Source::new(source.name.clone(), text.clone()).with_era(Era::V0_17))?;
    for (at, (sample, before)) in samples.iter().zip(&results).enumerate() {
        let (after, _) = evaluate(&new, sample);
        if let Some((path, values)) = difference(before, &after) {
            return Err(Failure::Differs { sample: at, path, values });
        }
    }
    Ok(Modernized { text, changes, proven: samples.len(), undecided })
}

/// Everything known about the value of a sample, and where operators met lists.
fn evaluate(template: &Template, sample: &Sample) -> (Json, Vec<Span>) {
    let inputs: Vec<Input<'_>> = sample.iter().map(|(path, value)| Input::new(path, value)).collect();
    let instance = template.instantiate(&inputs);
    let mut tree = instance.root().tree();
    strip(&mut tree);
    (tree, instance.list_operators())
}

/// Texts of messages and of unfinished expressions quote the source, which may differ.
fn strip(tree: &mut Json) {
    match tree {
        Json::Object(fields) => {
            fields.remove("msg");
            fields.remove("constraint");
            fields.values_mut().for_each(strip);
        }
        Json::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// The first place where two trees differ.
fn difference(a: &Json, b: &Json) -> Option<(String, (Json, Json))> {
    fn walk(a: &Json, b: &Json, path: &str) -> Option<(String, (Json, Json))> {
        if a == b {
            return None;
        }
        let name = |node: &Json| node.get("name").and_then(Json::as_str).map(str::to_owned);
        match (a, b) {
            (Json::Object(x), Json::Object(y)) => {
                let here = name(a).map_or_else(|| path.to_owned(), |n| join(path, &n));
                // A parent repeats what is wrong below it: the deepest place tells most.
                x.iter()
                    .filter_map(|(key, left)| {
                        y.get(key).filter(|_| left.is_object() || left.is_array()).map(|r| (left, r))
                    })
                    .find_map(|(left, right)| walk(left, right, &here))
                    .or_else(|| Some((here, (a.clone(), b.clone()))))
            }
            (Json::Array(x), Json::Array(y)) if x.len() == y.len() => {
                x.iter().zip(y).find_map(|(left, right)| walk(left, right, path))
            }
            _ => Some((path.to_owned(), (a.clone(), b.clone()))),
        }
    }
    walk(a, b, "")
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

impl Failure {
    /// The failure as diagnostics.
    pub fn diagnostics(self, source: &Source) -> Diagnostics {
        match self {
            Self::Broken(diagnostics) => diagnostics,
            Self::Differs { sample, path, values: (before, after) } => {
                let text = format!(
                    "the rewritten text gives another value at {path} on sample {}: {before} before, {after} after",
                    sample + 1
                );
                let mut sources = Sources::default();
                let id = sources.add(source.clone());
                Diagnostics::new(vec![Diagnostic::new(Code::Eval, text, Span::new(id, 0, 0))], sources)
            }
        }
    }
}
