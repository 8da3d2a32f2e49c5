//! Updates, updates of updates, and a controller that dies in the middle of them.

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::until;
use vela_e2e::target::Target;

use crate::{CONVERGE_DEADLINE, nothing_is_left, runs, scenario};

fn application(components: &[(&str, &str)]) -> Value {
    let component = |(name, image): &(&str, &str)| {
        json!({
            "name": name,
            "type": "worker",
            "properties": {"image": image, "cmd": ["sleep", "100000"]},
        })
    };
    json!({
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "Application",
        "metadata": {"name": "app"},
        "spec": {"components": components.iter().map(component).collect::<Vec<_>>()},
    })
}

fn up(target: &Target, application: &Value) -> Result<()> {
    target.vela(&["up", "-f", "-", "--timeout", "120s"], &application.to_string())?.ok().map(|_| ())
}

async fn deployment(target: &Target, name: &str) -> Result<Option<Value>> {
    target.cluster().get("apps/v1", "Deployment", name).await
}

async fn image(target: &Target, name: &str) -> Result<String> {
    let found = deployment(target, name).await?.ok_or_else(|| format!("Deployment {name} does not exist"))?;
    let image = found.pointer("/spec/template/spec/containers/0/image").and_then(Value::as_str);
    Ok(image.unwrap_or_default().to_owned())
}

#[test]
fn an_update_prunes_exactly_what_was_removed() {
    scenario(async {
        let target = Target::open("prune").await?;
        up(
            &target,
            &application(&[("kept", "busybox:1"), ("removed", "busybox:1"), ("changed", "busybox:1")]),
        )?;
        let uid = |found: Option<Value>| found.map(|object| object["metadata"]["uid"].clone());
        let kept = uid(deployment(&target, "kept").await?);
        assert!(kept.is_some(), "the first version runs");
        let stranger = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stranger"}});
        target.cluster().create(&stranger).await?;

        up(
            &target,
            &application(&[("kept", "busybox:1"), ("changed", "busybox:2"), ("added", "busybox:1")]),
        )?;
        until("the removed component is gone", CONVERGE_DEADLINE, async || {
            match deployment(&target, "removed").await {
                Ok(None) => Ok(()),
                Ok(Some(_)) => Err("it is still there".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        })
        .await?;
        assert_eq!(uid(deployment(&target, "kept").await?), kept, "an unchanged object is the same object");
        assert_eq!(image(&target, "changed").await?, "busybox:2");
        assert_eq!(image(&target, "added").await?, "busybox:1");
        assert!(
            target.cluster().get("v1", "ConfigMap", "stranger").await?.is_some(),
            "strangers are left alone"
        );
        Ok(())
    });
}

/// The case in which KubeVela has deleted users' workloads for years.
#[test]
fn there_and_back_again_keeps_everything() {
    scenario(async {
        let target = Target::open("aba").await?;
        let (a, b) = (application(&[("web", "busybox:1")]), application(&[("other", "busybox:2")]));
        up(&target, &a)?;
        let before = deployment(&target, "web").await?.ok_or("version A does not run")?;
        for _ in 0..3 {
            // Faster than any reconcile, so that some of these versions are never seen by the controller.
            target.cluster().apply(&b).await?;
            target.cluster().apply(&a).await?;
        }
        runs(&target, "app").await?;
        let after = deployment(&target, "web").await?.ok_or("the workload of version A was deleted")?;
        assert_eq!(after.pointer("/spec/template/spec"), before.pointer("/spec/template/spec"));
        until("version B leaves nothing", CONVERGE_DEADLINE, async || {
            match deployment(&target, "other").await {
                Ok(None) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await
    });
}

/// The API server refuses every change of the template of a Job, so the controller deletes a changed one and makes it
/// again; it never does so with a volume.
#[test]
fn a_changed_job_is_made_again_and_a_claim_is_told_about() {
    scenario(async {
        let target = Target::open("job").await?;
        let application = |image: &str, mode: &str| {
            json!({
                "apiVersion": "core.oam.dev/v1beta1",
                "kind": "Application",
                "metadata": {"name": "app"},
                "spec": {"components": [
                    {"name": "once", "type": "k8s-objects", "properties": {"objects": [{
                        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"},
                        "spec": {"template": {"spec": {
                            "restartPolicy": "Never",
                            "containers": [{"name": "main", "image": image, "command": ["sleep", "100000"]}],
                        }}},
                    }]}},
                    {"name": "disk", "type": "k8s-objects", "properties": {"objects": [{
                        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "disk"},
                        "spec": {"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}},
                    }]}},
                ]},
            })
        };
        let cluster = target.cluster();
        let object = async |version: &str, kind: &str, name: &str| -> Result<Value> {
            Ok(cluster.get(version, kind, name).await?.unwrap_or_default())
        };
        cluster.apply(&application("busybox:1", "ReadWriteOnce")).await?;
        until("both are made", CONVERGE_DEADLINE, async || {
            let job = object("batch/v1", "Job", "once").await.map_err(|error| error.to_string())?;
            let claim = object("v1", "PersistentVolumeClaim", "disk").await;
            let claim = claim.map_err(|error| error.to_string())?;
            if job.is_object() && claim.is_object() { Ok(()) } else { Err(format!("{job} {claim}")) }
        })
        .await?;
        let job = object("batch/v1", "Job", "once").await?;
        let claim = object("v1", "PersistentVolumeClaim", "disk").await?;
        cluster.apply(&application("busybox:2", "ReadWriteMany")).await?;
        until("the Job is another one", CONVERGE_DEADLINE, async || {
            let now = object("batch/v1", "Job", "once").await.map_err(|error| error.to_string())?;
            let image = now.pointer("/spec/template/spec/containers/0/image");
            let another = now["metadata"]["uid"] != job["metadata"]["uid"];
            if another && image == Some(&json!("busybox:2")) { Ok(()) } else { Err(now.to_string()) }
        })
        .await?;
        until("what to do with the claim is told", CONVERGE_DEADLINE, async || {
            let app = object("core.oam.dev/v1beta1", "Application", "app").await;
            let status = app.map_err(|error| error.to_string())?["status"].to_string();
            if status.contains("it may hold data, so vela does not delete it") { Ok(()) } else { Err(status) }
        })
        .await?;
        let now = object("v1", "PersistentVolumeClaim", "disk").await?;
        assert_eq!(now["metadata"]["uid"], claim["metadata"]["uid"]);
        target.vela(&["delete", "app", "--no-wait"], "")?.ok()?;
        nothing_is_left(&target).await
    });
}

#[test]
fn a_killed_controller_goes_on_where_it_was() {
    scenario(async {
        let mut target = Target::open("kill").await?;
        up(&target, &application(&[("one", "busybox:1"), ("two", "busybox:1")]))?;
        // Stored and at once orphaned: the controller dies before, while or after it acts on this.
        let next = application(&[("one", "busybox:2"), ("three", "busybox:1")]);
        target.vela(&["up", "-f", "-", "--no-wait", "--force-conflicts"], &next.to_string())?.ok()?;
        target.kill()?;
        target.restart().await?;
        runs(&target, "app").await?;
        assert_eq!(image(&target, "one").await?, "busybox:2");
        assert_eq!(image(&target, "three").await?, "busybox:1");
        until("what was removed is gone", CONVERGE_DEADLINE, async || {
            match deployment(&target, "two").await {
                Ok(None) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await?;
        // Dying between the request and the work of a deletion must not leave anything either.
        target.vela(&["delete", "app", "--no-wait"], "")?.ok()?;
        target.kill()?;
        target.restart().await?;
        nothing_is_left(&target).await
    });
}
