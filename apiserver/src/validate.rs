//! The metadata of an object in, the causes for which it is refused out. What lies outside metadata is not looked at.

use serde_json::Value;

use crate::cause::Cause;
use crate::object;
use crate::registry::Resource;

const LABEL_VALUE_MAX: usize = 63;
const PREFIX_MAX: usize = 253;
const NAME_MAX: usize = 253;
/// All annotations of an object together.
const ANNOTATIONS_MAX_BYTES: usize = 256 * 1024;
const FINALIZERS_MAX: usize = 1000;

/// Finalizers that need no domain.
const STANDARD_FINALIZERS: &[&str] =
    &["orphan", "foregroundDeletion", "kubernetes", "customresourcecleanup.apiextensions.k8s.io"];

const LABEL_FORM: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
                          must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex \
                          used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_FORM: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' \
                              or '.', and must start and end with an alphanumeric character (e.g. 'example.com', \
                              regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED_FORM: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and \
                              end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex \
                              used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_FORM: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
                          '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
                          'my_value',  or '12345', regex used for validation is \
                          '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Checks the metadata of a new object, or of one that replaces `old`.
pub(crate) fn metadata(resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let name = object::name(new);
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else if let Err(why) = object_name(resource, name) {
        causes.push(Cause::invalid("metadata.name", &Value::from(name), why));
    }
    let Some(metadata) = object::metadata(new) else { return causes };
    if let Some(labels) = metadata.get("labels").and_then(Value::as_object) {
        for (key, value) in labels {
            if let Err(why) = qualified_name(key) {
                causes.push(Cause::invalid("metadata.labels", &Value::from(key.as_str()), why));
            }
            let text = value.as_str().unwrap_or_default();
            if let Err(why) = label_value(text) {
                causes.push(Cause::invalid("metadata.labels", value, why));
            }
        }
    }
    if let Some(annotations) = metadata.get("annotations").and_then(Value::as_object) {
        let mut bytes = 0;
        for (key, value) in annotations {
            bytes += key.len() + value.as_str().map_or(0, str::len);
            if let Err(why) = qualified_name(&key.to_lowercase()) {
                causes.push(Cause::invalid("metadata.annotations", &Value::from(key.as_str()), why));
            }
        }
        if bytes > ANNOTATIONS_MAX_BYTES {
            causes.push(Cause::too_long("metadata.annotations", ANNOTATIONS_MAX_BYTES as u64));
        }
    }
    let finalizers = object::finalizers(new);
    if finalizers.len() > FINALIZERS_MAX {
        causes.push(Cause::too_many("metadata.finalizers", finalizers.len(), FINALIZERS_MAX as u64));
    }
    for (at, finalizer) in finalizers.iter().enumerate() {
        if let Err(why) = qualified_name(finalizer) {
            causes.push(Cause::invalid("metadata.finalizers", &Value::from(*finalizer), why));
        } else if !resource.is_custom()
            && !finalizer.contains('/')
            && !STANDARD_FINALIZERS.contains(finalizer)
        {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid(format!("metadata.finalizers[{at}]"), &Value::from(*finalizer), why));
        }
    }
    if let Some(old) = old.filter(|old| object::is_deleting(old)) {
        let before = object::finalizers(old);
        if let Some(added) = finalizers.iter().find(|f| !before.contains(f)) {
            causes.push(Cause::forbidden(
                "metadata.finalizers",
                format!("no new finalizers can be added if the object is being deleted, found new finalizers []string{{{added:?}}}"),
            ));
        }
    }
    owner_references(metadata.get("ownerReferences"), &mut causes);
    causes
}

fn owner_references(references: Option<&Value>, causes: &mut Vec<Cause>) {
    let Some(list) = references.and_then(Value::as_array) else { return };
    let mut controllers = 0;
    for reference in list {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if reference[field].as_str().unwrap_or_default().is_empty() {
                let place = format!("metadata.ownerReferences.{field}");
                causes.push(Cause::invalid(place, &Value::from(""), "must not be empty"));
            }
        }
        controllers += usize::from(reference["controller"] == true);
    }
    if controllers > 1 {
        causes.push(Cause::invalid(
            "metadata.ownerReferences",
            &Value::Array(list.clone()),
            "Only one reference can have Controller set to true",
        ));
    }
}

/// Checks a name by the rule of its kind.
pub(crate) fn object_name(resource: &Resource, name: &str) -> Result<(), String> {
    let built_in = !resource.is_custom();
    match resource.kind.as_str() {
        // Names of these may hold colons; they only must be one path segment.
        "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding" if built_in => path_segment(name),
        "Namespace" | "Service" if built_in => dns_label(name),
        _ => subdomain(name),
    }
}

fn path_segment(name: &str) -> Result<(), String> {
    if name == "." || name == ".." {
        Err(format!("may not be '{name}'"))
    } else if name.contains(['/', '%']) {
        Err("may not contain '/' or '%'".into())
    } else {
        Ok(())
    }
}

fn is_label(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    edge(text.chars().next())
        && edge(text.chars().last())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

fn dns_label(name: &str) -> Result<(), String> {
    if name.len() > LABEL_VALUE_MAX {
        Err(format!("must be no more than {LABEL_VALUE_MAX} characters"))
    } else if is_label(name) {
        Ok(())
    } else {
        Err(LABEL_FORM.into())
    }
}

fn subdomain(name: &str) -> Result<(), String> {
    if name.len() > NAME_MAX {
        Err(format!("must be no more than {NAME_MAX} characters"))
    } else if name.split('.').all(is_label) {
        Ok(())
    } else {
        Err(SUBDOMAIN_FORM.into())
    }
}

fn is_name_part(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    edge(text.chars().next())
        && edge(text.chars().last())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// `prefix/name` as in labels, annotations and finalizers.
pub(crate) fn qualified_name(key: &str) -> Result<(), String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if let Some(prefix) = prefix {
        if prefix.is_empty() {
            return Err("prefix part must be non-empty".into());
        }
        if prefix.len() > PREFIX_MAX || !prefix.split('.').all(is_label) {
            return Err(format!("prefix part {SUBDOMAIN_FORM}"));
        }
    }
    if name.is_empty() {
        Err(format!("name part must be non-empty, {QUALIFIED_FORM}"))
    } else if name.len() > LABEL_VALUE_MAX {
        Err(format!("name part must be no more than {LABEL_VALUE_MAX} characters"))
    } else if is_name_part(name) {
        Ok(())
    } else {
        Err(QUALIFIED_FORM.into())
    }
}

fn label_value(value: &str) -> Result<(), String> {
    if value.len() > LABEL_VALUE_MAX {
        Err(format!("must be no more than {LABEL_VALUE_MAX} characters"))
    } else if value.is_empty() || is_name_part(value) {
        Ok(())
    } else {
        Err(VALUE_FORM.into())
    }
}
