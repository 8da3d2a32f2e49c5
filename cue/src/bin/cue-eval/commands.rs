//! A command and its arguments in; what it prints out.

use super::arguments::Arguments;
use super::failure::Failure;
use super::{embed, explain, fmt, inputs, modernize, read, tags, vet};
use vela_cue::packages::{Data, json_marshal_indented, yaml_marshal};
use vela_cue::source::Sources;
use vela_cue::value::Shown;
use vela_cue::{Diagnostics, Era, Source, Value, export, format, parser};

/// The fields that hold the expressions of `-e`.
const EXPRESSION_FIELD: &str = "_cueEvalExpression";

pub(crate) fn execute(arguments: &Arguments) -> Result<String, Failure> {
    match arguments.command.as_str() {
        "fmt" => fmt::run(arguments),
        "parse" => inputs::parsed(&sources(arguments)?).map(|_| String::new()),
        "modernize" => {
            let mut sources = sources(arguments)?;
            let (Some(source), true) = (sources.pop(), sources.is_empty()) else {
                return Err(Failure::Usage("modernize takes one file".into()));
            };
            let era = arguments.era.unwrap_or(Era::V0_9);
            modernize::run(
                source,
                &modernize::Options { era, samples: &arguments.samples, write: arguments.write },
            )
        }
        "openapi" => {
            let files = inputs::parsed(&sources(arguments)?)?;
            let field = arguments.expressions.first().map_or("parameter", String::as_str);
            let usage = export::openapi::DescriptionMarkers { before: "+usage=", behind: "+short" };
            Ok(format!("{:#}\n", export::openapi::schema_of_field(&files, field, Some(usage))))
        }
        "tree" => tree(arguments),
        "def" if arguments.out.as_deref().unwrap_or("cue") == "cue" && arguments.expressions.is_empty() => {
            definitions(arguments)
        }
        "vet" => {
            vet::run(evaluated_sources(arguments)?, arguments.concrete, arguments.budget)?;
            Ok(String::new())
        }
        "explain" => Ok(values(arguments)?.iter().map(explain::text).collect()),
        _ => printed(arguments),
    }
}

fn tree(arguments: &Arguments) -> Result<String, Failure> {
    match values(arguments) {
        Ok(values) => Ok(values.iter().map(|value| format!("{}\n", value.tree())).collect()),
        Err(Failure::Diagnostics(diagnostics)) => {
            Ok(format!("{}\n", serde_json::json!({"buildError": "build", "msg": diagnostics.to_string()})))
        }
        Err(other) => Err(other),
    }
}

/// `def`: what the files declare, in one file; the evaluated value where names of the files get in each other's way.
fn definitions(arguments: &Arguments) -> Result<String, Failure> {
    let value = values(arguments)?;
    if !arguments.ignore {
        value.iter().try_for_each(|value| value.validate(arguments.concrete == Some(true)))?;
    }
    let mut sources = sources(arguments)?;
    sources.retain(|source| !read::is_side_file(&source.name));
    match export::definition::consolidated(&inputs::parsed(&sources)?) {
        Some(file) if arguments.simplify => Ok(format::format_simplified(&file, "")),
        Some(file) => Ok(format::format_file(&file, "")),
        None => Ok(value.iter().map(|value| as_cue(value, arguments)).collect()),
    }
}

/// `export`, `eval` and `def`: one document for each expression.
fn printed(arguments: &Arguments) -> Result<String, Failure> {
    let exports = arguments.command == "export";
    let out = arguments.out.as_deref().unwrap_or(if exports { "json" } else { "cue" });
    let concrete = arguments.concrete == Some(true) || exports;
    let mut documents = Vec::new();
    for value in values(arguments)? {
        if !arguments.ignore {
            value.validate(concrete)?;
        }
        documents.push(match out {
            "json" => json_marshal_indented(&value.to_data()?, "    ")? + "\n",
            "yaml" => yaml_marshal(&value.to_data()?)?,
            "text" => text(&value)?,
            _ => as_cue(&value, arguments),
        });
    }
    Ok(documents.join(match out {
        "yaml" => "---\n",
        "cue" => "\n// ---\n",
        _ => "",
    }))
}

