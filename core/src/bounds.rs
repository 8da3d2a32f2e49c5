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
    for index in 0..graph.len() {
        let path = graph.component(index).map_or("", |component| component.path.as_str());
        for rendered in graph.objects_of(index) {
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
