//! PullSecretBinding → a robot account of a Harbor that a ServiceAccount pulls images with.
//!
//! A Harbor shows the secret of an account once. So the operator makes the secret itself, writes it down, and then has the Harbor take it: what
//! is lost in between is done again with the same secret.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use serde_json::{Value, json};
use vela_runtime::apply::{Applier, Conflicts};
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::{Api, Key, owner as ownership};

use super::api::{Robot, Server};
use super::connection;
use super::egress::Egress;
use super::error::Error;
use super::outcome::Outcome;
use super::reads::Reads;
use super::selection;
use crate::applied;
use crate::field::Field;
use crate::owner::Owner;
use crate::parts::{Generated, Password, kinds};
use crate::passwords::{self, Chance};

const SERVICE_ACCOUNT: kinds::Kind = ("v1", "ServiceAccount");
const CONFIGURATION: kinds::Kind = kinds::goharbor("HarborServerConfiguration");
/// Which account of which server has the secret.
const TAKEN: &str = "goharbor.io/robot";
const KEY: &str = ".dockerconfigjson";
const PASSWORD: Password = Password { length: 32, digits: 8, specials: 0 };

/// What the operator writes with.
pub(crate) struct Tools<'a> {
    pub(crate) client: &'a kube::Client,
    pub(crate) applier: &'a Applier,
    pub(crate) chance: &'a Chance,
    pub(crate) egress: &'a Egress,
}

/// Binds the account; its status.
pub(crate) async fn apply(owner: &Owner, tracked: &TrackedReads, tools: &Tools<'_>) -> Outcome {
    match bind(&Reads { owner, tracked }, tools).await {
        Ok(message) => Outcome::settled(json!({ "status": "ready", "reason": "Bound", "message": message })),
        Err(error) => {
            let status = json!({ "status": "error", "reason": "bindError", "message": error.to_string() });
            Outcome::failed(status, error.waits_for_change())
        }
    }
}

async fn bind(reads: &Reads<'_>, tools: &Tools<'_>) -> Result<String, Error> {
    let owner = reads.owner;
    let id = robot_id(&owner.spec("robotId"))?;
    let configuration = reads.named(CONFIGURATION, "", &owner.spec("harborServerConfig")).await?;
    selection::check(reads, &configuration).await?;
    let account = reads.named(SERVICE_ACCOUNT, owner.namespace(), &owner.spec("serviceAccount")).await?;
    let server = connection::of_configuration(reads, &configuration).await?;
    let robot = server.robot(tools.egress, id).await?;
    let name = owner.child("pull")?;
    let known = reads.tracked.get("v1", "Secret", &Key::new(owner.namespace(), &*name)).await?;
    let secret = known.as_deref().and_then(|known| password_of(known, &server)).unwrap_or_else(|| {
        let made = passwords::make(&[("secret", Generated::Password(PASSWORD))], tools.chance);
        made["secret"].as_str().unwrap_or_default().to_owned()
    });
    let taken = format!("{} {id}", server.url);
    let annotations = known.as_ref().and_then(|known| known.metadata.annotations.as_ref());
    let is_taken = annotations.and_then(|all| all.get(TAKEN)).is_some_and(|by| *by == taken);
    let mut object = pull_secret(owner, &name, (&server, &robot), &secret);
    if !is_taken {
        write(reads, tools, &object, false).await?;
        server.set_robot_secret(tools.egress, id, &secret).await?;
    }
    object["metadata"]["annotations"][TAKEN] = json!(taken);
    write(reads, tools, &object, is_taken).await?;
    refer(reads, tools, &account, &name).await?;
    Ok(format!("ServiceAccount {} pulls images as {}", owner.spec("serviceAccount").text()?, robot.name))
}

/// The number of a robot account.
pub(super) fn robot_id(field: &Field<'_>) -> Result<u64, Error> {
    let id = field.text()?.parse().ok().filter(|id| *id > 0);
    Ok(id.ok_or_else(|| field.wrong("must be the number of a robot account, such as \"7\""))?)
}

/// The server as clients of registries name it: without a scheme.
fn registry(server: &Server) -> &str {
    server.url.split_once("://").map_or(server.url.as_str(), |(_, rest)| rest)
}

fn password_of(known: &DynamicObject, server: &Server) -> Option<String> {
    let text = STANDARD.decode(known.data["data"][KEY].as_str()?).ok()?;
    let file: Value = serde_json::from_slice(&text).ok()?;
    let password = file["auths"][registry(server)]["password"].as_str()?;
    (!password.is_empty()).then(|| password.to_owned())
}

fn pull_secret(owner: &Owner, name: &str, (server, robot): (&Server, &Robot), secret: &str) -> Value {
    let login = STANDARD.encode(format!("{}:{secret}", robot.name));
    let account = json!({ "username": robot.name, "password": secret, "auth": login });
    let file = json!({ "auths": { registry(server): account } });
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": owner.namespace(),
            "ownerReferences": [owner.reference()],
        },
        "type": "kubernetes.io/dockerconfigjson",
        "data": { KEY: STANDARD.encode(file.to_string()) },
    })
}

/// `is_taken`: the Secret that is there says that the server took it, so it needs no write where its data is the same.
async fn write(reads: &Reads<'_>, tools: &Tools<'_>, object: &Value, is_taken: bool) -> Result<(), Error> {
    let mut desired: DynamicObject = serde_json::from_value(object.clone())?;
    let known = reads.tracked.get("v1", "Secret", &Key::of(&desired)).await?;
    let recorded = applied::note(&mut desired, known.as_deref()) && is_taken;
    let guard = |live: &DynamicObject| ownership::controlled_by(live, reads.owner.uid());
    let applied = tools.applier.apply(&desired, known, recorded, Conflicts::Force, &guard).await?;
    reads.tracked.observe(&applied.object);
    Ok(())
}

/// Names the secret in the ServiceAccount, beside those that it names.
async fn refer(reads: &Reads<'_>, tools: &Tools<'_>, account: &Value, secret: &str) -> Result<(), Error> {
    let mut secrets = account["imagePullSecrets"].as_array().cloned().unwrap_or_default();
    if secrets.iter().any(|known| known["name"] == secret) {
        return Ok(());
    }
    secrets.push(json!({ "name": secret }));
    let kind = GroupVersionKind::gvk("", SERVICE_ACCOUNT.0, SERVICE_ACCOUNT.1);
    let api: Api<DynamicObject> =
        Api::namespaced_with(tools.client.clone(), reads.owner.namespace(), &ApiResource::from_gvk(&kind));
    // The list is one value: a change since it was read is not overwritten, but tried again.
    let version = &account["metadata"]["resourceVersion"];
    let patch = json!({ "metadata": { "resourceVersion": version }, "imagePullSecrets": secrets });
    let name = account["metadata"]["name"].as_str().unwrap_or_default();
    let written = api.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
    reads.tracked.observe(&written);
    Ok(())
}
