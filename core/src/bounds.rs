//! Checks that all objects of a graph lie in the application's namespace, where only the cluster knows which kinds have
//! none.

use vela_engine::{Code, Diagnostic, Diagnostics, Graph};

use crate::context::Context;

/// Refuses objects of kinds without namespaces, where applications may make none. Kinds of Kubernetes itself are refused
/// by the render already, which also dry runs and webhooks do.
pub(crate) async fn check(context: &Context, graph: &Graph) -> Result<(), Diagnostics> {
    let bounds = context.options.bounds();
    if !bounds.own_namespace {
        return Ok(());
    }
    let mut found = Diagnostics::new();
    let of_policies = graph.policies().iter().map(|policy| {
        let written = graph.app_file().policies().get(policy.index);
        (written.map_or("", |policy| policy.path.as_str()), policy.objects.as_slice())
    });
    let of_components = (0..graph.len()).map(|index| {
        let path = graph.component(index).map_or("", |component| component.path.as_str());
        (path, graph.objects_of(index))
    });
    for (path, objects) in of_policies.chain(of_components) {
        for rendered in objects {
            let key = rendered.key();
            // An unknown kind is told of when its object is applied.
            let kind = context.discovery.resolve(&key.api_version, &key.kind).await;
            if kind.is_ok_and(|kind| !kind.namespaced)
                && let Some((message, hint)) = bounds.refusal_of_cluster(&key)
            {
                let error = Diagnostic::error(Code::Refused, message);
                found.push(error.at(graph.app_file().document(), path).hint(hint));
            }
        }
    }
    found.or(()).map(drop)
}
