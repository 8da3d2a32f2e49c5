//! The time that a plain client needs to write what the controllers write: what no controller can beat.
//!
//! It reads what the controllers made of one application and writes as many copies of that, in the same order and with as
//! many requests in flight, and does nothing else: it renders nothing, watches nothing and waits for no pod.

use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::test_cluster::TestCluster;

const OAM: &str = "core.oam.dev/v1beta1";

/// What the controllers made of one application.
struct Sample {
    application: Value,
    revision: Value,
    record: Value,
    deployment: Value,
}

/// Where each of them is written.
struct Places {
    applications: Api<DynamicObject>,
    revisions: Api<DynamicObject>,
    records: Api<DynamicObject>,
    deployments: Api<DynamicObject>,
}

/// Write so many copies of what was made of the application, and say how long that took.
pub(crate) async fn write(cluster: &TestCluster, sample: &str, count: usize, at_once: usize) -> Duration {
    let places = Places {
        applications: cluster.api(OAM, "Application").await,
        revisions: cluster.api(OAM, "ApplicationRevision").await,
        records: cluster.api(OAM, "ResourceTracker").await,
        deployments: cluster.api("apps/v1", "Deployment").await,
    };
    let made = Sample {
        application: cluster.application(sample).await,
        revision: cluster.get(OAM, "ApplicationRevision", &format!("{sample}-v1")).await.unwrap(),
        record: cluster.tracker(sample).await.unwrap(),
        deployment: cluster.deployment(sample).await.unwrap(),
    };
    let started = Instant::now();
    let copies = (0..count).map(|number| {
        let name = format!("plain-{number:05}");
        let copy = made.copy(sample, &name);
        copy.write(&places, name)
    });
    stream::iter(copies).buffer_unordered(at_once).try_collect::<()>().await.unwrap();
    started.elapsed()
}

/// The object under another name, without what only a server says.
fn copy(object: &Value, sample: &str, name: &str) -> Value {
    let mut copy: Value = serde_json::from_str(&object.to_string().replace(sample, name)).unwrap();
    let metadata = copy["metadata"].as_object_mut().unwrap();
    for field in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "managedFields",
        "ownerReferences",
        "finalizers",
    ] {
        metadata.remove(field);
    }
    copy
}

impl Sample {
    fn copy(&self, sample: &str, name: &str) -> Self {
        Self {
            application: copy(&self.application, sample, name),
            revision: copy(&self.revision, sample, name),
            record: copy(&self.record, sample, name),
            deployment: copy(&self.deployment, sample, name),
        }
    }

    /// The writes of a controller, one after the other: the person's own, the note on it, the revision, the record, the
    /// object, the record, and the status twice.
    async fn write(mut self, places: &Places, name: String) -> Result<(), kube::Error> {
        let (post, merge) = (PostParams::default(), PatchParams::default());
        let status = self.application["status"].take();
        self.application.as_object_mut().unwrap().remove("status");
        self.deployment.as_object_mut().unwrap().remove("status");
        places.applications.create(&post, &object(self.application)).await?;
        // A finalizer would be as large, and no controller would take it off.
        let note = json!({"metadata": {"annotations": {"plain-client": "in the place of a finalizer"}}});
        places.applications.patch(&name, &merge, &Patch::Merge(&note)).await?;
        places.revisions.create(&post, &object(self.revision)).await?;
        let complete = json!({"spec": {"complete": self.record["spec"]["complete"].take()}});
        let record = self.record["metadata"]["name"].as_str().unwrap().to_owned();
        self.record["spec"].as_object_mut().unwrap().remove("complete");
        places.records.create(&post, &object(self.record)).await?;
        let apply = PatchParams::apply("plain").force();
        places.deployments.patch(&name, &apply, &Patch::Apply(&object(self.deployment))).await?;
        places.records.patch(&record, &merge, &Patch::Merge(&complete)).await?;
        let mut first = status.clone();
        first["status"] = json!("runningWorkflow");
        for status in [first, status] {
            let status = json!({"status": status});
            places.applications.patch_status(&name, &merge, &Patch::Merge(&status)).await?;
        }
        Ok(())
    }
}

fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}
