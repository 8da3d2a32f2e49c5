//! Configurations that one Application stored for its revisions → whose turn it is with an object that several name.
//!
//! A rollout goes from one revision's configuration to the next one's. Workloads carry the revision in their names;
//! a trait keeps its name, and the newest configuration that names it has it.

use kube::api::DynamicObject;
use vela_crds::annotations::APP_REVISION;
use vela_engine::application_configuration::revision::number_of;
use vela_runtime::Key;
use vela_runtime::owner::controller_of;

use super::reconciler::ApplicationConfigurationReconciler;

/// The holder of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// No owner, this configuration, or an owner that is no sibling of it.
    Other,
    /// The configuration of a former revision: it gives the object up.
    Former,
    /// The configuration of a later revision: it keeps the object.
    Later,
}

/// The holder of the live object, as seen by the configuration of this key.
pub(super) fn holder(
    reconciler: &ApplicationConfigurationReconciler,
    configuration: &Key,
    live: &DynamicObject,
) -> Holder {
    compare(reconciler, configuration, live).unwrap_or(Holder::Other)
}

fn compare(
    reconciler: &ApplicationConfigurationReconciler,
    key: &Key,
    live: &DynamicObject,
) -> Option<Holder> {
    let owner = controller_of(live).filter(|owner| owner.kind == "ApplicationConfiguration")?;
    let other = reconciler.configurations.get(&Key::new(key.namespace.clone(), owner.name.clone()))?;
    let own = reconciler.configurations.get(key)?;
    let application = controller_of(&own).filter(|owner| owner.kind == "Application")?;
    let same = controller_of(&other).is_some_and(|owner| owner.uid == application.uid)
        && other.metadata.uid.as_deref() == Some(&owner.uid)
        && owner.name != key.name;
    let marked = other.metadata.annotations.as_ref().and_then(|all| all.get(APP_REVISION));
    if marked.is_some_and(|marked| marked == "true") {
        // A mere record gives up what it has.
        return same.then_some(Holder::Former);
    }
    let order = number(&key.name, &application.name).cmp(&number(&owner.name, &application.name));
    same.then_some(match order {
        std::cmp::Ordering::Greater => Holder::Former,
        std::cmp::Ordering::Less => Holder::Later,
        std::cmp::Ordering::Equal => Holder::Other,
    })
}

/// N of `<application>-vN`; the configuration with the application's own name is of no rollout and comes last.
fn number(configuration: &str, application: &str) -> u64 {
    match configuration == application {
        true => u64::MAX,
        false => number_of(configuration).unwrap_or(0),
    }
}
