//! The rules of the cluster: what a write may not do, and what the server adds to an object before it is validated.

mod kind;
mod namespace;
mod service;

use serde_json::Value;

pub(crate) use service::FIRST_CLUSTER_IP;

use crate::catalog::Resource;
use crate::object;
use crate::status::ApiResult;
use crate::verbs::{Admission, Context};

/// The rules that every cluster has.
#[derive(Debug)]
pub(crate) struct ClusterRules;

impl Admission for ClusterRules {
    fn create(
        &self,
        context: &Context<'_>,
        resource: &Resource,
        namespace: &str,
        new: &mut Value,
    ) -> ApiResult<()> {
        namespace::check(context, resource, namespace, object::name(new))?;
        kind::identify(context, resource, new);
        kind::prepare(context, resource, None, new);
        match (resource.group.as_str(), resource.kind.as_str()) {
            ("", "Service") => service::allocate(context, resource, new),
            ("", "Namespace") => {
                namespace::complete(new);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn update(
        &self,
        context: &Context<'_>,
        resource: &Resource,
        subresource: &str,
        old: &Value,
        new: &mut Value,
    ) -> ApiResult<()> {
        kind::prepare(context, resource, Some(old), new);
        if subresource != "status" {
            kind::count_generation(resource, old, new);
        }
        Ok(())
    }

    fn delete(&self, resource: &Resource, name: &str) -> ApiResult<()> {
        namespace::check_delete(resource, name)
    }
}