/// The values that `--out text` takes: a string, bytes or a number.
fn text(value: &Value) -> Result<String, Failure> {
    match value.to_data()? {
        Data::String(text) => Ok(text + "\n"),
        Data::Bytes(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned() + "\n"),
        number @ Data::Number { .. } => Ok(vela_cue::packages::json_marshal(&number)? + "\n"),
        _ => {
            Err(Failure::Message("--out text takes a string, bytes or a number; use -e to choose one".into()))
        }
    }
}

/// The value in the layout that the reference has for each of its commands.
fn as_cue(value: &Value, arguments: &Arguments) -> String {
    let text = |shown, simplify| {
        let file = value.printed(shown);
        if simplify { format::format_simplified(&file, "") } else { format::format_file(&file, "") }
    };
    match arguments.command.as_str() {
        "export" => text(Shown { defaults: true, docs: true, ..Shown::default() }, true),
        "eval" => {
            let shown = Shown {
                defaults: true,
                definitions: !arguments.concrete.unwrap_or(false),
                hidden: arguments.hidden && !arguments.concrete.unwrap_or(false),
                optional: arguments.optional && !arguments.concrete.unwrap_or(false),
                attributes: arguments.attributes,
                errors: arguments.ignore,
                docs: false,
            };
            text(shown, arguments.simplify).replace('\t', "    ")
        }
        _ => {
            let shown = Shown {
                definitions: true,
                hidden: true,
                optional: true,
                docs: true,
                attributes: true,
                ..Shown::default()
            };
            text(shown, arguments.simplify)
        }
    }
}

/// The inputs, read as the release did that they were written for.
fn sources(arguments: &Arguments) -> Result<Vec<Source>, Failure> {
    let sources = inputs::sources(&arguments.inputs)?;
    Ok(match arguments.era {
        Some(era) => sources.into_iter().map(|source| source.with_era(era)).collect(),
        None => sources,
    })
}

/// The inputs that make the value, with what they embed.
fn evaluated_sources(arguments: &Arguments) -> Result<Vec<Source>, Failure> {
    let mut sources = sources(arguments)?;
    sources.retain(|source| !read::is_side_file(&source.name));
    // As in the reference, files that are named one by one embed nothing: they need not be of a module.
    if arguments.inputs.iter().any(|input| inputs::folder(input).is_some()) {
        embed::fill(&mut sources)?;
    }
    Ok(sources)
}

/// The value of the inputs, or those of the expressions asked for.
fn values(arguments: &Arguments) -> Result<Vec<Value>, Failure> {
    let mut sources = evaluated_sources(arguments)?;
    if sources.is_empty() {
        return Err(Failure::Usage("no file to evaluate".into()));
    }
    tags::inject(&mut sources, &arguments.tags)?;
    if arguments.expressions.is_empty() {
        return Ok(vec![inputs::compiled(&sources, arguments.budget)?.instantiate(&[]).root()]);
    }
    // The expressions see the imports of the file they are added to.
    let at = sources.iter().position(|source| source.name.ends_with(".cue")).unwrap_or(0);
    let mut fields = Vec::new();
    for (index, expression) in arguments.expressions.iter().enumerate() {
        let source = Source::new("-e", expression.clone());
        if let Err(mistakes) = parser::parse_expr(&source, vela_cue::source::FileId(0)) {
            let mut all = Sources::default();
            all.add(source);
            return Err(Failure::Diagnostics(Diagnostics::new(mistakes, all)));
        }
        let field = format!("{EXPRESSION_FIELD}{index}");
        if let Some(source) = sources.get_mut(at) {
            source.text.push_str(&format!("\n{field}: ({expression})\n"));
        }
        fields.push(field);
    }
    let root = inputs::compiled(&sources, arguments.budget)?.instantiate(&[]).root();
    Ok(fields.iter().map(|field| root.lookup(field)).collect())
}
