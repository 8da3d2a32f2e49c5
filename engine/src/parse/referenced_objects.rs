//! Components of type `ref-objects` → the objects of the cluster that they refer to, and these objects as manifests of the
//! component, beside those of its URLs (`manifest_urls`); reads nothing but the snapshot.
//!
//! The properties of such a component say where objects are. Its template sees `objects` with the objects themselves, without
//! what belongs to the one place where they were read (`copied_object`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};

use super::copied_object::copied;
use super::parser::each_component;
use super::{DEFAULT_NAMESPACE, Era, Parser};
use crate::bounds::Bounds;
use crate::definition::version::base_name;
use crate::diagnostic::{Code, Diagnostic};
use crate::field_path::type_name;
use crate::manifest::Document;
use crate::names;
use crate::nearest;
use crate::observed::ObjectKey;
use crate::placement::{LOCAL, remote};
use crate::reference::{Reference, Referenced, ReferencedKind, SELECTED_AT_MOST};

/// The type of component that refers to objects.
const TYPE: &str = "ref-objects";
/// More references of one component are refused: each is a request.
const REFERENCES_AT_MOST: usize = 200;
/// The fields of a reference.
const FIELDS: &[&str] =
    &["resource", "group", "apiVersion", "kind", "name", "namespace", "cluster", "labelSelector"];

/// The references of an application that it may have read, those in override policies among them.
pub fn referenced(application: &Document, bounds: Bounds) -> BTreeSet<Reference> {
    let mut all = BTreeSet::new();
    let own = own_namespace(application);
    each_component(application, Era::of(application.value()), |component| {
        if !is_meant(component.get("type").and_then(Json::as_str).unwrap_or_default()) {
            return;
        }
        let objects = component.pointer("/properties/objects").and_then(Json::as_array);
        let name = component.get("name").and_then(Json::as_str).unwrap_or_default();
        for written in objects.into_iter().flatten().take(REFERENCES_AT_MOST) {
            let read = written.as_object().and_then(|written| read(written, name, own).ok());
            all.extend(read.filter(|read| refusal(read, own, bounds).is_none()));
        }
    });
    all
}

/// Does a component of this type refer to objects?
pub(super) fn is_meant(type_: &str) -> bool {
    base_name(type_) == TYPE
}

fn own_namespace(application: &Document) -> &str {
    match application.namespace() {
        "" => DEFAULT_NAMESPACE,
        namespace => namespace,
    }
}

/// Why an application may not have it read.
fn refusal(reference: &Reference, own: &str, bounds: Bounds) -> Option<(String, String)> {
    let kind = match &reference.kind {
        ReferencedKind::Resource(resource, _) => resource,
        ReferencedKind::Kind(_, kind) => kind,
    };
    bounds.refusal_of_reading(&ObjectKey::local("", kind, &reference.namespace, &reference.name), own)
}

/// A mistake in a reference: the field, or "" for the whole.
struct Mistake(&'static str, Code, String);

/// A reference as it is written by a component of this name, in an application of the namespace `own`.
fn read(written: &Map<String, Json>, component: &str, own: &str) -> Result<Reference, Mistake> {
    let text = |field: &'static str| match written.get(field) {
        None | Some(Json::Null) => Ok(""),
        Some(Json::String(text)) => Ok(text.as_str()),
        Some(other) => {
            let message = format!("expected a string, found {}", type_name(other));
            Err(Mistake(field, Code::WrongType, message))
        }
    };
    let cluster = text("cluster")?;
    if !remote(cluster).is_empty() {
        let message = format!(
            "cluster {cluster:?}: other clusters are not supported yet; write {LOCAL:?}, or leave it out"
        );
        return Err(Mistake("cluster", Code::NotSupported, message));
    }
    let kind = kind(text("resource")?, text("group")?, (text("apiVersion")?, text("kind")?))?;
    let labels = labels(written)?;
    let name = match text("name")? {
        // As upstream: an object that is named by nothing has the name of the component.
        "" if labels.is_empty() => component,
        name => name,
    };
    if !name.is_empty() && !labels.is_empty() {
        let message = "name and labelSelector exclude each other; keep one of the two".to_owned();
        return Err(Mistake("labelSelector", Code::WrongType, message));
    }
    if !name.is_empty() && !names::is_subdomain(name) {
        return Err(Mistake("name", Code::WrongType, format!("{name:?} is not the name of an object")));
    }
    let namespace = match text("namespace")? {
        "" => own,
        namespace if names::is_label(namespace) => namespace,
        wrong => {
            return Err(Mistake(
                "namespace",
                Code::WrongType,
                format!("{wrong:?} is not the name of a namespace"),
            ));
        }
    };
    Ok(Reference { kind, namespace: namespace.to_owned(), name: name.to_owned(), labels })
}

