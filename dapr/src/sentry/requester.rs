//! The request of a sidecar, with the token of its pod → who it is. Asks the API server about the token, and for the pod and its
//! Configuration. The words of refusals are those of Dapr's sentry, which people search for.

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::{Value, json};
use tonic::Status;
use vela_runtime::Api;

use super::authority::Subject;
use crate::annotations::APP_ID;
use crate::protocol::sentry::SignCertificateRequest;
use crate::resources::ServedKind;

/// The audience of tokens before 1.12.
const OLD_AUDIENCE: &str = "dapr.io/sentry";
const CONFIG: &str = "dapr.io/config";
/// Marks the pods of the control plane.
const CONTROL_PLANE: &str = "dapr.io/control-plane";
const SERVICES: [&str; 5] = ["operator", "placement", "injector", "sentry", "scheduler"];
/// The trust domain of applications whose Configuration names none.
const PUBLIC: &str = "public";
const APP_ID_AT_MOST: usize = 64;
/// A token of a service account is about a kilobyte long.
const TOKEN_AT_MOST: usize = 16 * 1024;
const TRUST_DOMAIN_AT_MOST: usize = 255;
/// Where a token says which pod it was made for.
const POD_NAME: &str = "authentication.kubernetes.io/pod-name";
const POD_UID: &str = "authentication.kubernetes.io/pod-uid";

/// Reads the identity of the caller.
#[derive(Clone)]
pub(super) struct Requesters {
    pub(super) client: kube::Client,
    /// Namespace and trust domain of the control plane.
    pub(super) namespace: String,
    pub(super) trust_domain: String,
    /// The sentry's own identity, the audience of tokens.
    pub(super) audience: String,
}

/// A pod, as its token names it.
struct PodName {
    name: String,
    uid: String,
}

impl Requesters {
    /// Who asks, if the token says so.
    pub(super) async fn identify(&self, request: &SignCertificateRequest) -> Result<Subject, Status> {
        checked_id(&request.id).map_err(|why| denied(format!("invalid request: {why}")))?;
        let pod = self.review(request).await?;
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), &request.namespace, &resource("", "Pod"));
        let live = api.get_opt(&pod.name).await.map_err(|error| asked("pod", &error))?;
        let live = live.filter(|live| live.metadata.uid.as_deref() == Some(pod.uid.as_str()));
        let live = live.ok_or_else(|| denied("failed to get pod from token".to_owned()))?;
        let annotation = |name: &str| live.metadata.annotations.as_ref()?.get(name).map(String::as_str);
        if let Some(service) = annotation(CONTROL_PLANE) {
            return self.control_plane(request, &pod.name, service, annotation(APP_ID).is_some());
        }
        let expected = annotation(APP_ID).unwrap_or(&pod.name);
        if expected != request.id {
            return Err(denied(format!("app-id mismatch. expected: {expected}, received: {}", request.id)));
        }
        let trust_domain = match annotation(CONFIG) {
            Some(name) => self.trust_domain(&request.namespace, name).await?,
            None => PUBLIC.to_owned(),
        };
        Ok(subject(&trust_domain, &request.namespace, &request.id, Vec::new()))
    }

    /// What the API server says of the token: which pod of the namespace it was made for.
    async fn review(&self, request: &SignCertificateRequest) -> Result<PodName, Status> {
        if request.token.is_empty() {
            return Err(denied(
                "token review failed: token is required for TokenReview in authentication".to_owned(),
            ));
        }
        if request.token.len() > TOKEN_AT_MOST {
            return Err(denied(format!("invalid token: it has more than {TOKEN_AT_MOST} bytes")));
        }
        let audiences = [OLD_AUDIENCE, &self.audience];
        let kind = resource("authentication.k8s.io", "TokenReview");
        let mut review = DynamicObject::new("", &kind);
        review.metadata = Default::default();
        review.data = json!({"spec": {"token": request.token, "audiences": audiences}});
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind);
        let reviewed = api.create(&PostParams::default(), &review).await;
        let status = reviewed.map_err(|error| asked("token", &error))?.data["status"].take();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if let Some(error) = status["error"].as_str().filter(|error| !error.is_empty()) {
            return Err(denied(format!("invalid token: {error}")));
        }
        if status["authenticated"] != true {
            return Err(denied("authentication failed".to_owned()));
        }
        // An API server that knows no audiences would let every token pass.
        let meant = status["audiences"].as_array().into_iter().flatten();
        if !meant.into_iter().any(|one| audiences.iter().any(|audience| one == audience)) {
            return Err(denied("invalid token: it is of another audience".to_owned()));
        }
        let user = text(&status["user"]["username"]);
        let account = user.strip_prefix("system:serviceaccount:").and_then(|account| account.split_once(':'));
        let Some((namespace, _)) = account else {
            return Err(denied(
                "provided token is not a properly structured service account token".to_owned(),
            ));
        };
        if namespace != request.namespace {
            return Err(denied(format!("namespace mismatch; received namespace: {}", request.namespace)));
        }
        let extra = &status["user"]["extra"];
        let (name, uid) = (text(&extra[POD_NAME][0]), text(&extra[POD_UID][0]));
        if name.is_empty() || uid.is_empty() {
            return Err(denied("kubernetes.io/pod/name claim is missing from Kubernetes token".to_owned()));
        }
        Ok(PodName { name, uid })
    }

    fn control_plane(
        &self,
        request: &SignCertificateRequest,
        pod: &str,
        service: &str,
        has_app_id: bool,
    ) -> Result<Subject, Status> {
        if request.namespace != self.namespace {
            let namespace = &request.namespace;
            return Err(denied(format!("control plane service in namespace '{namespace}' is not allowed")));
        }
        if !SERVICES.contains(&service) {
            return Err(denied(format!("unknown control plane service '{pod}'")));
        }
        if has_app_id {
            return Err(denied(format!("control plane service '{pod}' cannot have annotation '{APP_ID}'")));
        }
        let expected = format!("dapr-{service}");
        if request.id != expected {
            return Err(denied(format!("app-id mismatch. expected: {expected}, received: {}", request.id)));
        }
        let dns = match service {
            "operator" => vec![format!("dapr-webhook.{}.svc", self.namespace)],
            "injector" => vec![format!("dapr-sidecar-injector.{}.svc", self.namespace)],
            _ => Vec::new(),
        };
        Ok(subject(&self.trust_domain, &self.namespace, &request.id, dns))
    }

    /// The trust domain that the application's Configuration names.
    async fn trust_domain(&self, namespace: &str, name: &str) -> Result<String, Status> {
        let kind = ServedKind::Configuration.resource();
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &kind);
        let missing = || denied("failed to get configuration".to_owned());
        let found = match api.get_opt(name).await {
            Err(kube::Error::BuildRequest(_)) => return Err(missing()),
            found => found.map_err(|error| asked("configuration", &error))?.ok_or_else(missing)?,
        };
        let named = found.data["spec"]["accessControl"]["trustDomain"].as_str().unwrap_or_default();
        match named {
            "" => Ok(PUBLIC.to_owned()),
            named if is_trust_domain(named) => Ok(named.to_owned()),
            _ => Err(denied(format!(
                "invalid trust domain in the configuration '{name}'; expected small letters, digits, '.', '-' and '_'"
            ))),
        }
    }
}

