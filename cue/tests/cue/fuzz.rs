//! The committed inputs of every fuzz target, among them all that once showed a mistake: none may show one again.

use std::path::Path;

#[path = "../../fuzz/targets.rs"]
mod targets;

/// The stack the fuzz runner gives: what recurses deeper has to ask for more by itself.
const STACK: usize = 8 << 20;

#[test]
fn committed_inputs_neither_panic_nor_overflow_the_stack() {
    let mut count = 0;
    for target in targets::TARGETS {
        for folder in ["corpus", "regressions"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(folder).join(target);
            for entry in std::fs::read_dir(folder).into_iter().flatten() {
                let path = entry.expect("an entry").path();
                let input = std::fs::read(&path).expect("a readable input");
                let worker = std::thread::Builder::new().stack_size(STACK);
                let run = worker.spawn(move || targets::run(target, &input)).expect("a thread");
                assert!(run.join().is_ok(), "{target} panics on {}", path.display());
                count += 1;
            }
        }
    }
    assert!(count > 40, "only {count} inputs found");
}

#[test]
fn nesting_of_a_hundred_thousand_is_refused_early() {
    const DEPTH: usize = 100_000;
    let nested =
        |open: &str, close: &str| format!("a: {}1{}", open.repeat(DEPTH), close.repeat(DEPTH)).into_bytes();
    let inputs: Vec<(&str, Vec<u8>)> = vec![
        ("evaluate", nested("{b: ", "}")),
        ("evaluate", nested("[", "]")),
        ("evaluate", nested("(", ")")),
        ("evaluate", nested("-", "")),
        ("evaluate", nested("1+", "")),
        ("evaluate", nested("b: ", "")),
        ("evaluate", nested("if true {b: ", "}")),
        ("evaluate", nested("\"\\(", ")\"")),
        ("evaluate", nested("len(", ")")),
        ("evaluate", nested("*", "")),
        ("evaluate", nested("1 | ", "")),
        ("evaluate", nested("1 & ", "")),
        ("evaluate", format!("a: x{}", ".b".repeat(DEPTH)).into_bytes()),
        ("evaluate", format!("a: x{}", "[0]".repeat(DEPTH)).into_bytes()),
        ("json", [b"[".repeat(DEPTH), b"]".repeat(DEPTH)].concat()),
        ("json", [b"{\"a\":".repeat(DEPTH), b"1".to_vec(), b"}".repeat(DEPTH)].concat()),
        ("yaml", [b"[".repeat(DEPTH), b"]".repeat(DEPTH)].concat()),
        ("yaml", b"- ".repeat(DEPTH)),
        ("toml", [b"a = ".to_vec(), b"[".repeat(DEPTH), b"]".repeat(DEPTH)].concat()),
        ("template", [b"{{if .a}}".repeat(DEPTH), b"{{end}}".repeat(DEPTH)].concat()),
        (
            "template",
            [b"{{".to_vec(), b"(".repeat(DEPTH), b"1".to_vec(), b")".repeat(DEPTH), b"}}".to_vec()].concat(),
        ),
        ("regexp", [b"(".repeat(DEPTH), b")".repeat(DEPTH)].concat()),
        ("regexp", b"[".repeat(DEPTH)),
    ];
    for (target, input) in inputs {
        let begin = String::from_utf8_lossy(&input[..input.len().min(20)]).into_owned();
        let worker = std::thread::Builder::new().stack_size(STACK);
        let run = worker.spawn(move || targets::run(target, &input)).expect("a thread");
        assert!(run.join().is_ok(), "{target} panics on {begin}…");
    }
}
