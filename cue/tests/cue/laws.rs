//! What holds of every program, tried on random ones and on a sample of the peers' cases.

use std::path::Path;

use serde_json::Value as Json;
use vela_cue::ast::{Decl, DeclKind, Expr, ExprKind, File};
use vela_cue::source::{FileId, Sources};
use vela_cue::{Source, Template, Value, format, parser};
use vela_testkit::program::{Program, Random, conjuncts, imports};

/// Random programs for each law.
const PROGRAMS: u64 = 250;

/// The exported value; any failure is like any other.
type Outcome = Option<Json>;

fn exported(text: &str) -> Outcome {
    evaluated(&[Source::new("in.cue", text)])
}

fn evaluated(sources: &[Source]) -> Outcome {
    Template::compile(sources).ok()?.instantiate(&[]).root().to_json().ok()
}

/// A law that never met a value has shown nothing.
fn enough(values: usize, of: usize) {
    assert!(values * 4 > of, "only {values} of {of} programs have a value");
}

fn programs() -> impl Iterator<Item = Program> {
    (0..PROGRAMS).map(|number| Program::random(1_000_000 + number))
}

#[test]
fn unification_is_commutative_associative_and_idempotent() {
    let mut values = 0;
    for seed in 0..PROGRAMS {
        let parts = conjuncts(seed, 3);
        let text = format!(
            "a: {}\nb: {}\nc: {}\nab: a & b\nba: b & a\nl: (a & b) & c\nr: a & (b & c)\ncab: c & a & b\naa: a & a\nabab: ab & ab\n",
            parts[0], parts[1], parts[2],
        );
        let text = imports(&text) + &text;
        let template = Template::compile(&[Source::new("in.cue", text.clone())]);
        let root = template.unwrap_or_else(|d| panic!("{d}\n{text}")).instantiate(&[]).root();
        let of = |path: &str| root.lookup(path).to_json().ok();
        assert_eq!(of("ab"), of("ba"), "commutative: {text}");
        assert_eq!(of("l"), of("r"), "associative: {text}");
        assert_eq!(of("l"), of("cab"), "in any order: {text}");
        assert_eq!(of("aa"), of("a"), "idempotent: {text}");
        assert_eq!(of("abab"), of("ab"), "idempotent: {text}");
        let (a, b) = (root.lookup("a"), root.lookup("b"));
        assert_eq!(a.unify(&b).to_json().ok(), of("ab"), "as values: {text}");
        assert_eq!(b.unify(&a).to_json().ok(), of("ab"), "as values: {text}");
        values += usize::from(of("ab").is_some());
    }
    enough(values, PROGRAMS as usize);
}

#[test]
fn the_order_of_fields_and_of_files_does_not_matter() {
    let mut values = 0;
    for (number, program) in programs().enumerate() {
        let mut random = Random::new(number as u64);
        let text = program.to_string();
        let expected = exported(&text);
        let shuffled = reordered(&text, &mut random);
        assert_eq!(shuffled, expected, "fields in another order: {text}");
        if let Some(parts) = parted(&program) {
            for order in [[0, 1], [1, 0]] {
                let sources = order.map(|at| Source::new(format!("{at}.cue"), parts[at].clone()));
                assert_eq!(evaluated(&sources), expected, "two files: {text}");
            }
        }
        values += usize::from(expected.is_some());
    }
    enough(values, PROGRAMS as usize);
}

#[test]
fn printing_and_reading_again_gives_the_same_value() {
    let mut values = 0;
    for program in programs() {
        let text = program.to_string();
        let Some(expected) = exported(&text) else { continue };
        values += 1;
        let (file, _) = parser::parse(&Source::new("in.cue", text.as_str()), FileId(0));
        let formatted = format::format_file(&file, &text);
        assert_eq!(exported(&formatted).as_ref(), Some(&expected), "formatted: {text}\n{formatted}");
        let root = Template::compile(&[Source::new("in.cue", text.as_str())])
            .expect("compiles")
            .instantiate(&[])
            .root();
        let printed = printed(&root);
        assert_eq!(exported(&printed).as_ref(), Some(&expected), "evaluated: {text}\n{printed}");
    }
    enough(values, PROGRAMS as usize);
}

#[test]
fn every_instance_of_a_template_is_the_same() {
    for program in programs() {
        let text = program.to_string();
        let Ok(template) = Template::compile(&[Source::new("in.cue", text.as_str())]) else { continue };
        let show = |value: Value| match value.to_json() {
            Ok(json) => json.to_string(),
            Err(diagnostics) => diagnostics.to_json().to_string(),
        };
        let first = show(template.instantiate(&[]).root());
        assert_eq!(show(template.instantiate(&[]).root()), first, "{text}");
        let again = Template::compile(&[Source::new("in.cue", text.as_str())]).expect("compiled before");
        assert_eq!(show(again.instantiate(&[]).root()), first, "{text}");
    }
}

