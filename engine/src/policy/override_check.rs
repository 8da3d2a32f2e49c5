//! Policy `override`: what is wrong with one → findings with their places.

use serde_json::Value as Json;

use super::overrides::{self, text};
use super::reader::{Fields, Reader};
use crate::diagnostic::{Code, Diagnostic};
use crate::parse::Policy;
use crate::{names, nearest};

const ENTRY_FIELDS: &[&str] = &["name", "type", "properties", "traits", "externalRevision"];

/// This check reports errors of a policy; [`overrides::overridden`] carries it out.
pub(super) fn check(policy: &Policy, reader: &mut Reader<'_>) {
    let at = reader.properties(policy, &["components", "selector"]);
    check_changes((&at, "components"), (&at, "selector"), reader);
}

/// This reports what is wrong with the changes of components in one field, and with the selection of them in another.
pub(super) fn check_changes(
    (at, components): (&Fields<'_>, &str),
    (of_selector, selector): (&Fields<'_>, &str),
    reader: &mut Reader<'_>,
) {
    let document = reader.app.document().value();
    let written = document.pointer("/spec/components").and_then(Json::as_array);
    let mut known: Vec<&str> = written.into_iter().flatten().filter_map(|one| text(one, "name")).collect();
    // A later entry may change what another one adds.
    let entries =
        document.pointer("/spec").and_then(Json::as_object).into_iter().flat_map(overrides::policies);
    let entries = entries.filter_map(|properties| properties["components"].as_array()).flatten();
    let entries = entries.chain(at.get(components).and_then(Json::as_array).into_iter().flatten());
    known.extend(entries.filter(|entry| text(entry, "type").is_some()).filter_map(|one| text(one, "name")));
    for entry in reader.objects(at, components, ENTRY_FIELDS) {
        check_entry(&entry, &known, reader);
    }
    for (index, name) in reader.texts(of_selector, selector).iter().enumerate() {
        if !known.contains(&name.as_str()) {
            let message = format!("the policy selects component {name:?}, which does not exist");
            let hint = nearest::advice(name, "components", known.iter().copied());
            let path = format!("{}[{index}]", of_selector.path(selector));
            reader.error(Code::UnknownReference, path, message, hint);
        }
    }
}

fn check_entry(entry: &Fields<'_>, known: &[&str], reader: &mut Reader<'_>) {
    reader.text(entry, "type");
    reader.text(entry, "externalRevision");
    reader.object_of_any(entry, "properties");
    for trait_ in reader.objects(entry, "traits", &["type", "properties", "disable"]) {
        reader.flag(&trait_, "disable");
        reader.object_of_any(&trait_, "properties");
        if reader.text(&trait_, "type").is_none() {
            let message = "a trait of an override policy needs a type".to_owned();
            reader.error(Code::MissingField, trait_.path("type"), message, None);
        }
    }
    let Some(name) = reader.text(entry, "name") else { return };
    if names::is_subdomain(name) {
        if !known.contains(&name) {
            let message = format!("the policy overrides component {name:?}, which does not exist");
            let hint = nearest::did_you_mean(name, known.iter().copied())
                .unwrap_or_else(|| "give it a `type`, and the policy adds it".to_owned());
            reader.error(Code::UnknownReference, entry.path("name"), message, Some(hint));
        }
        return;
    }
    match overrides::compile(name) {
        Err(reason) => {
            let hint = "write the name of a component, `*` for any text in it, or a regular expression";
            reader.error(Code::WrongType, entry.path("name"), reason, Some(hint.to_owned()));
        }
        Ok(pattern) if !known.iter().any(|name| pattern.is_match(name)) => {
            let message = format!("no component has a name like {name:?}");
            let warning = Diagnostic::warning(Code::UnknownReference, message);
            reader.found.push(warning.at(reader.app.document(), entry.path("name")));
        }
        Ok(_) => {}
    }
}
