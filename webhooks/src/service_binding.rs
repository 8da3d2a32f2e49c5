//! Puts the Secrets and volumes of a namespace's ServiceBindings into the containers of a workload.
//!
//! Existing entries are left alone, so that a second call, and an update of a workload with injected entries, change
//! nothing.

use json_patch::{AddOperation, Patch, PatchOperation};
use serde_json::{Value, json};
use vela_crds::service_binding::{Binding, ServiceBinding, ServiceBindingSpec};
use vela_engine::ObjectKey;

use crate::review::Review;
use crate::verdict::Verdict;

/// Where the pods of both kinds stand.
const PODS: &str = "/spec/template/spec";
/// The longest name of a volume.
const VOLUME_NAME_AT_MOST: usize = 63;

/// The injected entries, and their places.
#[derive(Clone, Debug, PartialEq)]
pub struct Injection {
    binding: Binding,
    source: Source,
}

#[derive(Clone, Debug, PartialEq)]
enum Source {
    Secret(String),
    /// The name of the Secret stands in a field of an object.
    SecretOf(ObjectKey, String),
    Claim(String),
}

/// Whether pods of this kind of workload can be changed.
pub fn takes(workload: &Value) -> bool {
    workload["apiVersion"] == "apps/v1"
        && (workload["kind"] == "Deployment" || workload["kind"] == "StatefulSet")
}

/// The binding of a workload: the first binding with a source of the first ServiceBinding that names it.
pub fn injection(review: &Review, bindings: &[Value]) -> Option<Injection> {
    let workload = &review.object;
    let spec = bindings.iter().find_map(|object| {
        let spec: ServiceBindingSpec = serde_json::from_value(object["spec"].clone()).ok()?;
        let named = spec.workload_ref.as_ref()?;
        let fits = workload["apiVersion"] == named.api_version.as_str()
            && workload["kind"] == named.kind.as_str()
            && workload["metadata"]["name"] == named.name.as_str();
        fits.then_some(spec)
    })?;
    spec.bindings.into_iter().find_map(|binding| {
        let from = binding.from.clone()?;
        let source = match (from.secret, from.volume) {
            (Some(secret), _) => match secret.name_from_field {
                Some(field) => {
                    let key = ObjectKey::local(
                        field.api_version,
                        field.kind,
                        review.object_namespace(),
                        field.name,
                    );
                    Source::SecretOf(key, field.field_path)
                }
                None => Source::Secret(secret.name.unwrap_or_default()),
            },
            (None, Some(volume)) => Source::Claim(volume.pvc_name.unwrap_or_default()),
            (None, None) => return None,
        };
        Some(Injection { binding, source })
    })
}

impl Injection {
    /// The object that has to be read before anything can be put in.
    pub fn object(&self) -> Option<&ObjectKey> {
        match &self.source {
            Source::SecretOf(key, _) => Some(key),
            _ => None,
        }
    }

    /// Puts it in. The error says what is missing: the workload must not run without it.
    pub fn mutate(&self, review: &Review, object: Option<&Value>) -> Result<Verdict, String> {
        let pods = review.object.pointer(PODS).filter(|pods| pods.is_object());
        let Some(pods) = pods else {
            // The API server refuses it in its own words.
            return Ok(Verdict::allowed());
        };
        let mut injector = Injector { pods, patch: Vec::new(), warnings: Vec::new() };
        let to = self.binding.to.clone().unwrap_or_default();
        let path = to.file_path.unwrap_or_default();
        let (kind, name) = match &self.source {
            Source::Claim(name) => ("pvc", name.clone()),
            Source::Secret(name) => ("secret", name.clone()),
            Source::SecretOf(key, path) => ("secret", named_by(key, path, object)?),
        };
        if name.is_empty() {
            return Err(format!("the ServiceBinding names no {kind}"));
        }
        let containers = self.containers(pods);
        if to.env == Some(true) && kind == "secret" {
            injector.environment(&containers, &name);
        }
        if !path.is_empty() {
            let source = match kind {
                "pvc" => json!({"persistentVolumeClaim": {"claimName": name}}),
                _ => json!({"secret": {"secretName": name}}),
            };
            let volume = volume_name(kind, &name);
            if injector.volume(&volume, &source) {
                injector.mounts(&containers, &volume, &path);
            }
        }
        let Injector { patch, warnings, .. } = injector;
        Ok(Verdict { patch: Patch(patch), warnings, ..Verdict::allowed() })
    }

