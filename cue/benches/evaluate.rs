//! Figures of the evaluator: time, allocations and peak memory of one call, and how they grow.
//!
//! `cargo bench -p vela-cue` prints them; docs/benchmarks.md records them. Where the real `cue` is (`CUE` in the
//! environment, or on the path) and `cue-eval` is given by `CUE_EVAL`, whole processes are compared too.

// A failed unwrap means that the benchmark itself is broken; an allocator that counts cannot be had without `unsafe`.
#![allow(clippy::unwrap_used, clippy::print_stdout, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde_json::{Value as Json, json};
use vela_cue::source::FileId;
use vela_cue::{Input, Source, Template, parser};

/// Counts what is asked of the system's allocator.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static HELD: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

fn taken(size: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    let held = HELD.fetch_add(size as u64, Ordering::Relaxed) + size as u64;
    PEAK.fetch_max(held, Ordering::Relaxed);
}

// SAFETY: every call goes to the system's allocator unchanged; the counters have no part in it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        taken(size);
        HELD.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Prints the best time of so many calls, and the allocations and the peak of one.
fn measure(name: &str, rounds: u32, mut work: impl FnMut()) {
    work();
    let (allocations, held) = (ALLOCATIONS.load(Ordering::Relaxed), HELD.load(Ordering::Relaxed));
    PEAK.store(held, Ordering::Relaxed);
    let mut best = f64::MAX;
    for _ in 0..rounds {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    let each = (ALLOCATIONS.load(Ordering::Relaxed) - allocations) / u64::from(rounds);
    let peak = (PEAK.load(Ordering::Relaxed) - held) as f64 / f64::from(1 << 20);
    println!("{name:<44} {:>10.3} ms {each:>10} allocations {peak:>9.2} MiB", best * 1e3);
}

fn compiled(text: &str) -> Template {
    Template::compile(&[Source::new("bench.cue", text)]).unwrap()
}

fn webservice() {
    let text = include_str!("webservice.cue");
    let health = include_str!("health.cue");
    let context = json!({"name": "web", "namespace": "default", "appName": "shop", "appRevision": "shop-v1"});
    let few = json!({"image": "nginx:1"});
    let all: Json = serde_json::from_str(include_str!("parameter.json")).unwrap();
    measure("parse webservice", 300, || {
        parser::parse(&Source::new("bench.cue", text), FileId(0));
    });
    measure("compile webservice", 300, || {
        compiled(text);
    });
    let template = compiled(text);
    for (name, parameter) in [("webservice, image only", &few), ("webservice, all parameters", &all)] {
        measure(name, 300, || {
            let inputs = [Input::new("parameter", parameter), Input::new("context", &context)];
            let root = template.instantiate(&inputs).root();
            root.lookup("output").to_json().unwrap();
            root.lookup("outputs").to_json().unwrap();
        });
    }
    let template = compiled(health);
    let observed = json!({"output": {"spec": {"replicas": 2}, "metadata": {"generation": 3},
        "status": {"readyReplicas": 2, "updatedReplicas": 2, "observedGeneration": 3}}});
    measure("health of webservice", 300, || {
        let root = template.instantiate(&[Input::new("context", &observed)]).root();
        assert_eq!(root.lookup("isHealth").as_bool(), Some(true));
    });
}

/// Programs that grow, each with the sizes it is measured at.
fn growing() -> Vec<(String, String)> {
    let mut out = Vec::new();
    for n in [1_000, 10_000, 100_000] {
        let range = format!("list.Range(0, {n}, 1)");
        let head = "import \"list\"\n";
        out.push((
            format!("list-loop-{n}"),
            format!("{head}x: [for i in {range} {{a: i, b: \"n\\(i)\"}}]\n"),
        ));
        out.push((
            format!("struct-loop-{n}"),
            format!("{head}x: {{for i in {range} {{\"k\\(i)\": v: i}}}}\n"),
        ));
        let fields: String = (0..n).map(|i| format!("f{i}: {{name: \"x{i}\"}}\n")).collect();
        out.push((
            format!("typed-fields-{n}"),
            format!("#T: {{name: string, n: int | *1}}\n[string]: #T\n{fields}"),
        ));
        let chain: String = (0..n).map(|i| format!("a{}: a{i}\n", i + 1)).collect();
        out.push((format!("reference-chain-{n}"), format!("a0: {{v: 1}}\n{chain}")));
        let items: Vec<String> = (0..n).map(|i: i32| i.to_string()).collect();
        out.push((format!("list-literal-{n}"), format!("x: [{}]\n", items.join(","))));
    }
    for n in [8, 10, 12] {
        let mut text = String::from("x: ");
        for i in 0..n {
            write!(text, "{}({{a{i}: 1}} | {{b{i}: 1}})", if i > 0 { " & " } else { "" }).unwrap();
        }
        out.push((format!("open-disjunctions-{n}"), text));
    }
    out
}

fn find(variable: &str, name: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Seconds of a whole process; `None` when it takes longer than anybody waits.
fn process(program: &Path, file: &Path) -> Option<f64> {
    const LONGEST: f64 = 60.0;
    let start = Instant::now();
    let mut child = Command::new(program)
        .arg("export")
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed().as_secs_f64() > LONGEST {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Some(start.elapsed().as_secs_f64())
}

fn processes(programs: &[(String, String)]) {
    let (Some(real), Some(own)) = (find("CUE", "cue"), find("CUE_EVAL", "cue-eval")) else {
        println!("whole processes: skipped, `cue` or `cue-eval` is absent");
        return;
    };
    let folder = std::env::temp_dir().join(format!("cue-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    println!("\nwhole process, `export`: cue-eval, cue, ratio");
    for (name, text) in programs {
        let file = folder.join(format!("{name}.cue"));
        std::fs::write(&file, text).unwrap();
        let shortest = |program: &Path| {
            let first = process(program, &file)?;
            if first > 1.0 { Some(first) } else { Some(process(program, &file)?.min(first)) }
        };
        let (a, b) = (shortest(&own).unwrap_or(f64::MAX), shortest(&real));
        match b {
            Some(b) => println!("{name:<44} {:>9.1} ms {:>10.1} ms {:>7.1}", a * 1e3, b * 1e3, b / a),
            None => println!("{name:<44} {:>9.1} ms    over a minute", a * 1e3),
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

fn main() {
    webservice();
    let programs = growing();
    for (name, text) in &programs {
        let template = compiled(text);
        measure(name, 3, || {
            let root = template.instantiate(&[]).root();
            // Open disjunctions are judged; they cannot be exported.
            if root.validate(true).is_ok() {
                root.to_data().unwrap();
            }
        });
    }
    processes(&programs);
}