fn kind(resource: &str, group: &str, (api_version, kind): (&str, &str)) -> Result<ReferencedKind, Mistake> {
    let is_word =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-/".contains(&byte));
    for (field, value) in
        [("resource", resource), ("group", group), ("apiVersion", api_version), ("kind", kind)]
    {
        if !is_word(value) || value.contains("..") {
            return Err(Mistake(
                field,
                Code::WrongType,
                format!("{value:?} cannot be part of the name of a kind"),
            ));
        }
    }
    match (resource, api_version, kind) {
        ("", "", _) | ("", _, "") => {
            let message =
                "it names no kind; write `resource`, such as \"deployment\", or `apiVersion` and `kind`";
            Err(Mistake("", Code::MissingField, message.to_owned()))
        }
        ("", ..) => Ok(ReferencedKind::Kind(api_version.to_owned(), kind.to_owned())),
        _ => {
            let group = (!group.is_empty()).then(|| group.to_owned());
            Ok(ReferencedKind::Resource(resource.to_lowercase(), group))
        }
    }
}

fn labels(written: &Map<String, Json>) -> Result<BTreeMap<String, String>, Mistake> {
    let wrong = |what: String| Mistake("labelSelector", Code::WrongType, what);
    let given = match written.get("labelSelector") {
        None | Some(Json::Null) => return Ok(BTreeMap::new()),
        Some(Json::Object(given)) => given,
        Some(other) => {
            return Err(wrong(format!("expected labels with their values, found {}", type_name(other))));
        }
    };
    let label = |(name, value): (&String, &Json)| {
        let value = value
            .as_str()
            .ok_or_else(|| format!("label {name:?}: expected a string, found {}", type_name(value)))?;
        vela_kinds::names::qualified_name(name).map_err(|why| format!("label {name:?}: {why}"))?;
        vela_kinds::names::label_value(value).map_err(|why| format!("label {name:?}: {why}"))?;
        Ok((name.clone(), value.to_owned()))
    };
    given.iter().map(label).collect::<Result<_, String>>().map_err(wrong)
}

impl<'a> Parser<'a> {
    /// The properties of a component as its template sees them, and which of its objects are not known; nothing where it does not
    /// refer to objects.
    pub(super) fn referenced(
        &mut self,
        path: &str,
        (type_, name): (&str, &str),
        given: &'a Json,
    ) -> Option<(Json, Vec<String>)> {
        if !is_meant(type_) {
            return None;
        }
        let path = format!("{path}.{}", self.era.properties_field());
        self.referring_form(&path, given);
        let written = self.list(&format!("{path}.objects"), given.get("objects"));
        if written.len() > REFERENCES_AT_MOST {
            let message = format!("{} references; the limit is {REFERENCES_AT_MOST}", written.len());
            self.error(Code::Limit, &format!("{path}.objects"), message, None);
            return Some((json!({"objects": []}), Vec::new()));
        }
        let (mut objects, mut unknown) = (Vec::new(), Vec::new());
        for (index, written) in written.iter().enumerate() {
            let path = format!("{path}.objects[{index}]");
            match self.objects_of(&path, name, written) {
                Some(Ok(found)) => objects.extend(found),
                Some(Err(why)) => unknown.push(why),
                // Its mistake is told; what the template makes without it is none.
                None => unknown.push(format!("{path} is not right")),
            }
        }
        let urls = self.list(&format!("{path}.urls"), given.get("urls"));
        let (loaded, not_asked) = self.of_urls(&format!("{path}.urls"), name, urls);
        objects.extend(loaded);
        unknown.extend(not_asked);
        self.objects_once(&path, own_namespace(self.document), &objects);
        if objects.is_empty() && unknown.is_empty() {
            unknown.push(format!("{path} names no object"));
        }
        Some((json!({"objects": objects}), unknown))
    }

