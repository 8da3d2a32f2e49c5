//! Answers requests for definition cases, one JSON object a line.
//!
//! The same lines as `cue-eval batch` takes, with a kind and a folder as arguments.

use std::io::{BufRead as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::definition;

/// Evaluation recurses with the program.
const STACK: usize = 64 << 20;

#[derive(serde::Deserialize)]
struct Request {
    directory: String,
    arguments: Vec<String>,
}

/// Answers until the input ends.
pub(crate) fn serve() -> Result<(), String> {
    let worker =
        std::thread::Builder::new().stack_size(STACK).spawn(answer_all).map_err(|e| e.to_string())?;
    worker.join().map_err(|_| "the batch panicked".to_owned())?
}

fn answer_all() -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|e| e.to_string())?;
        let request: Request = serde_json::from_str(&line).map_err(|e| format!("a request: {e}"))?;
        writeln!(out, "{}", answer(&request)).and_then(|()| out.flush()).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn answer(request: &Request) -> serde_json::Value {
    let [kind, folder] = request.arguments.as_slice() else {
        return serde_json::json!({ "code": 2, "stdout": "", "stderr": "expected KIND FOLDER" });
    };
    let folder = Path::new(&request.directory).join(folder);
    let (code, stdout, stderr) = match catch_unwind(AssertUnwindSafe(|| definition::result(kind, &folder))) {
        Ok(Ok(stdout)) => (0, stdout, String::new()),
        Ok(Err(stderr)) => (1, String::new(), stderr),
        Err(_) => (101, String::new(), "panicked".to_owned()),
    };
    serde_json::json!({ "code": code, "stdout": stdout, "stderr": stderr })
}
