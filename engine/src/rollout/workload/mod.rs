//! Rolls the workloads of each kind: gives the writes of a step, and whether it is done, waits or failed.

mod daemon_set;
mod deployment;
mod hold;
mod in_place;
mod object;
mod scale;
mod step;

pub use hold::{can_wait, changes_in_place, has_begun, hold, keep_size, name};
pub use object::{InPlaceKind, is_controlled_by};
pub use step::{Note, Outcome, Owner, Record, View, Workload, WorkloadStep, Write, batch_number};

/// How a workload is rolled out: by its group and kind, and whether there is a source.
///
/// # Errors
/// Workloads of this kind cannot be rolled out so.
pub fn strategy(api_version: &str, kind: &str, has_source: bool) -> Result<Box<dyn Workload>, String> {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    Ok(match (group, kind, has_source) {
        ("apps", "Deployment", true) => Box::new(deployment::Replace),
        ("apps", "DaemonSet", true) => Box::new(daemon_set::OnDelete),
        ("apps" | "apps.kruise.io", "DaemonSet", false) => {
            return Err(
                "a DaemonSet has a pod on every node, so it cannot be scaled; name the revision to come \
                        from to roll out another one"
                    .to_owned(),
            );
        }
        _ => match (InPlaceKind::of(group, kind), has_source) {
            (Some(kind), true) => Box::new(in_place::InPlace(kind)),
            (Some(kind), false) => Box::new(scale::Scale(Some(kind))),
            (None, false) if (group, kind) == ("apps", "Deployment") => Box::new(scale::Scale(None)),
            (None, _) => {
                return Err(format!(
                    "the workload kind `{kind}` is not supported: a rollout needs a Deployment, StatefulSet or DaemonSet, \
                     or one of OpenKruise's CloneSet, StatefulSet and DaemonSet"
                ));
            }
        },
    })
}

#[cfg(test)]
pub(crate) mod tests;
