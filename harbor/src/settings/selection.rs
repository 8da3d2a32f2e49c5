//! HarborServerConfiguration and a namespace → whether it is for that namespace, and which one is for those that name none.

use std::collections::BTreeMap;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_runtime::Key;

use super::error::Error;
use super::reads::Reads;
use crate::field::Field;

type Labels = BTreeMap<String, String>;

/// An error where the selector of the configuration leaves the namespace of the reader out.
pub(super) async fn check(reads: &Reads<'_>, configuration: &Value) -> Result<(), Error> {
    let name = configuration["metadata"]["name"].as_str().unwrap_or_default();
    let described = format!("HarborServerConfiguration {name}");
    let spec = Field::new(&described, "spec", &configuration["spec"]);
    let Some(selector) = spec.get("namespaceSelector").set() else { return Ok(()) };
    let namespace = reads.owner.namespace();
    let found = reads.tracked.get("v1", "Namespace", &Key::new("", namespace)).await?;
    let labels = found.and_then(|found| found.metadata.labels.clone()).unwrap_or_default();
    match selects(&selector, &labels)? {
        true => Ok(()),
        false => Err(Error::NotSelected { configuration: name.to_owned(), namespace: namespace.to_owned() }),
    }
}

/// The one that is for namespaces which name none: the oldest of those that say so.
pub(super) fn default_of<'a>(all: impl IntoIterator<Item = &'a DynamicObject>) -> Option<&'a DynamicObject> {
    let age = |one: &DynamicObject| {
        let time = one.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (time, one.metadata.name.clone())
    };
    all.into_iter().filter(|one| is_default(one)).min_by_key(|one| age(one))
}

fn is_default(object: &DynamicObject) -> bool {
    object.metadata.deletion_timestamp.is_none() && object.data["spec"]["default"] == Value::Bool(true)
}

/// Does a label selector select these labels? An empty one selects everything.
pub(super) fn selects(selector: &Field<'_>, labels: &Labels) -> Result<bool, crate::error::Error> {
    let exact = selector.get("matchLabels").map()?;
    let mut selected =
        exact.iter().all(|(name, value)| labels.get(*name).is_some_and(|label| label == value));
    for requirement in selector.get("matchExpressions").list()? {
        selected &= holds(&requirement, labels)?;
    }
    Ok(selected)
}

fn holds(requirement: &Field<'_>, labels: &Labels) -> Result<bool, crate::error::Error> {
    let label = labels.get(requirement.get("key").text()?);
    let (operator, values) = (requirement.get("operator"), requirement.get("values"));
    let named = values.texts()?;
    let is_named = label.is_some_and(|label| named.contains(&label.as_str()));
    let needs_values = |holds| match named.is_empty() {
        true => Err(values.wrong("must name the values that the label may have")),
        false => Ok(holds),
    };
    match operator.text()? {
        "In" => needs_values(is_named),
        "NotIn" => needs_values(!is_named),
        "Exists" => Ok(label.is_some()),
        "DoesNotExist" => Ok(label.is_none()),
        _ => Err(operator.wrong("must be In, NotIn, Exists or DoesNotExist")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selected(selector: &Value) -> Result<bool, String> {
        let labels = [("team", "web"), ("stage", "test")];
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let field = Field::new("HarborServerConfiguration main", "spec.namespaceSelector", selector);
        selects(&field, &labels).map_err(|error| error.to_string())
    }

    #[test]
    fn a_selector_selects_as_those_of_kubernetes_do() {
        let rule = |operator: &str, key: &str, values: &[&str]| {
            let rule = match values {
                [] => json!({"key": key, "operator": operator}),
                values => json!({"key": key, "operator": operator, "values": values}),
            };
            json!({"matchLabels": {"team": "web"}, "matchExpressions": [rule]})
        };
        for (selector, expected) in [
            (json!({}), true),
            (json!({"matchLabels": {"team": "web"}}), true),
            (json!({"matchLabels": {"team": "db"}}), false),
            (json!({"matchLabels": {"team": "web", "none": ""}}), false),
            (rule("In", "stage", &["test", "live"]), true),
            (rule("In", "stage", &["live"]), false),
            (rule("NotIn", "stage", &["live"]), true),
            (rule("NotIn", "none", &["live"]), true),
            (rule("NotIn", "stage", &["test"]), false),
            (rule("Exists", "stage", &[]), true),
            (rule("Exists", "none", &[]), false),
            (rule("DoesNotExist", "none", &[]), true),
        ] {
            assert_eq!(selected(&selector), Ok(expected), "{selector}");
        }
        for (selector, said) in [
            (rule("Near", "stage", &[]), "matchExpressions[0].operator must be In, NotIn, Exists"),
            (rule("In", "stage", &[]), "matchExpressions[0].values must name the values"),
        ] {
            let error = selected(&selector).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
