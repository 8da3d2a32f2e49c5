//! What is printed is read back as the same tree and the same value.

use std::fs;

use vela_cue::ast::visit::{Bare, Visitor, walk_expr, walk_file};
use vela_cue::ast::{Expr, ExprKind, File, LiteralKind};
use vela_cue::source::FileId;
use vela_cue::value::Shown;
use vela_cue::{Source, Template, format, literal, parser};
use vela_testkit::program::Program;

/// Seeds of the random programs.
const SEEDS: std::ops::Range<u64> = 0..150;

/// Of the cases of the conformance data every so many are taken: all of them are scored elsewhere.
const EVERY: usize = 12;

/// Brings texts that mean the same to one form.
struct Same;

impl Visitor for Same {
    fn expr(&mut self, expr: &mut Expr) {
        while let ExprKind::Paren(inner) = &mut expr.kind
            && matches!(inner.kind, ExprKind::Paren(_))
        {
            let inner = std::mem::replace(&mut **inner, Expr::new(expr.span, ExprKind::Bad));
            *expr = inner;
        }
        if let ExprKind::Literal(LiteralKind::String | LiteralKind::Bytes, text) = &mut expr.kind
            && let Ok((kind, bytes)) = literal::unquote(text)
        {
            *text = match kind {
                literal::QuoteKind::String => literal::quote_string(&String::from_utf8_lossy(&bytes)),
                literal::QuoteKind::Bytes => literal::quote_bytes(&bytes),
            };
        }
        walk_expr(self, expr);
    }
}

/// The tree of a text in canonical form: without comments, places and ways of writing the same.
fn tree(text: &str) -> Option<(File, String)> {
    let (file, mistakes) = parser::parse(&Source::new("in.cue", text), FileId(0));
    if !mistakes.is_empty() {
        return None;
    }
    let mut bare = file.clone();
    walk_file(&mut Bare, &mut bare);
    bare.comments.clear();
    if let Some(package) = &mut bare.package {
        package.comments.clear();
    }
    walk_file(&mut Same, &mut bare);
    let canonical = format::format_file(&bare, "");
    Some((file, canonical))
}

fn keeps_its_tree(text: &str) -> bool {
    let Some((file, canonical)) = tree(text) else { return false };
    let printed = format::format_file(&file, text);
    // A comment between an operator and its operand may swallow it, in the reference too.
    let Some((again, of_printed)) = tree(&printed) else { return false };
    assert_eq!(of_printed, canonical, "formatting changed the meaning of\n{text}\nto\n{printed}");
    assert_eq!(format::format_file(&again, &printed), printed, "formatted twice:\n{text}");
    true
}

fn keeps_its_value(sources: &[Source], name: &str) -> bool {
    let Ok(template) = Template::compile(sources) else { return false };
    let root = template.instantiate(&[]).root();
    let Ok(value) = root.to_json() else { return false };
    let exported = Shown { defaults: true, docs: true, ..Shown::default() };
    for text in [
        format::format_simplified(&root.printed(exported), ""),
        format::format_file(&root.printed(Shown { defaults: true, ..Shown::default() }), ""),
    ] {
        let again = Template::compile(&[Source::new("printed.cue", text.clone())])
            .map_err(|mistakes| mistakes.to_string())
            .and_then(|template| template.instantiate(&[]).root().to_json().map_err(|e| e.to_string()));
        assert_eq!(again.as_ref(), Ok(&value), "{name}: printed as\n{text}");
    }
    true
}

#[test]
fn random_programs_keep_their_tree_and_value() {
    let (mut trees, mut values) = (0, 0);
    for seed in SEEDS {
        let text = Program::random(seed).to_string();
        trees += usize::from(keeps_its_tree(&text));
        values += usize::from(keeps_its_value(&[Source::new("in.cue", text)], &format!("seed {seed}")));
    }
    assert!(trees > 140 && values > 50, "{trees} trees and {values} values of {SEEDS:?}");
}

#[test]
fn the_parse_corpus_keeps_its_trees() {
    let corpus = vela_testkit::cases::folder("conformance/cue/parse").join("cases.jsonl");
    let text = fs::read_to_string(corpus).expect("the parse corpus");
    let cases = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let kept = cases.filter(|case| case["in"].as_str().is_some_and(keeps_its_tree)).count();
    assert!(kept > 100, "only {kept} sources");
}

#[test]
fn values_of_the_corpus_are_exported_as_themselves() {
    let folder = vela_testkit::cases::folder("conformance/cue");
    let manifest = fs::read_to_string(folder.join("manifest.jsonl")).expect("the evaluation corpus");
    let mut kept = 0;
    for line in manifest.lines().step_by(EVERY) {
        let case: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        let (Some(name), Some(files)) = (case["name"].as_str(), case["args"].as_array()) else { continue };
        let read = |file: &serde_json::Value| {
            let file = file.as_str().filter(|file| file.ends_with(".cue"))?;
            Some(Source::new(file, fs::read_to_string(folder.join("cases").join(name).join(file)).ok()?))
        };
        let Some(sources) = files.iter().map(read).collect::<Option<Vec<Source>>>() else { continue };
        kept += usize::from(keeps_its_value(&sources, name));
    }
    assert!(kept > 10, "only {kept} values");
}
