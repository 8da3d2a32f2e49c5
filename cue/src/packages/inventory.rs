//! The list of everything the reference's packages offer, held against what the tables here offer.

use super::{Kinds, PACKAGES, Package, Run, lookup};

/// One line for each name of the reference, `path name(kinds) kind`, `path name = value` or `path name:`; facts only.
const REFERENCE: &str = include_str!("inventory.txt");

/// The missing functions, each with its reason. This list only gets shorter.
const MISSING: &[(&str, &str)] = &[
    ("encoding/openapi MarshalSchema(_, _) string", "needs the writer of schemas"),
    ("encoding/openapi #Config:", "needs the writer of schemas"),
    ("encoding/openapi #Info:", "needs the writer of schemas"),
    ("encoding/openapi #Contact:", "needs the writer of schemas"),
    ("encoding/openapi #License:", "needs the writer of schemas"),
];

fn kinds_text(kinds: Kinds) -> &'static str {
    const BYTES_OR_TEXT: Kinds = Kinds::BYTES.or(Kinds::STRING);
    match kinds {
        Kinds::NONE => "_|_",
        Kinds::BOOL => "bool",
        Kinds::INT => "int",
        Kinds::NUMBER => "number",
        Kinds::STRING => "string",
        BYTES_OR_TEXT => "bytes|string",
        Kinds::LIST => "list",
        Kinds::STRUCT => "struct",
        Kinds::TOP => "_",
        _ => "?",
    }
}

/// The lines that a package would have in the list.
fn lines(package: &Package) -> Vec<String> {
    let path = package.path;
    let mut lines = Vec::new();
    for (name, value) in package.constants {
        lines.push(format!("{path} {name} = {value}"));
    }
    for function in package.functions {
        let kinds: Vec<_> = function.parameters.iter().map(|p| kinds_text(p.kinds)).collect();
        let result = kinds_text(function.result);
        lines.push(format!("{path} {}({}) {result}", function.name, kinds.join(", ")));
    }
    for declaration in package.declarations.lines().filter(|l| !l.starts_with([' ', '}', '\t'])) {
        let name = declaration.split(':').next().unwrap_or_default();
        lines.push(format!("{path} {name}:"));
    }
    lines
}

#[test]
fn every_name_of_the_reference_is_here_or_says_why_not() {
    let have: Vec<String> = PACKAGES.iter().flat_map(|package| lines(package)).collect();
    let reference: Vec<&str> = REFERENCE.lines().collect();
    let excused = |line: &str| MISSING.iter().any(|(missing, _)| *missing == line);
    let mut wrong: Vec<String> = Vec::new();
    for line in &reference {
        let here = have.iter().any(|h| h == line) || (!line.contains(' ') && lookup(line).is_some());
        match (here, excused(line)) {
            (false, false) => wrong.push(format!("not here: {line}")),
            (true, true) => wrong.push(format!("here, so no longer missing: {line}")),
            _ => {}
        }
    }
    let unknown = have.iter().filter(|h| !reference.contains(&h.as_str()));
    wrong.extend(unknown.map(|h| format!("the reference has no: {h}")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A function that judges a value can stand as a constraint only if its last parameters have no defaults to fill in.
#[test]
fn functions_have_one_place_each() {
    for package in PACKAGES {
        let names: Vec<_> = package.functions.iter().map(|f| f.name).collect();
        for (at, name) in names.iter().enumerate() {
            assert!(!names[at + 1..].contains(name), "{}.{name} stands twice", package.path);
        }
        for function in package.functions {
            let counted = matches!(function.run, Run::Count(_));
            assert!(!counted || function.is_validator(), "{}.{}", package.path, function.name);
        }
    }
}
