//! Builds the Deployment that runs the containers of a workload.

use serde_json::{Map, Value, json};
use vela_crds::containerized_workload::{Container, ContainerizedWorkload, VolumeAccessMode, VolumeResource};

use super::{Error, claims, config, identity, selector};
use crate::dependent::Identity;

/// The Deployment of a workload: same name and namespace, controlled by the workload.
///
/// # Errors
/// A configuration file without content, or two volumes of one name with different content; each names its field.
pub fn deployment(workload: &ContainerizedWorkload) -> Result<Value, Error> {
    let identity = identity(workload)?;
    let mut volumes = Volumes { identity: &identity, list: Vec::new() };
    let mut containers = Vec::new();
    let mut pull_secrets: Vec<Value> = Vec::new();
    for (index, container) in workload.spec.containers.iter().enumerate() {
        containers.push(pod_container(container, index, &mut volumes)?);
        if let Some(name) = &container.image_pull_secret {
            let secret = json!({ "name": name });
            if !pull_secrets.contains(&secret) {
                pull_secrets.push(secret);
            }
        }
    }
    let mut pod = Map::from_iter([("containers".to_owned(), Value::Array(containers))]);
    insert_list(&mut pod, "volumes", volumes.list);
    insert_list(&mut pod, "imagePullSecrets", pull_secrets);
    let mut nodes = Map::new();
    if let Some(system) = workload.spec.os_type {
        nodes.insert("beta.kubernetes.io/os".to_owned(), json!(system));
    }
    if let Some(arch) = workload.spec.arch {
        nodes.insert("kubernetes.io/arch".to_owned(), json!(arch));
    }
    if !nodes.is_empty() {
        pod.insert("nodeSelector".to_owned(), Value::Object(nodes));
    }

    let selector = selector(&identity);
    let mut spec = json!({
        "selector": { "matchLabels": selector },
        "template": { "metadata": { "labels": identity.pod_labels(&selector) }, "spec": pod },
    });
    if claims::is_any_exclusive(workload) {
        // A new pod that waits for the disk of an old one would wait for ever.
        let one_by_one = json!({ "maxSurge": 0, "maxUnavailable": 1 });
        spec["strategy"] = json!({ "type": "RollingUpdate", "rollingUpdate": one_by_one });
    }
    Ok(identity.deployment(identity.annotations(), spec))
}

fn pod_container(container: &Container, index: usize, volumes: &mut Volumes<'_>) -> Result<Value, Error> {
    let mut fields = Map::new();
    fields.insert("name".to_owned(), json!(container.name));
    fields.insert("image".to_owned(), json!(container.image));
    insert_list(&mut fields, "command", container.command.iter().map(|word| json!(word)).collect());
    insert_list(&mut fields, "args", container.args.iter().map(|word| json!(word)).collect());
    if let Some(resources) = &container.resources {
        let requests = json!({ "cpu": resources.cpu.required, "memory": resources.memory.required });
        fields.insert("resources".to_owned(), json!({ "requests": requests }));
    }
    let environment = container.env.iter().filter_map(|variable| {
        // A plain value wins; a variable with neither is dropped.
        match (&variable.value, &variable.from_secret) {
            (Some(value), _) => Some(json!({ "name": variable.name, "value": value })),
            (None, Some(secret)) => Some(json!({
                "name": variable.name,
                "valueFrom": { "secretKeyRef": { "name": secret.name, "key": secret.key } },
            })),
            (None, None) => None,
        }
    });
    insert_list(&mut fields, "env", environment.collect());
    let ports = container.ports.iter().map(|port| {
        let protocol = port.protocol.map_or_else(|| json!("TCP"), |protocol| json!(protocol));
        json!({ "name": port.name, "containerPort": port.container_port, "protocol": protocol })
    });
    insert_list(&mut fields, "ports", ports.collect());
    // The probes are spelled as Kubernetes spells them.
    if let Some(probe) = &container.liveness_probe {
        fields.insert("livenessProbe".to_owned(), json!(probe));
    }
    if let Some(probe) = &container.readiness_probe {
        fields.insert("readinessProbe".to_owned(), json!(probe));
    }
    insert_list(&mut fields, "volumeMounts", volumes.mounts(container, index)?);
    Ok(Value::Object(fields))
}

fn insert_list(fields: &mut Map<String, Value>, name: &str, items: Vec<Value>) {
    if !items.is_empty() {
        fields.insert(name.to_owned(), Value::Array(items));
    }
}

/// The pod's volumes, collected while the containers' mounts are made.
struct Volumes<'a> {
    identity: &'a Identity<'a>,
    list: Vec<Value>,
}

impl Volumes<'_> {
    fn mounts(&mut self, container: &Container, index: usize) -> Result<Vec<Value>, Error> {
        let mut mounts = Vec::new();
        let volumes = container.resources.iter().flat_map(|resources| &resources.volumes);
        for (at, volume) in volumes.enumerate() {
            let field = format!("spec.containers[{index}].resources.volumes[{at}]");
            self.add(&field, self.volume(volume))?;
            let mut mount = json!({ "name": volume.name, "mountPath": volume.mount_path });
            if volume.access_mode == Some(VolumeAccessMode::ReadOnly) {
                mount["readOnly"] = json!(true);
            }
            mounts.push(mount);
        }
        for (at, file) in container.config.iter().enumerate() {
            let field = format!("spec.containers[{index}].config[{at}]");
            let (name, source, path) = match (&file.value, &file.from_secret) {
                (Some(_), _) => {
                    let name = config::name(self.identity.name, &container.name, &file.path);
                    (name.clone(), json!({ "configMap": { "name": name } }), config::split(&file.path).0)
                }
                (None, Some(secret)) => {
                    let items = json!([{ "key": secret.key, "path": secret.key }]);
                    let source = json!({ "secret": { "secretName": secret.name, "items": items } });
                    (secret.name.clone(), source, file.path.as_str())
                }
                (None, None) => {
                    return Err(self.error(&field, "has no content; give it `value` or `fromSecret`"));
                }
            };
            let mut volume = source;
            volume["name"] = json!(name);
            self.add(&field, volume)?;
            mounts.push(json!({ "name": name, "mountPath": path }));
        }
        Ok(mounts)
    }

    /// The volume of a disk.
    fn volume(&self, volume: &VolumeResource) -> Value {
        if claims::outlives_pods(volume) {
            let claim = claims::name(self.identity.name, &volume.name);
            return json!({ "name": volume.name, "persistentVolumeClaim": { "claimName": claim } });
        }
        let mut empty = Map::new();
        if let Some(disk) = &volume.disk {
            empty.insert("sizeLimit".to_owned(), json!(disk.required));
        }
        json!({ "name": volume.name, "emptyDir": empty })
    }

    /// Adds a volume once; one name must mean one content.
    fn add(&mut self, field: &str, volume: Value) -> Result<(), Error> {
        match self.list.iter().find(|other| other["name"] == volume["name"]) {
            Some(other) if *other == volume => Ok(()),
            Some(_) => Err(self.error(field, "its volume has the name of another volume of the pod")),
            None => {
                self.list.push(volume);
                Ok(())
            }
        }
    }

    fn error(&self, field: &str, message: &str) -> Error {
        Error::new(self.identity.place(field), message)
    }
}
