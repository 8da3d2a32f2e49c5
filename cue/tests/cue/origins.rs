//! Where every value comes from: references, defaults, computations, inputs, patches; and the words written beside it.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;
use vela_cue::input::{Place, Segment};
use vela_cue::value::{FieldOptions, OriginKind};
use vela_cue::{Input, Source, Template, Value};

const TEMPLATE: &str = r#"#Port: int & >0
parameter: {
	image: string
	port:  *80 | #Port
	// +usage=How many
	replicas?: int
	source: {
		// +short=g
		git: string
	} | {
		// +short=o
		oci: string
	}
}
let tag = "v1"
output: {
	image: "\(parameter.image):\(tag)"
	port:  parameter.port
	total: parameter.port + 1
	ports: [for p in [parameter.port] {containerPort: p}]
}
"#;

fn template() -> Template {
    Template::compile(&[Source::new("t.cue", TEMPLATE)]).expect("compiles")
}

/// `line:column kind text` of each, indented by depth.
fn described(value: &Value) -> Vec<String> {
    let (origins, sources) = (value.origins(), value.sources());
    let one = |origin: &vela_cue::value::Origin| {
        let (file, line, column) = sources.position(origin.span).expect("a place");
        let text = sources.text(origin.span);
        format!("{}{file}:{line}:{column} {:?} {text}", "  ".repeat(origin.depth as usize), origin.kind)
    };
    origins.iter().map(one).collect()
}

/// The positions that a reader of `app.yaml` kept.
fn positions() -> Arc<BTreeMap<Vec<Segment>, Place>> {
    let text = "properties:\n  image: nginx\n  port: 8080\n  prot: 1\n  replicas: three\n";
    let source = Arc::new(Source::new("app.yaml", text));
    let place = |line, column| Place { source: source.clone(), line, column };
    let field = |name: &str| vec![Segment::Field(name.to_owned())];
    Arc::new(BTreeMap::from([
        (vec![], place(1, 1)),
        (field("image"), place(2, 10)),
        (field("port"), place(3, 9)),
        (field("prot"), place(4, 3)),
        (field("replicas"), place(5, 13)),
    ]))
}

#[test]
fn a_default_a_reference_and_a_computation_are_told() {
    let root = template().instantiate(&[]).root();
    assert_eq!(described(&root.lookup("parameter.port")), ["t.cue:4:10 Default 80"]);
    assert_eq!(
        described(&root.lookup("output.port")),
        ["t.cue:18:9 Reference parameter.port", "  t.cue:4:10 Default 80"]
    );
    assert_eq!(
        described(&root.lookup("output.total")),
        [
            "t.cue:19:9 Computed parameter.port + 1",
            "  t.cue:19:9 Operand parameter.port",
            "    t.cue:4:10 Default 80",
            "  t.cue:19:26 Operand 1",
        ]
    );
    assert_eq!(
        described(&root.lookup("output.ports[0].containerPort")),
        ["t.cue:20:52 Reference p", "  t.cue:20:20 Reference parameter.port", "    t.cue:4:10 Default 80"]
    );
}

#[test]
fn an_input_is_told_with_its_own_place() {
    let given = json!({"image": "nginx", "port": 8080});
    let input = Input::new("parameter", &given).with_positions(positions());
    let root = template().instantiate(&[input]).root();
    assert_eq!(
        described(&root.lookup("parameter.port")),
        [
            "t.cue:4:15 Reference #Port",
            "  t.cue:1:8 Constraint int",
            "  t.cue:1:14 Constraint >0",
            "app.yaml:3:9 Input 8080",
        ]
    );
    assert_eq!(
        described(&root.lookup("output.image")),
        [
            r#"t.cue:17:9 Computed "\(parameter.image):\(tag)""#,
            "  t.cue:17:12 Operand parameter.image",
            "    t.cue:3:9 Constraint string",
            "    app.yaml:2:10 Input nginx",
            "  t.cue:17:31 Operand tag",
            r#"    t.cue:15:11 Value "v1""#,
        ]
    );
    let patch = json!(9090);
    let patched = root.lookup("output.port").fill("", &patch);
    assert!(
        patched.origins().iter().all(|o| o.kind != OriginKind::Patch),
        "a patch without a place is not told"
    );
    let patch_text = Arc::new(Source::new("patch.yaml", "port: 8080\n"));
    let at: BTreeMap<Vec<Segment>, Place> =
        BTreeMap::from([(vec![], Place { source: patch_text, line: 1, column: 7 })]);
    let patch = json!(8080);
    let patched = root.lookup("output.port").fill_input(&Input::new("", &patch).with_positions(Arc::new(at)));
    assert_eq!(patched.as_i64(), Some(8080));
    assert_eq!(described(&patched).last().map(String::as_str), Some("patch.yaml:1:7 Patch 8080"));
}

#[test]
fn a_mistake_in_an_input_points_into_the_text_it_was_read_from() {
    let given = json!({"image": "nginx", "replicas": "three"});
    let input = Input::new("parameter", &given).with_positions(positions());
    let found = template().instantiate(&[input]).root().validate(false).expect_err("three is no int");
    let first = found.iter().next().expect("one diagnostic");
    assert_eq!(found.position(first), Some(("app.yaml", 5, 13)));
    let text = found.render(false);
    assert!(text.contains("5 |   replicas: three\n  |             ^^^^^ "), "{text}");
    assert!(text.contains("t.cue:6:13"), "{text}");
}

#[test]
fn words_beside_optional_fields_and_alternatives_are_read() {
    let root = template().instantiate(&[]).root();
    let options = FieldOptions { optional: true, ..FieldOptions::default() };
    let fields = root.lookup("parameter").fields(options);
    let replicas = fields.iter().find(|f| f.name == "replicas").expect("declared");
    assert_eq!(replicas.value.comments().marker("usage"), Some("How many"));
    let shorts: Vec<(String, bool)> = root
        .lookup("parameter.source")
        .alternatives()
        .iter()
        .flat_map(|(each, default)| {
            let fields = each.fields(options);
            let short =
                |f: &vela_cue::value::Field| f.value.comments().marker("short").unwrap_or("").to_owned();
            fields.iter().map(|f| (short(f), *default)).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(shorts, [("g".to_owned(), false), ("o".to_owned(), false)]);
}