    /// Is it written as such a component may be?
    fn referring_form(&mut self, path: &str, given: &Json) {
        if self.era != Era::V1beta1 {
            let message = format!("components of type {TYPE:?} need the form of core.oam.dev/v1beta1");
            self.error(
                Code::NotSupported,
                path,
                message,
                Some("write `properties` in the place of `settings`".to_owned()),
            );
        }
        let plan = self.document.value().pointer("/spec/rolloutPlan").filter(|plan| !plan.is_null());
        if plan.is_some() {
            let message = format!("components of type {TYPE:?} are not supported beside spec.rolloutPlan");
            self.error(
                Code::NotSupported,
                path,
                message,
                Some("put them into an application of their own".to_owned()),
            );
        }
        let is_empty = |field: &str| match given.get(field) {
            Some(Json::Array(all)) => all.is_empty(),
            // A value that is no list has a mistake of its own.
            given => given.is_none_or(Json::is_null),
        };
        if is_empty("objects") && is_empty("urls") {
            let message = format!("a component of type {TYPE:?} refers to no object");
            let hint = "name at least one under `objects`, such as {resource: secret, name: login}, or a URL under `urls`";
            self.error(Code::MissingField, path, message, Some(hint.to_owned()));
        }
        for field in given
            .as_object()
            .into_iter()
            .flat_map(Map::keys)
            .filter(|field| !["objects", "urls"].contains(&field.as_str()))
        {
            let hint = nearest::advice(field, "parameters", ["objects", "urls"]);
            self.unknown(format!("{path}.{field}"), format!("unsupported parameter {field:?}"), hint);
        }
    }

    /// A field that means nothing, told at its name.
    fn unknown(&mut self, path: String, message: String, hint: Option<String>) {
        let error = Diagnostic::error(Code::UnknownParameter, message);
        self.found.push(error.at_key(self.document, path).hint_opt(hint));
    }

    /// The objects of one reference, or why they are not known; nothing where that is an error.
    fn objects_of(
        &mut self,
        path: &str,
        component: &str,
        written: &'a Json,
    ) -> Option<Result<Vec<Json>, String>> {
        let fields = self.object(path, Some(written));
        for field in fields.keys().filter(|field| !FIELDS.contains(&field.as_str())) {
            let hint = nearest::advice(field, "fields", FIELDS.iter().copied());
            self.unknown(format!("{path}.{field}"), format!("unknown field {field:?}"), hint);
        }
        let own = own_namespace(self.document);
        let reference = match read(fields, component, own) {
            Ok(reference) => reference,
            Err(Mistake(field, code, message)) => {
                let path = format!("{path}.{field}");
                self.error(code, path.trim_end_matches('.'), message, None);
                return None;
            }
        };
        if let Some((message, hint)) = refusal(&reference, own, self.snapshot.bounds()) {
            self.error(Code::Refused, path, message, Some(hint));
            return None;
        }
        match self.snapshot.referenced(&reference) {
            None => Some(Err(format!("{reference} is known only to a cluster, and none was asked"))),
            Some(Referenced::Withheld) => {
                Some(Err(format!("{reference}: the content of a Secret is not read for a preview")))
            }
            Some(Referenced::Objects(found)) if !found.is_empty() => {
                Some(Ok(found.iter().map(copied).collect()))
            }
            Some(other) => {
                let (code, message, hint) = failure(&reference, other);
                self.error(code, path, message, Some(hint));
                None
            }
        }
    }
}

/// Why a reference leads to no objects.
fn failure(reference: &Reference, found: &Referenced) -> (Code, String, String) {
    match found {
        Referenced::UnknownKind => {
            let hint =
                "write the plural or the singular of the resource, and its `group` where two groups have it";
            (Code::UnknownReference, format!("{reference}: the cluster has no such kind"), hint.to_owned())
        }
        Referenced::Refused(message, hint) => (Code::Refused, message.clone(), hint.clone()),
        Referenced::TooMany => {
            let hint = "select fewer by further labels".to_owned();
            (Code::Limit, format!("{reference}: more than {SELECTED_AT_MOST} objects"), hint)
        }
        Referenced::Withheld | Referenced::Objects(_) => {
            let hint = "the object must be there before; name another one, or create it".to_owned();
            (Code::UnknownReference, format!("{reference} does not exist"), hint)
        }
    }
}
