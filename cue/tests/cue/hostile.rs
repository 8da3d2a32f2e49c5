//! Programs that try to use up time, memory or the stack: each ends with a diagnostic that says where, or with a result.

use std::fmt::Write as _;

use vela_cue::{Budget, Code, Diagnostics, Source, Template, format, parser};

/// Deeper than any stack would take, were it not counted.
const DEEP: usize = 100_000;

/// What a test's evaluation may use up: less than a second, some tens of megabytes.
fn small() -> Budget {
    Budget { steps: 1_000_000, output: 8 << 20, memory: 128 << 20, ..Budget::default() }
}

/// Writes a program's value down as syntax and as a tree, then judges and exports it.
fn write(text: &str) -> Result<(), Diagnostics> {
    let root =
        Template::compile(&[Source::new("in.cue", text)])?.with_budget(small()).instantiate(&[]).root();
    root.syntax();
    root.tree();
    run(text)
}

/// Judges and exports a program's value.
fn run(text: &str) -> Result<(), Diagnostics> {
    let template = Template::compile(&[Source::new("in.cue", text)])?.with_budget(small());
    let root = template.instantiate(&[]).root();
    let judged = root.validate(true);
    let exported = root.to_data().map(|_| ());
    assert!(judged.is_ok() || exported.is_err(), "what is wrong cannot be exported");
    judged.and(exported)
}

/// The program fails with that code, and the diagnostic has a place.
fn fails(name: &str, text: &str, code: Code) {
    let diagnostics = match run(text) {
        Ok(()) => panic!("{name} gave a result"),
        Err(diagnostics) => diagnostics,
    };
    let found = diagnostics.iter().find(|d| d.code == code);
    let found = found.unwrap_or_else(|| panic!("{name} failed otherwise: {diagnostics:.300}"));
    assert!(!found.labels.is_empty(), "{name} has no place: {found:?}");
}

fn nested(open: &str, inner: &str, close: &str) -> String {
    format!("a: {}{inner}{}\n", open.repeat(DEEP), close.repeat(DEEP))
}

#[test]
fn the_parser_refuses_nesting_and_the_formatter_survives_it() {
    let texts = [
        ("braces", nested("{b: ", "1", "}")),
        ("brackets", nested("[", "1", "]")),
        ("parentheses", nested("(", "1", ")")),
        ("unclosed braces", nested("{", "", "")),
        ("unclosed brackets", nested("[", "", "")),
        ("fields", format!("{}1\n", "a: ".repeat(DEEP))),
        ("minus", nested("-", "1", "")),
        ("not", nested("!", "true", "")),
        ("interpolations", nested("\"\\(", "1", ")\"")),
        ("calls", nested("len(", "[]", ")")),
        ("and", format!("a: {}int\n", "int & ".repeat(DEEP))),
        ("or", format!("a: {}1\n", "1 | ".repeat(DEEP))),
        ("sum", format!("a: {}1\n", "1 + ".repeat(DEEP))),
        ("selectors", format!("b: 1\na: b{}\n", ".c".repeat(DEEP))),
        ("indices", format!("b: 1\na: b{}\n", "[0]".repeat(DEEP))),
        ("comprehensions", format!("a: [{}1]\n", "if true for x in [1] ".repeat(DEEP))),
        ("patterns", nested("{[string]: ", "1", "}")),
    ];
    for (name, text) in texts {
        let source = Source::new("in.cue", text.clone());
        let (file, mistakes) = parser::parse(&source, vela_cue::source::FileId(0));
        format::format_file(&file, &source.text);
        if mistakes.is_empty() {
            // What is long but not deep may be read; then it must be evaluated within the budget.
            let _ = write(&text);
        } else {
            assert!(
                mistakes.iter().all(|m| m.code == Code::Syntax && !m.labels.is_empty()),
                "{name}: {mistakes:.3?}"
            );
        }
        drop(file);
    }
}

#[test]
fn values_deeper_than_the_budget_are_refused() {
    for text in [format!("{}1\n", "a: ".repeat(900)), format!("a: {}1{}\n", "[".repeat(900), "]".repeat(900))]
    {
        let diagnostics = write(&text).expect_err("too deep");
        assert!(diagnostics.iter().any(|d| d.code == Code::Budget), "{diagnostics:.300}");
    }
}

