//! CUE files in; values, formatted text and diagnostics out: the door through which conformance cases are run.

#[path = "cue-eval/batch.rs"]
mod batch;
#[path = "cue-eval/explain.rs"]
mod explain;
#[path = "cue-eval/imports.rs"]
mod imports;
#[path = "cue-eval/modernize.rs"]
mod modernize;
#[path = "cue-eval/read.rs"]
mod read;
#[path = "cue-eval/vet.rs"]
mod vet;

use std::io::Write as _;
use std::process::ExitCode;

use batch::Outcome;
use vela_cue::packages::{Failure as DataFailure, json_marshal_indented, yaml_marshal};
use vela_cue::{
    Diagnostics, Era, Provider, Source, Sources, Template, UnknownEra, Value, data_file, export, format,
};

const USAGE: &str =
    "usage: cue-eval COMMAND [--out json|yaml|cue] [-e EXPR] [-c] [--json] [--era 0.2|0.9|0.17] FILE...
commands:
  export   the concrete value, as JSON by default
  eval     the value as CUE, incomplete parts included
  def      the same as eval
  vet      check the files and tell all that is wrong (--json: as JSON); data files are checked one by one against the CUE
           files and must be complete; without them -c asks for completeness and -c=false for none
  explain  every value with the places that made it
  tree     everything known about every node, as JSON
  openapi  the OpenAPI schema of the field `parameter`
  parse    check the syntax only
  fmt      print the formatted text
  modernize  rewrite a file written for an older release (--era, 0.9 by default) for the newest one, and prove that both
           give the same on samples (--sample FILE.json, or made from `parameter`); -w overwrites the file
  batch    commands from standard input, one JSON object a line, answered the same way
FILE is a .cue, .json, .yaml, .yml or .toml file, or - for standard input; `cue:`, `json:`, `yaml:` or `toml:` before files\nsays how they are written, whatever their names";

/// The field that holds the expression of `-e`.
const EXPRESSION_FIELD: &str = "_cueEvalExpression";

#[derive(Default)]
struct Arguments {
    command: String,
    out: Option<String>,
    expression: Option<String>,
    /// `-c`, `-c=false` or neither.
    concrete: Option<bool>,
    era: Option<Era>,
    samples: Vec<String>,
    write: bool,
    json_diagnostics: bool,
    files: Vec<String>,
}

enum Failure {
    Diagnostics(Diagnostics),
    Message(String),
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Diagnostics(diagnostics)
    }
}

impl From<DataFailure> for Failure {
    fn from(failure: DataFailure) -> Self {
        Self::Message(match failure {
            DataFailure::Error(message) | DataFailure::Budget(message) => message,
            DataFailure::Incomplete(_) => "value is incomplete".into(),
        })
    }
}

fn main() -> ExitCode {
    // Evaluation recurses with the program; a roomy stack keeps deep but legal programs from ending the process.
    let worker = std::thread::Builder::new().stack_size(64 << 20).spawn(run);
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        _ => ExitCode::from(2),
    }
}

fn run() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    if given == ["batch"] {
        return match batch::serve(answer) {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => {
                eprintln!("cue-eval: {message}");
                ExitCode::from(2)
            }
        };
    }
    let Outcome { code, stdout, stderr } = answer(given);
    eprint!("{stderr}");
    // Who does not read the value is told by the exit code.
    if std::io::stdout().lock().write_all(stdout.as_bytes()).is_err() {
        return ExitCode::FAILURE;
    }
    ExitCode::from(code)
}

/// One command: what it prints and the code it ends with.
fn answer(given: Vec<String>) -> Outcome {
    let refused = |code, stderr| Outcome { code, stdout: String::new(), stderr };
    let arguments = match arguments(given) {
        Ok(arguments) => arguments,
        Err(message) => return refused(1, format!("cue-eval: {message}\n{USAGE}\n")),
    };
    match execute(&arguments) {
        Ok(stdout) => Outcome { code: 0, stdout, stderr: String::new() },
        Err(Failure::Diagnostics(diagnostics)) if arguments.json_diagnostics => {
            refused(1, format!("{}\n", diagnostics.to_json()))
        }
        Err(Failure::Diagnostics(diagnostics)) => refused(1, diagnostics.render(false)),
        Err(Failure::Message(message)) => refused(1, format!("cue-eval: {message}\n")),
    }
}

fn arguments(given: Vec<String>) -> Result<Arguments, String> {
    let mut given = given.into_iter();
    let command = given.next().ok_or("no command given")?;
    let mut arguments = Arguments { command, ..Arguments::default() };
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "--diagnostics" => match given.next().as_deref() {
                Some("json") => arguments.json_diagnostics = true,
                Some("text") => arguments.json_diagnostics = false,
                _ => return Err("--diagnostics takes text or json".into()),
            },
            "--out" => match given.next() {
                Some(out) if matches!(out.as_str(), "json" | "yaml" | "cue") => arguments.out = Some(out),
                _ => return Err("--out takes json, yaml or cue".into()),
            },
            "-e" => arguments.expression = Some(given.next().ok_or("-e takes an expression")?),
            "-c" | "-c=true" => arguments.concrete = Some(true),
            "-c=false" => arguments.concrete = Some(false),
            "--json" => arguments.json_diagnostics = true,
            "-w" => arguments.write = true,
            "--sample" => arguments.samples.push(given.next().ok_or("--sample takes a JSON file")?),
            "--era" => {
                let era = given.next().ok_or("--era takes 0.2, 0.9 or 0.17")?;
                arguments.era = Some(era.parse().map_err(|e: UnknownEra| e.to_string())?);
            }
            option if option.starts_with('-') && option.len() > 1 => {
                return Err(format!("unknown option {option}"));
            }
            _ => arguments.files.push(argument),
        }
    }
    if arguments.files.is_empty() {
        return Err("no file given".into());
    }
    Ok(arguments)
}