/// An identity.
pub(super) fn subject(trust_domain: &str, namespace: &str, app_id: &str, dns: Vec<String>) -> Subject {
    Subject { uri: format!("spiffe://{trust_domain}/ns/{namespace}/{app_id}"), dns }
}

/// Whether an identity may have it as its trust domain.
pub(super) fn is_trust_domain(text: &str) -> bool {
    let is_of_one = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte);
    (1..=TRUST_DOMAIN_AT_MOST).contains(&text.len()) && text.bytes().all(is_of_one)
}

fn checked_id(id: &str) -> Result<(), &'static str> {
    if id.is_empty() {
        return Err("parameter app-id cannot be empty");
    }
    if id.len() > APP_ID_AT_MOST {
        return Err("app ID must be 64 characters or less");
    }
    if id.contains('.') {
        return Err("parameter app-id cannot contain dots");
    }
    let is_of_one = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if id.bytes().all(is_of_one) {
        Ok(())
    } else {
        Err("parameter app-id has to be letters, digits, '-' and '_'")
    }
}

fn denied(message: String) -> Status {
    Status::permission_denied(message)
}

/// The API server did not answer the question. A sidecar tries again where it may be otherwise in a moment; what the server said may be
/// about objects that are not the sidecar's, and is only logged.
fn asked(what: &str, error: &kube::Error) -> Status {
    tracing::warn!(what, %error, "the API server gives no answer about a sidecar");
    match error {
        kube::Error::BuildRequest(_) => denied(format!("invalid request: the {what} cannot have that name")),
        kube::Error::Api(status) if status.code < 500 && status.code != 429 => {
            denied(format!("failed to get {what}"))
        }
        _ => Status::unavailable(format!("the API server gives no answer about the {what}; try again")),
    }
}

fn resource(group: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_trust_domains_fit_into_an_identity() {
        for good in ["a", "My_App-1", &"a".repeat(64)] {
            assert_eq!(checked_id(good), Ok(()), "{good}");
        }
        for bad in ["", "a.b", "a/b", "a b", "ä", "..", &"a".repeat(65)] {
            assert!(checked_id(bad).is_err(), "{bad}");
        }
        assert!(is_trust_domain("cluster.local") && is_trust_domain("a_b-1"));
        for bad in ["", "A", "a/b", "a b", "a?b", &"a".repeat(256)] {
            assert!(!is_trust_domain(bad), "{bad}");
        }
    }
}
