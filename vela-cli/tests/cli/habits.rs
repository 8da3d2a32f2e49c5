//! Flags that hands know from KubeVela's command: they do the same here, or are answered by what to use instead.

use serde_json::{Value, json};

use crate::{PAGE, Person, site};

/// A person with two applications in a sandbox, of which one has labels.
fn with_applications() -> Person {
    let person = Person::new();
    let page = person.write("page.yaml", PAGE);
    let labelled = site(false).replace("metadata:", "metadata:\n  labels: {team: shop}");
    let app = person.write("site.yaml", &labelled);
    let other =
        person.write("other.yaml", site(false).replace("name: site", "name: other").replace("front", "rear"));
    person.types(&["up", &page, &app, &other]).ok();
    person
}

#[test]
fn a_status_is_narrowed_to_what_is_asked_for() {
    let person = with_applications();
    let whole = person.types(&["status", "site"]).ok().out;
    for same in [&["-t"][..], &["--tree", "--detail"], &["-d"], &["--cluster", "local"], &["-s", "front"]] {
        assert_eq!(person.types(&[&["status", "site"][..], same].concat()).ok().out, whole, "{same:?}");
    }
    person.types(&["status", "site", "--cluster", "far"]).fails(2, &["other clusters are not supported"]);
    person.types(&["status", "site", "-c", "fron"]).fails(1, &["site has no component \"fron\"", "front"]);

    let picture = person.types(&["status", "site", "--graph", "svg"]).ok().out;
    assert!(
        picture.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && picture.ends_with("</svg>\n"),
        "{picture}"
    );
    for text in [
        "<title id=\"title\">Application default/site: healthy</title>",
        ">Deployment</tspan>",
        ">front</tspan>",
    ] {
        assert!(picture.contains(text), "{text}: {picture}");
    }
    for other in [&["-o", "json"][..], &["--pod"], &["-p"], &["-w"]] {
        person.types(&[&["status", "site", "--graph", "svg"][..], other].concat()).fails(2, &["--graph"]);
    }
    person.types(&["status", "site", "--graph", "png"]).fails(2, &["svg"]);

    let shop = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": "shop"}, "spec": {"components": [
        {"name": "till", "type": "webservice", "properties": {"image": "nginx:1", "ports": [{"port": 80, "expose": true}]}},
        {"name": "work", "type": "worker", "properties": {"image": "nginx:1"}}]}});
    let file = person.write("shop.yaml", shop.to_string());
    person.types(&["up", &file]).ok();
    let table = person.types(&["status", "shop", "-p"]).ok().out;
    assert!(table.contains("http://till.default") && table.contains("in the cluster"), "{table}");
    let rows = person.types(&["status", "shop", "--endpoint", "-o", "json"]).ok().out;
    let rows: Value = serde_json::from_str(&rows).unwrap();
    assert_eq!(
        rows,
        json!([{"component": "till", "object": "Service default/till", "endpoint": "http://till.default", "inner": true}])
    );
    let said = person.types(&["status", "shop", "--endpoint", "-c", "work"]).ok();
    assert!(said.err.contains("shop has no address") && said.out.is_empty(), "{said:?}");
    let only = person.types(&["status", "shop", "-c", "work"]).ok().out;
    assert!(only.contains("work") && !only.contains("till"), "{only}");
    let pods = person.types(&["status", "shop", "--pod", "--component", "work", "-o", "json"]).ok().out;
    let pods: Value = serde_json::from_str(&pods).unwrap();
    assert!(
        pods.as_array().unwrap().iter().all(|pod| pod["component"] == "work") && pods[0].is_object(),
        "{pods}"
    );
}

#[test]
fn applications_are_listed_by_their_labels() {
    let person = with_applications();
    let names = |selector: &str| person.types(&["ls", "-l", selector, "-o", "name"]).ok().out;
    assert_eq!(names("team=shop"), "application.core.oam.dev/site\n");
    assert_eq!(names("team!=shop"), "application.core.oam.dev/other\n");
    assert_eq!(names("team=bank"), "");
    let said = person.types(&["ls", "--selector", "team=bank"]).ok();
    assert!(said.err.contains("There is no application with labels \"team=bank\""), "{said:?}");
    person.types(&["ls", "-l", "team=="]).ok();
    person.types(&["ls", "-l", "a b"]).fails(1, &["a b"]);
}

#[test]
fn steps_are_recorded_where_up_is_asked_to() {
    let person = with_applications();
    let flow =
        "  workflow:\n    steps: [{name: all, type: apply-component, properties: {component: front}}]\n";
    let app = person.write("site.yaml", format!("{}{flow}", site(false).trim_end().to_owned() + "\n"));
    person.types(&["up", &app, "--debug"]).ok();
    person.types(&["workflow", "debug", "site"]).ok();
    let again = person.types(&["up", &app, "--debug"]).ok();
    assert!(again.err.contains("site unchanged"), "{again:?}");
    let page = person.write("page.yaml", PAGE);
    person.types(&["up", &page, "--debug"]).fails(1, &["no Application", "leave out --debug"]);
}

