//! List: the objects of a resource, all at once or page by page.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::context::Context;
use super::convert::converted;
use super::render;
use super::resource_version::{check_not_future, expired};
use super::storage::Storage;
use crate::catalog::Resource;
use crate::cause::Cause;
use crate::http::{Answer, Call, Query};
use crate::object;
use crate::selector::Selector;
use crate::status::{ApiError, ApiResult};
use crate::store::Entry;

/// Answers with the objects that the path and the selectors name.
pub(crate) fn list(context: &Context<'_>, resource: &Resource, call: &Call) -> ApiResult<Answer> {
    resource.require("list")?;
    let selector = Selector::read(resource, &call.query)?;
    let namespace = call.place.namespace.as_deref();
    let limit = call.query.number("limit")?.unwrap_or(0);
    let page = page(context.store, resource, namespace, &selector, limit, &call.query)?;
    let mut meta = json!({ "resourceVersion": page.revision.to_string() });
    if let Some(token) = page.next {
        meta["continue"] = token.into();
        if selector.is_empty() {
            meta["remainingItemCount"] = page.remaining.into();
        }
    }
    Ok(Answer::ok(render::many(context, resource, &page.entries, meta, call)))
}

struct Page {
    entries: Vec<Arc<Entry>>,
    revision: u64,
    next: Option<String>,
    remaining: usize,
}

fn page(
    store: &dyn Storage,
    resource: &Resource,
    namespace: Option<&str>,
    selector: &Selector,
    limit: u64,
    query: &Query,
) -> ApiResult<Page> {
    let asked = query.number("resourceVersion")?;
    let how = query.text("resourceVersionMatch");
    let token = query.text("continue");
    let (entries, revision, after) = if token.is_empty() {
        match (how, asked) {
            ("Exact", Some(exact)) if exact > 0 => {
                check_not_future(store, exact)?;
                let entries = store.list_at(&resource.store, namespace, exact).map_err(expired)?;
                (entries, exact, None)
            }
            ("" | "Exact" | "NotOlderThan", _) => {
                check_not_future(store, asked.unwrap_or(0))?;
                let (entries, revision) = list_now(store, resource, namespace, selector);
                (entries, revision, None)
            }
            (other, _) => {
                let allowed = ["Exact", "NotOlderThan", ""];
                let cause = Cause::not_supported("resourceVersionMatch", &Value::from(other), &allowed);
                return Err(ApiError::invalid_options("ListOptions", cause));
            }
        }
    } else {
        let (revision, after) = read_token(token).ok_or_else(|| {
            ApiError::bad_request("continue key is not valid: it was not made by this server")
        })?;
        let entries = store.list_at(&resource.store, namespace, revision).map_err(|_| {
            ApiError::gone(
                "The provided continue parameter is too old to display a consistent list result. You must start \
                 a new list without the continue parameter.",
            )
        })?;
        (entries, revision, Some(after))
    };
    let position = |entry: &Entry| (object::namespace(entry).to_owned(), object::name(entry).to_owned());
    let mut rest = entries
        .into_iter()
        .filter(|entry| after.as_ref().is_none_or(|after| position(entry) > *after))
        .filter(|entry| selector.is_empty() || selector.matches(&converted(resource, &entry.opened())));
    if limit == 0 {
        return Ok(Page { entries: rest.collect(), revision, next: None, remaining: 0 });
    }
    let page: Vec<_> = rest.by_ref().take(usize::try_from(limit).unwrap_or(usize::MAX)).collect();
    let remaining = rest.count();
    let next = page.last().filter(|_| remaining > 0).map(|last| make_token(revision, &position(last)));
    Ok(Page { entries: page, revision, next, remaining })
}

/// The present objects; one look-up instead of a scan where the selector names the object.
fn list_now(
    store: &dyn Storage,
    resource: &Resource,
    namespace: Option<&str>,
    selector: &Selector,
) -> (Vec<Arc<Entry>>, u64) {
    match (selector.name(), namespace) {
        (Some(name), Some(namespace)) => {
            let revision = store.revision();
            let found = store.get(&resource.key(namespace, name));
            (found.into_iter().collect(), revision)
        }
        _ => store.list(&resource.store, namespace),
    }
}

fn make_token(revision: u64, (namespace, name): &(String, String)) -> String {
    URL_SAFE_NO_PAD
        .encode(json!({ "v": "vela/v1", "rv": revision, "ns": namespace, "start": name }).to_string())
}

fn read_token(token: &str) -> Option<(u64, (String, String))> {
    let value: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    let text = |field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
    Some((value.get("rv")?.as_u64()?, (text("ns")?, text("start")?)))
}
