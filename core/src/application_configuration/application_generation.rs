//! The Application that a configuration was stored for → whether the configuration carries its latest generation.
//!
//! The Application's own reconciles store the configuration, and may be late: what the configuration no longer names may be
//! wanted again already. Where something is to be deleted, the server is asked.

use kube::api::{ApiResource, DynamicObject};
use vela_crds::annotations::APP_GENERATION;
use vela_crds::application::Application;
use vela_runtime::Api;
use vela_runtime::apply::Error;
use vela_runtime::owner::controller_of;

use super::reconciler::ApplicationConfigurationReconciler;

/// Which generation of an Application a configuration carries.
pub(super) enum ApplicationGeneration {
    /// None: it stands for itself.
    None,
    /// The latest one of this Application.
    Latest(Box<(ApiResource, DynamicObject)>),
    /// An earlier one, or one of an Application that ends. The next one comes as a change of the configuration, which
    /// wakes us.
    Stale,
}

/// Ask the server. A configuration that says of no generation that it asked, is not asked about: those of rollouts belong
/// to one revision each, and those of an earlier release say nothing.
pub(super) async fn of(
    reconciler: &ApplicationConfigurationReconciler,
    configuration: &DynamicObject,
) -> Result<ApplicationGeneration, Error> {
    let generation =
        configuration.metadata.annotations.as_ref().and_then(|annotations| annotations.get(APP_GENERATION));
    let owner = controller_of(configuration).filter(|owner| owner.kind == "Application");
    let (Some(generation), Some(owner)) = (generation, owner) else { return Ok(ApplicationGeneration::None) };
    let resource = ApiResource::erase::<Application>(&());
    let namespace = configuration.metadata.namespace.as_deref().unwrap_or_default();
    let api: Api<DynamicObject> =
        Api::namespaced_with(reconciler.context.client.clone(), namespace, &resource);
    let live = api.get_opt(&owner.name).await.map_err(|source| {
        let object = format!("Application {namespace}/{}", owner.name);
        Error::Client { object, source }
    })?;
    let same = live.filter(|live| {
        live.metadata.uid.as_ref() == Some(&owner.uid)
            && live.metadata.generation.is_some_and(|live| live.to_string() == *generation)
    });
    Ok(same.map_or(ApplicationGeneration::Stale, |live| {
        ApplicationGeneration::Latest(Box::new((resource, live)))
    }))
}