fn execute(arguments: &Arguments) -> Result<String, Failure> {
    let mut sources = read::all(&arguments.files)?;
    if let Some(era) = arguments.era {
        sources = sources.into_iter().map(|source| source.with_era(era)).collect();
    }
    match arguments.command.as_str() {
        "modernize" => {
            let (Some(source), true) = (sources.pop(), sources.is_empty()) else {
                return Err(Failure::Message("modernize takes one file".into()));
            };
            let era = arguments.era.unwrap_or(Era::V0_9);
            modernize::run(
                source,
                &modernize::Options { era, samples: &arguments.samples, write: arguments.write },
            )
        }
        "parse" => parsed(&sources).map(|_| String::new()),
        "fmt" => {
            let files = parsed(&sources)?;
            Ok(files
                .iter()
                .zip(&sources)
                .map(|(file, source)| format::format_file(file, &source.text))
                .collect())
        }
        "openapi" => Ok(format!("{:#}\n", export::openapi::schema_of_field(&parsed(&sources)?, "parameter"))),
        "export" => {
            let value = value(sources, arguments)?;
            match arguments.out.as_deref() {
                Some("yaml") => Ok(yaml_marshal(&value.to_data()?)?),
                Some("cue") => {
                    value.validate(true)?;
                    Ok(as_cue(&value))
                }
                _ => Ok(json_marshal_indented(&value.to_data()?, "    ")? + "\n"),
            }
        }
        "eval" | "def" => {
            let value = value(sources, arguments)?;
            value.validate(arguments.concrete == Some(true))?;
            match arguments.out.as_deref() {
                Some("json") => Ok(json_marshal_indented(&value.to_data()?, "    ")? + "\n"),
                Some("yaml") => Ok(yaml_marshal(&value.to_data()?)?),
                _ => Ok(as_cue(&value)),
            }
        }
        "vet" => {
            vet::run(sources, arguments.concrete)?;
            Ok(String::new())
        }
        "explain" => Ok(explain::text(&value(sources, arguments)?)),
        "tree" => Ok(match value(sources, arguments) {
            Ok(value) => format!("{}\n", value.tree()),
            Err(Failure::Diagnostics(diagnostics)) => {
                format!("{}\n", serde_json::json!({"buildError": "build", "msg": diagnostics.to_string()}))
            }
            Err(other) => return Err(other),
        }),
        other => Err(Failure::Message(format!("unknown command {other}\n{USAGE}"))),
    }
}

fn parsed(sources: &[Source]) -> Result<Vec<vela_cue::ast::File>, Failure> {
    let mut all = Sources::default();
    let (mut files, mut mistakes) = (Vec::new(), Vec::new());
    for source in sources {
        let id = all.add(source.clone());
        let (file, found) = data_file::parse(source, id);
        files.push(file);
        mistakes.extend(found);
    }
    if mistakes.is_empty() { Ok(files) } else { Err(Failure::Diagnostics(Diagnostics::new(mistakes, all))) }
}

/// Files for commands and tests are no part of the package's value.
fn is_side_file(name: &str) -> bool {
    name.ends_with("_tool.cue") || name.ends_with("_test.cue")
}

fn value(mut sources: Vec<Source>, arguments: &Arguments) -> Result<Value, Failure> {
    sources.retain(|source| !is_side_file(&source.name));
    let Some(expression) = &arguments.expression else {
        return Ok(compiled(&sources)?.instantiate(&[]).root());
    };
    // The expression sees the imports of the file it is added to.
    let at = sources.iter().position(|s| s.name.ends_with(".cue")).unwrap_or(0);
    if let Some(source) = sources.get_mut(at) {
        source.text.push_str(&format!("\n{EXPRESSION_FIELD}: ({expression})\n"));
    }
    Ok(compiled(&sources)?.instantiate(&[]).root().lookup(EXPRESSION_FIELD))
}

/// The package with what it imports from the surrounding module.
fn compiled(sources: &[Source]) -> Result<Template, Diagnostics> {
    let packages = imports::load(sources);
    let packages: Vec<&dyn Provider> = packages.iter().map(|package| package as &dyn Provider).collect();
    Template::compile_with(sources, &packages)
}

fn as_cue(value: &Value) -> String {
    let syntax = value.syntax();
    match &syntax.kind {
        vela_cue::ast::ExprKind::Struct(literal) => format::format_struct_as_file(literal),
        _ => format::format_expr(&syntax) + "\n",
    }
}