#[test]
fn doubling_ends() {
    let mut lists = String::from("a0: [1]\n");
    let mut fields = String::from("a0: {x: 1}\n");
    let mut texts = String::from("a0: \"xy\"\n");
    let mut sums = String::from("a0: \"xy\"\n");
    let mut numbers = String::from("a0: 7777777\n");
    for at in 0..40 {
        writeln!(lists, "a{}: [a{at}, a{at}]", at + 1).expect("writes");
        writeln!(fields, "a{}: {{l: a{at}, r: a{at}}}", at + 1).expect("writes");
        writeln!(texts, "a{}: \"\\(a{at})\\(a{at})\"", at + 1).expect("writes");
        writeln!(sums, "a{}: a{at} + a{at}", at + 1).expect("writes");
        writeln!(numbers, "a{}: a{at} * a{at}", at + 1).expect("writes");
    }
    for (name, text) in [("lists", lists), ("fields", fields)] {
        let diagnostics = run(&text).expect_err(name);
        assert!(diagnostics.iter().any(|d| d.code == Code::Budget), "{name}: {diagnostics:.300}");
        // As long as no export writes it down, it takes no room.
        let hidden = text.replace('a', "_a");
        assert!(run(&hidden).is_ok(), "{name}");
        let marshalled = format!("import \"encoding/json\"\n{hidden}out: json.Marshal(_a40)\n");
        assert!(run(&marshalled).is_err(), "{name}");
        let compared = format!("{hidden}{}out: _a40 == _b40\n", hidden.replace("_a", "_b"));
        assert!(run(&compared).is_err(), "{name}");
    }
    fails("texts", &texts, Code::Budget);
    fails("sums", &sums, Code::Budget);
    assert!(run(&numbers).is_err());
}

#[test]
fn loops_over_loops_end() {
    let list = "list.Range(0, 1000, 1)";
    let bombs = [
        ("lists", format!("a: [for x in {list} for y in {list} for z in {list} {{1}}]")),
        ("structs", format!("a: {{for x in {list} for y in {list} {{\"\\(x)-\\(y)\": 1}}}}")),
        ("empty", format!("a: [for x in {list} for y in {list} for z in {list} if x > 2000 {{1}}]")),
        ("growing", "a: [0]\nb: [for x in c for y in c {1}]\nc: [for x in d for y in d {1}]\nd: [for x in e for y in e {1}]\ne: [for x in f for y in f {1}]\nf: list.Repeat([0], 9)".to_string()),
        ("range", "a: list.Range(0, 1000000000, 1)".to_string()),
        ("list repeat", "a: list.Repeat([0], 1000000000)".to_string()),
        ("text repeat", "a: strings.Repeat(\"ab\", 1000000000)".to_string()),
        ("text times", "a: \"ab\" * 1000000000".to_string()),
        ("power", "a: math.Pow(10, 1000000000)".to_string()),
    ];
    for (name, bomb) in bombs {
        let used: String = ["list", "strings", "math"]
            .iter()
            .filter(|package| bomb.contains(&format!("{package}.")))
            .map(|package| format!("import \"{package}\"\n"))
            .collect();
        let diagnostics = run(&format!("{used}{bomb}\n")).expect_err(name);
        assert!(diagnostics.iter().all(|d| !d.labels.is_empty()), "{name}: {diagnostics:.300}");
    }
}

#[test]
fn disjunctions_do_not_explode() {
    let mut product = String::from("a: ");
    let mut nested = String::from("d0: {x: 1} | {y: 1}\n");
    for at in 0..40 {
        write!(product, "{}({{a{at}: 1}} | {{b{at}: 1}})", if at > 0 { " & " } else { "" }).expect("writes");
        writeln!(nested, "d{}: {{l: d{at}, r: d{at}}} | {{m: d{at}}}", at + 1).expect("writes");
    }
    fails("product", &product, Code::Budget);
    assert!(run(&nested).is_err());
    let many: String = (0..1_500).map(|at| format!("{at} | ")).collect();
    let diagnostics = run(&format!("a: {many} 0\n")).expect_err("open");
    assert!(diagnostics.iter().all(|d| d.code == Code::Ambiguous), "{diagnostics:.300}");
}