    /// Indices of the containers that are meant, with the containers.
    fn containers<'a>(&self, pods: &'a Value) -> Vec<(usize, &'a Value)> {
        let all = pods["containers"].as_array().into_iter().flatten().enumerate();
        let meant = |container: &Value| match &self.binding.container_selector {
            None => true,
            Some(selector) => selector.by_names.iter().any(|name| container["name"] == name.as_str()),
        };
        all.filter(|(_, container)| container.is_object() && meant(container)).collect()
    }
}

/// A Secret's name at a path such as `.status.secret`, of which the part before the first dot says nothing.
fn named_by(key: &ObjectKey, path: &str, object: Option<&Value>) -> Result<String, String> {
    let object = object.ok_or_else(|| format!("{key} not found, which names the Secret to bind"))?;
    let (_, fields) = path.split_once('.').unwrap_or_default();
    let found = fields.split('.').try_fold(object, |value, field| value.get(field)).and_then(Value::as_str);
    match found {
        Some(name) if !name.is_empty() => Ok(name.to_owned()),
        _ => Err(format!("fieldPath not found: {path} of {key}")),
    }
}

/// `secret-<name>`; a name that no volume can have is made into one, told from others by a number.
fn volume_name(kind: &str, name: &str) -> String {
    let plain = format!("{kind}-{name}");
    if plain.len() <= VOLUME_NAME_AT_MOST && !plain.contains('.') {
        return plain;
    }
    let hash =
        plain.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let plain: String =
        plain.chars().map(|c| if c == '.' { '-' } else { c }).take(VOLUME_NAME_AT_MOST - 9).collect();
    format!("{plain}-{hash:08x}")
}

struct Injector<'a> {
    pods: &'a Value,
    patch: Vec<PatchOperation>,
    warnings: Vec<String>,
}

impl Injector<'_> {
    fn add(&mut self, path: &str, value: Value) {
        // Every path is made of fields and indices without letters that a pointer would have to escape.
        if let Ok(path) = format!("{PODS}{path}").parse() {
            self.patch.push(PatchOperation::Add(AddOperation { path, value }));
        }
    }

    /// Appends to a list that may not be there yet.
    fn append(&mut self, list: &str, exists: bool, value: Value) {
        if !exists {
            self.add(list, json!([]));
        }
        self.add(&format!("{list}/-"), value);
    }

    fn environment(&mut self, containers: &[(usize, &Value)], secret: &str) {
        for (index, container) in containers {
            let list = container["envFrom"].as_array();
            let has = list.into_iter().flatten().any(|entry| entry["secretRef"]["name"] == secret);
            if !has {
                let path = format!("/containers/{index}/envFrom");
                self.append(&path, list.is_some(), json!({"secretRef": {"name": secret}}));
            }
        }
    }

    /// False where the volume of another owner has the name.
    fn volume(&mut self, name: &str, source: &Value) -> bool {
        let list = self.pods["volumes"].as_array();
        let Some(found) = list.into_iter().flatten().find(|volume| volume["name"] == name) else {
            let mut volume = json!({"name": name});
            if let (Some(volume), Some(source)) = (volume.as_object_mut(), source.as_object()) {
                volume.extend(source.clone());
            }
            self.append("/volumes", list.is_some(), volume);
            return true;
        };
        // The API server fills in more than was written.
        let same = source.as_object().into_iter().flatten().all(|(kind, wanted)| {
            wanted.as_object().into_iter().flatten().all(|(field, value)| found[kind][field] == *value)
        });
        if !same {
            self.warnings.push(format!("volume {name:?} of the workload is another one: nothing is mounted"));
        }
        same
    }

    fn mounts(&mut self, containers: &[(usize, &Value)], volume: &str, path: &str) {
        for (index, container) in containers {
            let list = container["volumeMounts"].as_array();
            match list.into_iter().flatten().find(|mount| mount["mountPath"] == path) {
                None => {
                    let list_path = format!("/containers/{index}/volumeMounts");
                    self.append(&list_path, list.is_some(), json!({"name": volume, "mountPath": path}));
                }
                Some(mount) if mount["name"] == volume => {}
                Some(mount) => self.warnings.push(format!(
                    "container {} has {} at {path} already: volume {volume:?} is not mounted",
                    container["name"], mount["name"]
                )),
            }
        }
    }
}

/// API version and kind of what binds.
pub fn kind() -> (String, String) {
    use kube::Resource as _;
    (ServiceBinding::api_version(&()).into_owned(), ServiceBinding::kind(&()).into_owned())
}
