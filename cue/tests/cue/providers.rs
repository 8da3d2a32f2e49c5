//! Packages of a caller: imported by their path, parsed only when needed, and told of when one is not known.

use vela_cue::provider::ImportedPackage;
use vela_cue::{Code, Provider, Source, Template};

fn package(path: &str, text: &str) -> ImportedPackage {
    ImportedPackage { path: path.to_owned(), sources: vec![Source::new(format!("{path}.cue"), text)] }
}

fn compile(text: &str, packages: &[ImportedPackage]) -> Result<Template, vela_cue::Diagnostics> {
    let providers: Vec<&dyn Provider> = packages.iter().map(|p| p as &dyn Provider).collect();
    Template::compile_with(&[Source::new("step.cue", text)], &providers)
}

#[test]
fn a_package_is_imported_by_its_path_and_may_import_others() {
    let packages = [
        package("my/outer", "import \"my/inner\"\n#Say: {_secret: 1, $params: text: inner.#text}"),
        package("my/inner", "import \"strings\"\n#text: strings.ToUpper(\"a\")"),
    ];
    let template =
        compile("import \"my/outer\"\nout: outer.#Say & {_secret: 2}", &packages).expect("compiles");
    let value = template.instantiate(&[]).root();
    assert_eq!(value.to_json().expect("concrete"), serde_json::json!({"out": {"$params": {"text": "A"}}}));
}

#[test]
fn an_unknown_package_is_told_with_the_known_ones() {
    let packages = [package("my/kube", "")];
    let Err(found) = compile("import \"my/cube\"\nout: cube.#Apply", &packages) else {
        panic!("my/cube must not be known")
    };
    let first = found.iter().next().expect("one diagnostic");
    assert_eq!(first.code, Code::Import);
    assert!(first.message.contains("\"my/cube\""), "{}", first.message);
    assert!(first.hint.as_ref().is_some_and(|h| h.contains("my/kube") && h.contains("encoding/json")));
    assert_eq!(found.position(first), Some(("step.cue", 1, 8)));
}

#[test]
fn a_package_without_importers_is_not_even_parsed() {
    let packages = [package("my/broken", "{{{")];
    assert!(compile("out: 1", &packages).is_ok());
    let Err(found) = compile("import \"my/broken\"\nout: broken.#X", &packages) else {
        panic!("the package is broken")
    };
    let first = found.iter().next().expect("one diagnostic");
    assert_eq!(first.code, Code::Syntax);
    assert_eq!(found.position(first).map(|p| p.0), Some("my/broken.cue"));
}

#[test]
fn packages_that_import_each_other_are_refused() {
    let packages = [
        package("my/one", "import \"my/two\"\na: two.b\nc: 3"),
        package("my/two", "import \"my/one\"\nb: one.c"),
    ];
    let Err(found) = compile("import \"my/one\"\nout: one.a", &packages) else {
        panic!("a circle of imports must be refused")
    };
    let first = found.iter().next().expect("one diagnostic");
    assert!(first.message.contains("\"my/one\""), "{}", first.message);
    assert_eq!(found.position(first), Some(("my/two.cue", 1, 8)));
}
