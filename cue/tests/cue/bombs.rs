//! Programs that are written to exhaust their evaluator: each archive in `bombs/` is one, with its expected message.
//!
//! Each runs in a process of its own under a hard limit of memory, so that one that its budget does not stop ends here and
//! takes no other test along. `«N×text»` in an archive stands for the text N times, in which `#` is the number of the
//! time, from 0, and `$` the next one. `UPDATE=1` writes anew what is told; the difference is read before it is committed.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fmt::Write as _, fs};

use vela_testkit::{Archive, golden};

/// What an evaluation may take.
const BUDGET: [&str; 2] = ["--memory=32MB", "--steps=1000000"];
const BUDGET_KIB: usize = 32 << 10;

/// What the process may take: twice the budget, its program, and the stack that it reserves.
const PROCESS_KIB: usize = 2 * BUDGET_KIB + (160 << 10);

/// What a process takes that evaluates nothing.
const IDLE_KIB: usize = 24 << 10;

/// More than any bomb takes on a slow machine without optimization.
const PATIENCE: Duration = Duration::from_secs(900);

/// Diagnostics of one bomb that are kept.
const SHOWN_AT_MOST: usize = 3;

/// Writes out what stands for a repetition.
fn written_out(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, more)) = rest.split_once('«') {
        out.push_str(before);
        let (repetition, after) = more.split_once('»').expect("a repetition ends");
        let (times, unit) = repetition.split_once('×').expect("a repetition has a number");
        for at in 0..times.parse().expect("a number") {
            let (this, next): (usize, usize) = (at, at + 1);
            out.push_str(&unit.replace('#', &this.to_string()).replace('$', &next.to_string()));
        }
        rest = after;
    }
    out + rest
}

/// What a process said, and the most memory it had at a time.
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    peak_kib: usize,
}

fn evaluate(command: &str, file: &Path) -> Ended {
    let script = format!("ulimit -v {PROCESS_KIB} && exec \"$0\" \"$@\"");
    let mut child = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_cue-eval"), command, "--json"])
        .args(BUDGET)
        .arg(file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    let (mut stdout, mut stderr) =
        (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
    let read = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = stdout.read_to_string(&mut text);
        text
    });
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = stderr.read_to_string(&mut text);
        text
    });
    let (until, mut peak_kib) = (Instant::now() + PATIENCE, 0);
    let code = loop {
        peak_kib = peak_kib.max(peak(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait().expect("a status") {
            break status.code();
        }
        if Instant::now() > until {
            let _ = child.kill();
            panic!("{} did not end", file.display());
        }
        // The kernel keeps the peak; it is only read before the process is gone.
        std::thread::sleep(Duration::from_millis(2));
    };
    Ended { code, stdout: read.join().expect("read"), stderr: errors.join().expect("read"), peak_kib }
}

/// The most memory that a process had, where the kernel tells.
fn peak(process: u32) -> Option<usize> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

/// `line:column code path: message` of each, or that there is a value.
fn summary(name: &str, ended: &Ended) -> String {
    if ended.code == Some(0) {
        return "a value\n".to_owned();
    }
    let Ok(found) = serde_json::from_str::<serde_json::Value>(&ended.stderr) else {
        // It was ended by the limit, or by a panic: no message was printed.
        return format!(
            "{name} ended with {:?} and {} bytes: {:.400}\n",
            ended.code,
            ended.stdout.len(),
            ended.stderr
        );
    };
    let mut out = String::new();
    for item in found["diagnostics"].as_array().expect("diagnostics").iter().take(SHOWN_AT_MOST) {
        let place = &item["places"][0];
        let text = |key: &str| item[key].as_str().unwrap_or_default();
        let (line, column) = (&place["line"], &place["column"]);
        let message: String = text("message").chars().take(120).collect();
        writeln!(out, "{line}:{column} {} {}: {message}", text("code"), text("path")).expect("writes");
    }
    out
}

#[test]
#[cfg(target_os = "linux")]
fn bombs_end_within_their_memory_and_say_where() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bombs");
    let scratch = std::env::temp_dir().join(format!("cue-bombs-{}", std::process::id()));
    fs::create_dir_all(&scratch).expect("a folder");
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("the folder of bombs").map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    let mut wrong = String::new();
    for path in &paths {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let mut archive = Archive::parse(&fs::read_to_string(path).expect("a readable archive"));
        let file = scratch.join("in.cue");
        fs::write(&file, written_out(archive.get("in.cue").expect("a program"))).expect("writes");
        let ended = evaluate("export", &file);
        if ended.peak_kib > IDLE_KIB + 2 * BUDGET_KIB {
            writeln!(wrong, "{name} took {} KiB", ended.peak_kib).expect("writes");
        }
        let summary = summary(&name, &ended);
        if summary.contains("null:null") || !matches!(ended.code, Some(0 | 1)) {
            writeln!(wrong, "{name} has no place: {summary}").expect("writes");
        }
        archive.set("told", summary);
        golden(path, &archive.to_string());
    }
    fs::remove_dir_all(&scratch).expect("removed");
    assert!(paths.len() > 50, "only {} bombs", paths.len());
    assert!(wrong.is_empty(), "{wrong}");
}
