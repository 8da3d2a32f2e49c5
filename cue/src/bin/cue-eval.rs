//! CUE files in; values, formatted text and diagnostics out: the door through which conformance cases are run.

#[path = "cue-eval/arguments.rs"]
mod arguments;
#[path = "cue-eval/batch.rs"]
mod batch;
#[path = "cue-eval/commands.rs"]
mod commands;
#[path = "cue-eval/diff.rs"]
mod diff;
#[path = "cue-eval/embed.rs"]
mod embed;
#[path = "cue-eval/embedded_file.rs"]
mod embedded_file;
#[path = "cue-eval/explain.rs"]
mod explain;
#[path = "cue-eval/failure.rs"]
mod failure;
#[path = "cue-eval/fmt.rs"]
mod fmt;
#[path = "cue-eval/imports.rs"]
mod imports;
#[path = "cue-eval/inputs.rs"]
mod inputs;
#[path = "cue-eval/modernize.rs"]
mod modernize;
#[path = "cue-eval/module.rs"]
mod module;
#[path = "cue-eval/read.rs"]
mod read;
#[path = "cue-eval/tags.rs"]
mod tags;
#[path = "cue-eval/vet.rs"]
mod vet;

use std::io::Write as _;
use std::process::ExitCode;

use arguments::{Arguments, USAGE};
use batch::Outcome;
use failure::Failure;

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
    // The exit code tells callers that do not read the value.
    if std::io::stdout().lock().write_all(stdout.as_bytes()).is_err() {
        return ExitCode::FAILURE;
    }
    ExitCode::from(code)
}

/// One command: what it prints and the code it ends with.
fn answer(given: Vec<String>) -> Outcome {
    let refused = |code, stderr| Outcome { code, stdout: String::new(), stderr };
    if matches!(given.first().map(String::as_str), Some("help" | "--help" | "-h"))
        || given.iter().any(|word| word == "--help" || word == "-h")
    {
        return Outcome { code: 0, stdout: format!("{USAGE}\n"), stderr: String::new() };
    }
    let usage =
        |message: &str| format!("cue-eval: {message}\nRun cue-eval help for the commands and options.\n");
    let arguments = match Arguments::read(given) {
        Ok(arguments) => arguments,
        Err(message) => return refused(1, usage(&message)),
    };
    match commands::execute(&arguments) {
        Ok(stdout) => Outcome { code: 0, stdout, stderr: String::new() },
        Err(Failure::Diagnostics(diagnostics)) if arguments.json_diagnostics => {
            refused(1, format!("{}\n", diagnostics.to_json()))
        }
        Err(Failure::Diagnostics(diagnostics)) => refused(1, diagnostics.render(false)),
        Err(Failure::Message(message)) => refused(1, format!("cue-eval: {message}\n")),
        Err(Failure::Usage(message)) => refused(1, usage(&message)),
        Err(Failure::Printed(stdout)) => Outcome { code: 1, stdout, stderr: String::new() },
    }
}
