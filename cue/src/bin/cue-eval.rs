//! CUE files in; formatted text and diagnostics out: the door through which conformance cases are run.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

<<<<<<< HEAD
use vela_cue::{Diagnostics, Source, Sources, Template, format, packages, parser};
=======
use vela_cue::{Diagnostics, Source, Sources, export, format, parser};
>>>>>>> 7470c5f (Show a parameter as an OpenAPI schema, so that forms and admission need no CUE)

const USAGE: &str = "usage: cue-eval export|eval|def|vet|tree|parse|fmt [--out json|yaml|cue] [-e EXPR] [--diagnostics text|json] FILE...";

struct Arguments {
    command: String,
    json_diagnostics: bool,
    files: Vec<String>,
}

fn main() -> ExitCode {
    // Evaluation recurses with the program; a roomy stack keeps deep but legal programs from ending the process.
    let worker = std::thread::Builder::new().stack_size(256 << 20).spawn(run);
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        _ => ExitCode::from(2),
    }
}

fn run() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("cue-eval: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match execute(&arguments) {
        Ok(text) => {
            let mut out = std::io::stdout().lock();
            if out.write_all(text.as_bytes()).is_err() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(Failure::Diagnostics(diagnostics)) => {
            if arguments.json_diagnostics {
                eprintln!("{}", diagnostics.to_json());
            } else {
                eprint!("{}", diagnostics.render(false));
            }
            ExitCode::FAILURE
        }
        Err(Failure::Message(message)) => {
            eprintln!("cue-eval: {message}");
            ExitCode::FAILURE
        }
    }
}

enum Failure {
    Diagnostics(Diagnostics),
    Message(String),
}

fn arguments() -> Result<Arguments, String> {
    let mut given = std::env::args().skip(1);
    let command = given.next().ok_or("no command given")?;
    let mut arguments = Arguments { command, json_diagnostics: false, files: Vec::new() };
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "--out" => {
                given.next();
            }
            "--diagnostics" => match given.next().as_deref() {
                Some("json") => arguments.json_diagnostics = true,
                Some("text") => arguments.json_diagnostics = false,
                _ => return Err("--diagnostics takes text or json".into()),
            },
            _ => arguments.files.push(argument),
        }
    }
    if arguments.files.is_empty() {
        return Err("no file given".into());
    }
    Ok(arguments)
}

fn execute(arguments: &Arguments) -> Result<String, Failure> {
    let sources = read(&arguments.files)?;
    match arguments.command.as_str() {
        "parse" | "fmt" => {
            let mut all = Sources::default();
            let mut mistakes = Vec::new();
            let mut text = String::new();
            for source in sources {
                let id = all.add(source.clone());
                let (file, found) = parser::parse(&source, id);
                if found.is_empty() && arguments.command == "fmt" {
                    text.push_str(&format::format_file(&file, &source.text));
                }
                mistakes.extend(found);
            }
            if mistakes.is_empty() {
                Ok(text)
            } else {
                Err(Failure::Diagnostics(Diagnostics::new(mistakes, all)))
            }
        }
<<<<<<< HEAD
        "export" => {
            let template = Template::compile(&sources).map_err(Failure::Diagnostics)?;
            let data = template.instantiate(&[]).root().to_data().map_err(Failure::Diagnostics)?;
            packages::json_marshal(&data).map(|t| t + "\n").map_err(|e| Failure::Message(format!("{e:?}")))
        }
        "tree" => match Template::compile(&sources) {
            Ok(template) => Ok(template.instantiate(&[]).root().tree().to_string() + "\n"),
            Err(diagnostics) => {
                Ok(serde_json::json!({"buildError": diagnostics.to_string()}).to_string() + "\n")
            }
        },
=======
        "openapi" => {
            let mut all = Sources::default();
            let (mut files, mut mistakes) = (Vec::new(), Vec::new());
            for source in sources {
                let id = all.add(source.clone());
                let (file, found) = parser::parse(&source, id);
                files.push(file);
                mistakes.extend(found);
            }
            if !mistakes.is_empty() {
                return Err(Failure::Diagnostics(Diagnostics::new(mistakes, all)));
            }
            match export::openapi::schema_of_field(&files, "parameter") {
                Some(schema) => Ok(format!("{schema:#}\n")),
                None => Err(Failure::Message("there is no field \"parameter\"".into())),
            }
        }
>>>>>>> 7470c5f (Show a parameter as an OpenAPI schema, so that forms and admission need no CUE)
        other => Err(Failure::Message(format!("unknown command {other}\n{USAGE}"))),
    }
}

fn read(files: &[String]) -> Result<Vec<Source>, Failure> {
    files
        .iter()
        .map(|name| {
            let mut bytes = Vec::new();
            let result = if name == "-" {
                std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
            } else {
                std::fs::read(name).map(|content| bytes = content)
            };
            result.map_err(|e| Failure::Message(format!("cannot read {name}: {e}")))?;
            let text = String::from_utf8(bytes).map_err(|e| {
                let at = e.utf8_error().valid_up_to();
                Failure::Message(format!("{name} is not valid UTF-8 (first wrong byte at offset {at})"))
            })?;
            Ok(Source::new(name.clone(), text))
        })
        .collect()
}
