//! What `vela install --print` prints → the Helm chart and the kustomize base in `deploy`, which these tests hold current.
//!
//! Every template is made of the printed objects themselves: what differs with a flag stands below the value of that flag. So the
//! chart renders what the command prints, and nothing is written twice.

mod choices;
mod merge;
mod texts;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use self::choices::{ALL, CHOICES, Mask, closed, is_valid};
use self::merge::{Tree, merged};
use crate::installation::record::Id;
use crate::pointer::text;
use crate::system_namespace::USUAL;

/// Objects in the order of the command, by their titles.
type Printed = Vec<(String, Value)>;

/// What the command prints for choices; each is asked for once.
#[derive(Default)]
struct Printer {
    printed: BTreeMap<Mask, Printed>,
}

impl Printer {
    fn all(&mut self, mask: Mask) -> &Printed {
        self.printed.entry(mask).or_insert_with(|| {
            let objects = choices::objects(mask);
            objects.into_iter().map(|object| (key(&object), texts::marked(object))).collect()
        })
    }

    fn one(&mut self, mask: Mask, key: &str) -> Option<Value> {
        self.all(mask).iter().find(|(other, _)| other == key).map(|(_, object)| object.clone())
    }

    /// The choices that make a difference to an object, alone or beside all others.
    fn relevant(&mut self, key: &str) -> Vec<usize> {
        let all = (0..CHOICES.len()).filter(|choice| {
            let alone = closed(1 << choice);
            let without = ALL
                & !(0..CHOICES.len())
                    .filter(|other| closed(1 << other) & (1 << choice) != 0)
                    .fold(0, |mask, other| mask | 1 << other);
            let pairs = [(alone & !(1 << choice), alone), (without, without | 1 << choice)];
            pairs.into_iter().any(|(off, on)| self.one(off, key) != self.one(on, key))
        });
        all.collect()
    }

    /// The template of an object: what differs stands below the choices that it differs with.
    fn template(&mut self, key: &str) -> Vec<String> {
        let relevant = self.relevant(key);
        let mut tree =
            Tree { relevant: &relevant, variant: |mask| texts::lines(self.one(mask, key).as_ref()) };
        merged(&mut tree, 0, 0, 0).unwrap_or_default()
    }
}

fn key(object: &Value) -> String {
    let Id { kind, namespace, name, .. } = Id::of(object);
    format!("{kind} {namespace}/{name}")
}

fn deploy(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(path)
}

/// The file of the chart that an object stands in; nothing for kinds, which are no templates.
fn file(object: &Value) -> Option<&'static str> {
    let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
    let of = |part: &str| name.contains(part) || text(object, "/metadata/namespace").contains(part);
    match kind {
        "CustomResourceDefinition" => None,
        kind if kind.ends_with("Definition") => Some("definitions.yaml"),
        _ if of("dapr") => Some("dapr.yaml"),
        _ if of("harbor") => Some("harbor.yaml"),
        kind if kind.ends_with("WebhookConfiguration") => Some("webhooks.yaml"),
        "Deployment" | "Service" => Some("controller.yaml"),
        _ => Some("access.yaml"),
    }
}

/// Where the kinds of a group lie in the chart.
fn kinds_file(object: &Value) -> &'static str {
    match text(object, "/spec/group") {
        "dapr.io" => "chart/charts/dapr/crds/dapr.yaml",
        "goharbor.io" => "chart/charts/harbor/crds/harbor.yaml",
        _ => "chart/crds/core.yaml",
    }
}

/// A document on a line: JSON is YAML, and takes a third of the room.
fn document(object: &Value) -> String {
    format!("---\n{object}\n")
}

#[test]
fn the_chart_is_what_install_prints() {
    let mut printer = Printer::default();
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let objects = printer.all(ALL).clone();
    for (key, object) in &objects {
        match file(object) {
            None => {
                files.entry(kinds_file(object).to_owned()).or_default().push_str(&document(object));
            }
            Some(name) => {
                let text = texts::finished(&printer.template(key));
                files.entry(format!("chart/templates/{name}")).or_default().push_str(&text);
            }
        }
    }
    files.extend(texts::written_by_hand());
    assert_eq!(files.len(), 16, "{:?}", files.keys());
    for (name, text) in files {
        // Steps say what is usual where a controller does not tell.
        let named = text.replace(&format!("_system: \"{USUAL}\""), "");
        assert!(
            !named.contains(USUAL) && !named.contains(texts::NAMESPACE),
            "{name} names a namespace itself"
        );
        let text = if name.ends_with(".yaml") { format!("{}{text}", texts::HEAD) } else { text };
        vela_testkit::golden(deploy(&name), &text);
    }
}

#[test]
fn the_kustomize_base_is_what_install_prints() {
    let words = ["--controller-image", texts::BASE_IMAGE];
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for object in choices::objects_of(USUAL, &words) {
        let name = file(&object).unwrap_or("crds.yaml");
        let text = match name {
            "crds.yaml" => document(&object),
            _ => format!("---\n{}\n", texts::yaml(&object)),
        };
        files.entry(name).or_default().push_str(&text);
    }
    let mut list = texts::KUSTOMIZATION.to_owned();
    for name in files.keys() {
        list.push_str(&format!("  - {name}\n"));
    }
    files.insert("kustomization.yaml", list);
    assert_eq!(files.len(), 5, "{:?}", files.keys());
    for (name, text) in files {
        vela_testkit::golden(deploy("kustomize").join(name), &format!("{}{text}", texts::HEAD));
    }
}

#[test]
fn choices_bring_what_they_need() {
    let webhooks = choices::find("--webhooks");
    let (authors, image) = (choices::find("--authenticate-application"), choices::find("--controller-image"));
    assert_eq!(closed(1 << authors), 1 << authors | 1 << webhooks | 1 << image);
    assert!(is_valid(closed(1 << authors)) && !is_valid(1 << authors) && is_valid(0) && is_valid(ALL));
}
