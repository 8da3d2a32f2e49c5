//! The owner of each field after a write: the request as the tracking of field managers takes it.

use serde_json::Value;

use super::options::{ObjectRef, WriteOptions};
use crate::apply;
use crate::catalog::Resource;

/// Whether the owners of changed fields are still to be worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tracking {
    /// The fields that differ belong to the writer.
    Update,
    /// Server-side apply has worked out who owns what.
    Applied,
}

/// A write by this manager at this time.
pub(super) fn request<'a>(
    target: &ObjectRef<'a>,
    options: &'a WriteOptions,
    now: &'a str,
) -> apply::Request<'a> {
    let ObjectRef { resource, subresource, .. } = *target;
    apply::Request {
        manager: &options.manager,
        force: options.force,
        subresource: Some(subresource).filter(|s| !s.is_empty()),
        api_version: &resource.api_version,
        now,
        status_subresource: resource.status,
        schema: schema_of(resource),
    }
}

/// Records in `new` who owns what differs from `old`.
pub(super) fn update(tracking: Tracking, old: Option<&Value>, new: &mut Value, request: &apply::Request<'_>) {
    if tracking == Tracking::Update {
        apply::track_update(old, new, request);
    }
}

fn schema_of(resource: &Resource) -> apply::Schema<'_> {
    match resource.structural() {
        Some(structural) => apply::Schema::Crd(structural),
        None => apply::Schema::BuiltIn { api_version: &resource.api_version, kind: &resource.kind },
    }
}
