//! Decides about the sidecar of a pod: a pod with its annotations in, a JSON patch or a refusal out. Nothing here asks a server.
//!
//! Flow: a review (`review`) → [`wish`]: does the pod ask, may its author, and does it have one already → [`inject`]: the
//! annotations (`reader`, in the small languages of `words`) give what several parts follow from (`asked`), the container with its
//! `arguments`, the `volumes`, the containers of `components` → `patch`.

mod arguments;
mod asked;
mod components;
mod container;
mod patch;
mod reader;
mod review;
mod settings;
mod volumes;
mod words;

use json_patch::{Patch, PatchError};
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::annotations::{APP_ID, AnnotationError, ENABLED, check_app_id, is_truthy};
use asked::Asked;
use container::Place;
use patch::{Additions, list};
use reader::Reader;

pub(crate) use review::{Answer, Review};
pub use settings::{AccountsError, AllowedAccounts, Confinement, PeerService, SidecarSettings};

/// The label of a pod that got its sidecar.
pub(crate) const INJECTED: &str = "dapr.io/sidecar-injected";
const METRICS_ENABLED: &str = "dapr.io/metrics-enabled";
const INJECT_COMPONENTS: &str = "dapr.io/inject-pluggable-components";

/// What a pod wants, before anything is read of the cluster.
#[derive(Debug, PartialEq)]
pub(crate) enum Wish {
    /// This is no pod.
    NoPod,
    /// No sidecar, and perhaps a word about why.
    Nothing(Option<String>),
    /// Its author may not ask for one.
    Forbidden(String),
    /// A sidecar for the application of this id.
    Sidecar {
        /// The id.
        app_id: String,
        /// Whether Components of the namespace bring containers.
        components: bool,
    },
}

/// What the cluster says beside the pod.
#[derive(Debug)]
pub(crate) struct Facts {
    /// Whether sidecars speak mutual TLS.
    pub(crate) mtls: bool,
    /// The Components that the application sees.
    pub(crate) components: Vec<DynamicObject>,
}

/// A sidecar for a pod.
#[derive(Debug)]
pub(crate) struct Injection {
    /// What is added.
    pub(crate) patch: Patch,
    /// What could not be used of the annotations, each with its name.
    pub(crate) warnings: Vec<String>,
}

/// Why a pod is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InjectError {
    /// An annotation without which there is no sidecar.
    #[error(transparent)]
    Annotation(#[from] AnnotationError),
    /// No pod that an API server sends.
    #[error("the pod cannot be patched: {0}")]
    Pod(#[from] PatchError),
}

/// Whether the pod of a review is to have a sidecar.
///
/// # Errors
/// It is, and its id cannot be used.
pub(crate) fn wish(review: &Review, settings: &SidecarSettings) -> Result<Wish, InjectError> {
    if !review.is_pod() {
        return Ok(Wish::NoPod);
    }
    let pod = review.object();
    let text = |name: &str| pod["metadata"]["annotations"][name].as_str().unwrap_or_default();
    match asks_for_sidecar(text(ENABLED)) {
        Ok(true) => {}
        Ok(false) => return Ok(Wish::Nothing(None)),
        Err(close) => return Ok(Wish::Nothing(Some(close))),
    }
    if has_sidecar(pod) {
        return Ok(Wish::Nothing(None));
    }
    if !settings.accounts.permit(review.user()) {
        let user = review.user()["username"].as_str().unwrap_or_default();
        return Ok(Wish::Forbidden(format!(
            "annotation {ENABLED}: {user:?} is not among the allowed service accounts, so the pod gets no sidecar"
        )));
    }
    let given = Some(text(APP_ID)).filter(|id| !id.is_empty());
    let app_id = given.or(pod["metadata"]["name"].as_str()).unwrap_or_default();
    check_app_id(app_id).map_err(|message| AnnotationError { annotation: APP_ID, message })?;
    Ok(Wish::Sidecar { app_id: app_id.to_owned(), components: is_truthy(text(INJECT_COMPONENTS)) })
}

/// Whether the value of the annotation asks for a sidecar.
///
/// # Errors
/// It is another word for yes, which the injector does not take; the sentence says what to write.
pub(crate) fn asks_for_sidecar(enabled: &str) -> Result<bool, String> {
    if enabled.eq_ignore_ascii_case("true") {
        return Ok(true);
    }
    if is_truthy(enabled) {
        let found = reader::shown(enabled);
        return Err(format!("annotation {ENABLED}: {found} switches no sidecar on; write true"));
    }
    Ok(false)
}

/// Whether a container of the name is there, also as an init container; labels prove nothing.
pub(crate) fn has_sidecar(pod: &Value) -> bool {
    let containers = list(&pod["spec"]["containers"]).iter().chain(list(&pod["spec"]["initContainers"]));
    containers.into_iter().any(|container| container["name"] == container::NAME)
}

/// The sidecar for a pod that [`wish`]es for one.
///
/// # Errors
/// The pod is none that an API server sends.
pub(crate) fn inject(
    review: &Review,
    app_id: &str,
    settings: &SidecarSettings,
    facts: &Facts,
) -> Result<Injection, InjectError> {
    let pod = review.object();
    let mut reader = Reader::new(pod);
    let asked = Asked::read(&mut reader, app_id, settings);
    let brought = if reader.is_yes(INJECT_COMPONENTS) {
        components::brought(&facts.components, &mut reader)
    } else {
        Vec::new()
    };
    let place = Place {
        pod,
        namespace: review.namespace(),
        mtls: facts.mtls,
        components: !brought.is_empty() || !asked.component_containers.is_empty(),
    };
    let sidecar = container::container(&asked, &place, &mut reader, settings);
    let apps = list(&pod["spec"]["containers"]).len();
    let mut additions = Additions::to(pod);
    let socket = asked.socket.iter().map(|_| volumes::socket());
    additions.append_named(&["spec", "volumes"], socket.chain([volumes::token(settings)]).collect())?;
    let list = if asked.native { "initContainers" } else { "containers" };
    additions.append(&["spec", list], vec![sidecar])?;
    additions.label(INJECTED, "true")?;
    additions.label(APP_ID, &asked.app_id)?;
    additions.label(METRICS_ENABLED, if asked.metrics { "true" } else { "false" })?;
    for index in 0..apps {
        reach_sidecar(&mut additions, index, &asked)?;
    }
    if place.components {
        components::add(&mut additions, &asked, brought, &mut reader)?;
    }
    Ok(Injection { patch: additions.patch(), warnings: reader.warnings() })
}

/// Tells a container of the app where its sidecar is; a component is told by the sidecar's side.
fn reach_sidecar(additions: &mut Additions, index: usize, asked: &Asked) -> Result<(), PatchError> {
    let name = additions.pod()["spec"]["containers"][index]["name"].as_str().unwrap_or_default();
    if asked.component_containers.iter().any(|component| component == name) {
        return Ok(());
    }
    let variable = |name: &str, value: String| json!({"name": name, "value": value});
    let mut variables = vec![
        variable("DAPR_HTTP_PORT", arguments::HTTP_PORT.to_string()),
        variable("DAPR_GRPC_PORT", asked.grpc_port.to_string()),
    ];
    variables.extend(asked.protocol_of_app().map(|protocol| variable("APP_PROTOCOL", protocol.to_owned())));
    additions.append_named(&["spec", "containers", &index.to_string(), "env"], variables)?;
    match &asked.socket {
        Some(folder) => additions.mount(index, volumes::SOCKET_VOLUME, folder),
        None => Ok(()),
    }
}