#[test]
fn values_that_hold_themselves_end() {
    for text in [
        "#L: {v: int, next: #L}\na: #L\n",
        "a: {b: c}\nc: {d: a}\n",
        "a: [a]\n",
        "a: b: a\n",
        "#T: {l: #T, r: #T}\nx: #T\n",
        "f: {in: int, out: (f & {in: in + 1}).out}\nx: (f & {in: 0}).out\n",
        "a: {for k, v in a {\"\\(k)x\": v}, z: 1}\n",
        "a: [for x in a {x}, 1]\n",
        "a: b + 1\nb: a + 1\nc: a & 3\n",
        "x: \"\\(x)x\"\n",
    ] {
        assert!(write(text).is_err(), "{text}");
    }
}

#[test]
fn huge_numbers_end() {
    for text in [
        "a: 1e1000000000\n",
        "a: 1e-1000000000\n",
        "a: 1e99999 * 1e99999 * 1e99999\n",
        "import \"math/bits\"\na: bits.Lsh(1, 1000000000)\n",
        "a: 1e1000000000 + 1\n",
    ] {
        let diagnostics = run(text).expect_err(text);
        assert!(diagnostics.iter().all(|d| !d.labels.is_empty()), "{text}: {diagnostics:.300}");
    }
    let digits = "7".repeat(DEEP * 2);
    assert!(run(&format!("a: {digits}\n")).is_err());
}

#[test]
fn texts_of_other_formats_end() {
    let mut aliases = String::from("a0: &a0 [x, x]\n");
    for at in 0..40 {
        writeln!(aliases, "a{}: &a{} [*a{at}, *a{at}]", at + 1, at + 1).expect("writes");
    }
    let yaml =
        |text: &str| format!("import \"encoding/yaml\"\na: yaml.Unmarshal(#\"\"\"\n{text}\n\"\"\"#)\n");
    fails("aliases", &yaml(&aliases), Code::Argument);
    assert!(run(&yaml(&"[".repeat(DEEP))).is_err());
    let json = format!(
        "import \"encoding/json\"\na: json.Unmarshal(\"{}{}\")\n",
        "[".repeat(DEEP),
        "]".repeat(DEEP)
    );
    assert!(run(&json).is_err());
    for pattern in
        ["(a{1000}){1000}", &"(".repeat(DEEP), &format!("{}a{}", "(".repeat(5_000), ")".repeat(5_000))]
    {
        assert!(run(&format!("a: \"x\" & =~\"{pattern}\"\n")).is_err(), "{:.40}", pattern);
    }
    let slow = format!("a: \"{}\" & =~\"^(a+)+$\"\n", "a".repeat(20_000) + "b");
    assert!(run(&slow).is_err());
}

#[test]
fn a_budget_of_memory_is_kept() {
    let template = Template::compile(&[Source::new(
        "in.cue",
        "import \"list\"\na: [for i in list.Range(0, 90000, 1) {b: c: i}]\n",
    )])
    .expect("compiles");
    let little = Budget { memory: 16 << 20, ..Budget::default() };
    let diagnostics =
        template.clone().with_budget(little).instantiate(&[]).root().validate(true).expect_err("too large");
    let first = diagnostics.iter().next().expect("one diagnostic");
    assert_eq!(first.code, Code::Budget);
    assert!(first.message.contains("bytes of memory") && !first.labels.is_empty(), "{first:?}");
    assert!(template.instantiate(&[]).root().validate(true).is_ok());
}

#[test]
fn what_is_large_and_honest_is_evaluated() {
    let fields: String = (0..10_000).map(|at| format!("f{at}: {{name: \"x{at}\"}}\n")).collect();
    assert!(run(&format!("#T: {{name: string, n: int | *1}}\n[string]: #T\n{fields}")).is_ok());
    let computed: String = (0..2_000).map(|at| format!("\"\\(x){at}\": {at}\n")).collect();
    assert!(run(&format!("x: \"a\"\n{computed}")).is_ok());
    let lines: String = (0..5_000).map(|at| format!("a: f{at}: {at}\n")).collect();
    assert!(run(&lines).is_ok());
    let literal: Vec<String> = (0..100_000).map(|at| at.to_string()).collect();
    assert!(run(&format!("x: [{}]\n", literal.join(","))).is_ok());
    let loops = "import (\"list\"\n\"strings\")\nx: {for i in list.Range(0, 10000, 1) {\"k\\(i)\": v: i}}\nj: strings.Join([for k, _ in x {k}], \",\")\ns: [for i in list.Range(0, 6000, 1) {strings.Split(\"a,b\", \",\")}]\n";
    assert!(run(loops).is_ok());
}