#[test]
fn a_named_application_is_deleted_after_a_question() {
    let person = with_applications();
    person
        .types(&["delete", "site", "-i"])
        .fails(1, &["the application site of namespace default would be deleted", "--yes (-y)"]);
    person.types(&["status", "site"]).ok();
}

#[test]
fn an_application_is_deleted_without_its_objects() {
    let person = with_applications();
    person.types(&["delete", "site", "--orphan"]).ok();
    person.types(&["status", "site"]).fails(1, &["there is no application \"site\""]);
    let site = person.write("site.yaml", site(false));
    person
        .types(&["up", &site])
        .fails(1, &["cannot change Deployment default/front: it exists and was not made by"]);
    person.types(&["delete", "site", "-o"]).ok();
    let configuration = person.write("old.yaml", "apiVersion: core.oam.dev/v1alpha2\nkind: ApplicationConfiguration\nmetadata: {name: old}\nspec: {components: []}\n");
    person.types(&["up", &configuration]).ok();
    person
        .types(&["delete", "old", "--orphan"])
        .fails(5, &["ApplicationConfiguration old cannot leave its objects behind"]);
    person.types(&["status", "old"]).ok();
}

#[test]
fn a_flag_that_is_not_here_says_what_is() {
    let person = Person::new();
    for (words, instead) in [
        (&["show", "webservice", "--web"][..], "`vela show` has no --web: -o markdown"),
        (&["up", "-f", "a.yaml", "-s", "x"], "`vela up` has no -s: one controller"),
        (&["live-diff", "a.yaml", "--revision=shop-v1"], "`vela diff` has no --revision: `vela revision get"),
        (&["env", "init", "a", "--labels", "a=b"], "`vela env init` has no --labels"),
        (&["-n", "x", "delete", "a", "--force"], "`vela delete` has no --force: nothing has to be forced"),
    ] {
        person.types(words).fails(5, &[instead]);
    }
    // A slip of the fingers is still one.
    person.types(&["ls", "--watchh"]).fails(2, &["--watch"]);
    let markdown = person.types(&["show", "webservice", "--offline", "--format", "markdown"]).ok().out;
    assert_eq!(markdown, person.types(&["show", "webservice", "--offline", "-o", "markdown"]).ok().out);
    person.types(&["show", "webservice", "--offline", "--format", "console"]).ok();
}

#[test]
fn templates_print_what_they_find() {
    let person = with_applications();
    let prints = |words: &[&str], template: &str| {
        person.types(&[words, &["-o", &format!("jsonpath={template}")]].concat()).ok().out
    };
    assert_eq!(prints(&["ls"], "{.items[*].metadata.name}"), "other site");
    assert_eq!(
        prints(&["ls"], "{range .items[*]}{.metadata.name}\t{.status.status}{\"\\n\"}{end}"),
        "other\trunning\nsite\trunning\n"
    );
    assert_eq!(prints(&["ls", "-l", "team=shop"], "{.items[0].metadata.labels.team}"), "shop");
    assert_eq!(prints(&["status", "site"], ".status.status"), "running");
    assert_eq!(prints(&["show", "scaler"], "{.items[*].name}"), "scaler");
    assert_eq!(prints(&["def", "get", "scaler"], "{.kind}"), "TraitDefinition");
    assert_eq!(prints(&["revision", "list", "site"], "{.items[*].name}"), "site-v1");
    assert_eq!(prints(&["traits"], "{.items[?(@.name==\"scaler\")].name}"), "scaler");
    assert_eq!(prints(&["version"], "{.version}"), env!("CARGO_PKG_VERSION"));
    assert_eq!(
        prints(&["ql", "component-pod-view{appName=site, appNs=default}"], "{.podList[*].component}"),
        "front front"
    );

    let absent = person.types(&["ls", "-o", "jsonpath={.items[9].kind}"]);
    absent.fails(1, &["--output: path .items[9].kind: there is no element [9]: the list has 2 elements"]);
    let wrong = person.types(&["ls", "-o", "jsonpath={.items"]);
    wrong.fails(2, &["invalid value 'jsonpath={.items' for '--output <OUTPUT>'", "the closing } is missing"]);
    person.types(&["ls", "-o", "go-template={{.}}"]).fails(2, &["table, wide, json, yaml, name, jsonpath="]);
}

#[test]
fn requests_are_printed_where_asked_for() {
    let person = with_applications();
    let list = "GET /apis/core.oam.dev/v1beta1/namespaces/default/applications";
    for asked in ["--verbose", "--v=6", "--verbose=9", "--v"] {
        let said = person.types(&["ls", "-o", "name", asked]).ok();
        assert_eq!(said.out.lines().count(), 2, "{said:?}");
        assert!(
            said.err.lines().any(|line| line.starts_with(list) && line.contains(" 200 OK in ")),
            "{said:?}"
        );
    }
    for silent in [&[][..], &["--v=5"]] {
        assert!(!person.types(&[&["ls", "-o", "name"], silent].concat()).ok().err.contains("GET "));
    }
}