#[test]
fn cases_of_the_peers_export_the_same_twice_in_any_order() {
    let mut entries: Vec<_> = std::fs::read_dir(vela_testkit::cases::folder("conformance/cue/cases"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .collect();
    entries.sort();
    let mut values = 0;
    // Every eighth case: a sample of all kinds that takes seconds.
    for (number, case) in entries.iter().enumerate().step_by(8) {
        let Some(text) = only_file(case) else { continue };
        let expected = exported(&text);
        assert_eq!(exported(&text), expected, "{}", case.display());
        let mut random = Random::new(number as u64);
        assert_eq!(reordered(&text, &mut random), expected, "{} in another order", case.display());
        values += usize::from(expected.is_some());
    }
    assert!(values > 20, "only {values} cases have a value");
}

/// The source of a case of one file that imports no package of its own.
fn only_file(case: &Path) -> Option<String> {
    let files: Vec<_> = std::fs::read_dir(case).ok()?.flatten().map(|e| e.path()).collect();
    let mut sources = files.iter().filter(|f| f.extension().is_some_and(|e| e == "cue"));
    let only = sources.next().filter(|_| sources.next().is_none() && !case.join("cue.mod").is_dir())?;
    std::fs::read_to_string(only).ok()
}

/// The outcome with the declarations of every struct in another order.
fn reordered(text: &str, random: &mut Random) -> Outcome {
    let mut sources = Sources::default();
    let source = Source::new("in.cue", text);
    let id = sources.add(source.clone());
    let (mut file, mistakes) = parser::parse(&source, id);
    if !mistakes.is_empty() {
        return None;
    }
    shuffle(&mut file.decls, random);
    Template::compile_files(&[file], sources).ok()?.instantiate(&[]).root().to_json().ok()
}

fn shuffle(decls: &mut [Decl], random: &mut Random) {
    // Imports and attributes speak of the whole file and stay in front.
    let fixed =
        decls.iter().take_while(|d| matches!(d.kind, DeclKind::Import(_) | DeclKind::Attribute(_))).count();
    random.shuffle(&mut decls[fixed..]);
    for decl in decls {
        match &mut decl.kind {
            DeclKind::Field(field) => shuffle_in(&mut field.value, random),
            DeclKind::Embed(value) => shuffle_in(value, random),
            DeclKind::Let(binding) | DeclKind::Alias(binding) => shuffle_in(&mut binding.value, random),
            _ => {}
        }
    }
}

fn shuffle_in(expr: &mut Expr, random: &mut Random) {
    match &mut expr.kind {
        ExprKind::Struct(literal) => shuffle(&mut literal.decls, random),
        ExprKind::List(list) => list.elements.iter_mut().for_each(|e| shuffle_in(e, random)),
        ExprKind::Binary(_, _, left, right) => {
            shuffle_in(left, random);
            shuffle_in(right, random);
        }
        ExprKind::Paren(inner) | ExprKind::Unary(_, inner) | ExprKind::Alias(_, inner) => {
            shuffle_in(inner, random)
        }
        ExprKind::Call(_, arguments) => arguments.iter_mut().for_each(|a| shuffle_in(a, random)),
        ExprKind::Comprehension(comprehension) => shuffle_in(&mut comprehension.value, random),
        _ => {}
    }
}

/// The top-level declarations in two files, unless one of them has a name that only its own file sees.
fn parted(program: &Program) -> Option<[String; 2]> {
    let text = program.to_string();
    if text.starts_with('@') || text.lines().any(|l| l.starts_with("let ") || l.starts_with('X')) {
        return None;
    }
    let (left, right) = program.declarations.split_at(program.declarations.len() / 2);
    Some([left, right].map(|half| Program { declarations: half.to_vec() }.to_string()))
}

/// The evaluated value as the text of a file, with imports for the validators in it.
fn printed(value: &Value) -> String {
    match value.syntax().kind {
        ExprKind::Struct(literal) => {
            let text = format::format_struct_as_file(&literal);
            imports(&text) + &text
        }
        _ => String::new(),
    }
}

/// A file of no declarations has the empty struct as its value; shuffling must not lose that.
#[test]
fn shuffling_keeps_every_declaration() {
    let text = "a: {b: 1, c: [2, {d: 3, e: 4}]}\nf: a & {g: 5}\n";
    let (mut file, _): (File, _) = parser::parse(&Source::new("in.cue", text), FileId(0));
    shuffle(&mut file.decls, &mut Random::new(2));
    let formatted = format::format_file(&file, text);
    assert_eq!(exported(text), reordered(text, &mut Random::new(2)));
    assert!(["b: 1", "d: 3", "e: 4", "g: 5"].iter().all(|part| formatted.contains(part)), "{formatted}");
}
