//! Old texts rewritten: what changes, what stays, what is proven, and what is refused.

use serde_json::json;
use vela_cue::{
    Era, Source, Template,
    modernize::{ChangeKind, Failure, Modernized, Sample, from_parameter, modernize},
};

const SURROUNDINGS: &str = "context: _\nparameter: _\n";

fn run(text: &str) -> Result<Modernized, Failure> {
    let source = Source::new("old.cue", text).with_era(Era::V0_9);
    let beside = [Source::new("surroundings", SURROUNDINGS)];
    let all = [source.clone(), beside[0].clone()];
    let template = Template::compile(&all).unwrap_or_else(|d| panic!("{d}"));
    let context = json!({"name": "sample"});
    let samples: Vec<Sample> = from_parameter(&template.instantiate(&[]).root().lookup("parameter"))
        .into_iter()
        .map(|parameter| vec![("parameter".to_owned(), parameter), ("context".to_owned(), context.clone())])
        .collect();
    modernize(&source, &beside, &[], &samples)
}

fn rewritten(text: &str) -> String {
    match run(text) {
        Ok(made) => made.text,
        Err(failure) => panic!("{text}: {failure:?}"),
    }
}

#[test]
fn only_the_places_change_and_the_rest_stays_as_written() {
    let old = "// A worker.\nimport \"strings\"\n\nparameter: {\n\tcmd?: [...string]\n\targs: [...string]\n\tport?: *45 | int & {if port < 1 {_|_}}\n\tn: *2 | int\n}\noutput: {\n  name: context.name + \"-x\"\n\tif parameter.cmd != _|_ {\n\t\tcommand: parameter.cmd + parameter.args + [\"-v\"] // tail\n\t}\n\ttwice: 2*parameter.args\n\thalf: parameter.n div 2\n\tlong: [\"a\"] + // first\n\t\t[\"b\"]\n\tjoined: strings.Join(parameter.args+[\"x\"], \",\")\n\tone: >=1 & <=1 & int\n}\n";
    let made = run(old).expect("rewritten");
    let expected = "// A worker.\nimport \"strings\"\nimport \"list\"\n\nparameter: {\n\tcmd?: [...string]\n\targs: [...string]\n\tport?: *45 | int & >=1\n\tn: *2 | int\n}\noutput: {\n  name: context.name + \"-x\"\n\tif parameter.cmd != _|_ {\n\t\tcommand: list.Concat([parameter.cmd, parameter.args, [\"-v\"]]) // tail\n\t}\n\ttwice: list.Repeat(parameter.args, 2)\n\thalf: div(parameter.n, 2)\n\tlong: list.Concat([[\"a\"], // first\n\t\t[\"b\"]])\n\tjoined: strings.Join(list.Concat([parameter.args, [\"x\"]]), \",\")\n\tone: 1\n}\n";
    assert_eq!(made.text, expected);
    let kinds: Vec<ChangeKind> = made.changes.iter().map(|c| c.kind).collect();
    assert_eq!(kinds.iter().filter(|k| **k == ChangeKind::Concat).count(), 3, "{kinds:?}");
    for kind in [
        ChangeKind::Import,
        ChangeKind::Guard,
        ChangeKind::Repeat,
        ChangeKind::Division,
        ChangeKind::SingleNumber,
    ] {
        assert!(kinds.contains(&kind), "{kind:?} in {kinds:?}");
    }
    let command = made.changes.iter().find(|c| c.before.starts_with("parameter.cmd")).expect("the command");
    assert_eq!((command.line, command.column), (13, 12));
    assert!(made.proven > 2 && made.undecided.is_empty(), "{made:?}");
    // What is new stays new.
    let again = run(&made.text).expect("nothing to do");
    assert_eq!((again.text, again.changes.len()), (made.text, 0));
}

#[test]
fn the_import_joins_others_and_yields_to_a_field_of_its_name() {
    assert_eq!(
        rewritten("package x\n\na: [1] + [2]\n"),
        "package x\n\nimport \"list\"\n\na: list.Concat([[1], [2]])\n"
    );
    assert_eq!(
        rewritten("import (\n\t\"strings\"\n)\n\na: [strings.ToUpper(\"a\")] + [\"b\"]\n"),
        "import (\n\t\"strings\"\n\t\"list\"\n)\n\na: list.Concat([[strings.ToUpper(\"a\")], [\"b\"]])\n"
    );
    assert_eq!(
        rewritten("import l \"list\"\n\na: l.Sort([2, 1], l.Ascending) + [\"b\"]\n"),
        "import l \"list\"\n\na: l.Concat([l.Sort([2, 1], l.Ascending), [\"b\"]])\n"
    );
    assert_eq!(
        rewritten("list: [1]\na: list + [2]\n"),
        "import listpkg \"list\"\n\nlist: [1]\na: listpkg.Concat([list, [2]])\n"
    );
}

#[test]
fn numbers_and_strings_are_left_alone() {
    let text = "parameter: {a: string, b: int}\nx: parameter.a + \"-\" + parameter.a\ny: parameter.b + parameter.b*2\n";
    let made = run(text).expect("nothing to do");
    assert_eq!((made.text.as_str(), made.changes.len()), (text, 0));
}

#[test]
fn what_no_sample_shows_is_told_and_left() {
    let made =
        run("x: {if context.never != _|_ {y: context.never + context.never}}\n").expect("nothing to do");
    assert_eq!(made.undecided, [(1, 33)]);
    assert!(made.changes.is_empty());
}

#[test]
fn a_text_whose_meaning_would_change_is_refused() {
    // Bounds from two places leave one number; no single place can be rewritten.
    match run("a: >=1\na: <=1\nb: a + 1\n") {
        Err(Failure::Differs { path, .. }) => {
            assert_eq!(path, "a")
        }
        other => panic!("{other:?}"),
    }
    let source = Source::new("old.cue", "a: [1\n").with_era(Era::V0_9);
    assert!(matches!(modernize(&source, &[], &[], &[]), Err(Failure::Broken(_))));
}
