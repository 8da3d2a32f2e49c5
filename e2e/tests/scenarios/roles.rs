//! A user with the ClusterRole `edit` in one namespace, and nothing else, on a real control plane: what `vela` does for them.

use serde_json::json;
use vela_e2e::Result;
use vela_e2e::objects::until;
use vela_e2e::target::{ProgramOutput, Target};

use crate::{CONVERGE_DEADLINE, on_a_control_plane};

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const GROUP: &str = "rbac.authorization.k8s.io";
const APPLICATION: &str = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: shop}\nspec:\n  components:\n  \
                           - {name: front, type: webservice, properties: {image: nginx}}\n";

/// `vela` in the name of a person of the target's namespace.
fn types(target: &Target, user: &str, words: &[&str]) -> Result<ProgramOutput> {
    let kubeconfig = target.kubeconfig_of(user)?;
    Ok(ProgramOutput::of(&target.command(words)?.env("KUBECONFIG", kubeconfig).output()?))
}

#[test]
#[ignore = "needs a real control plane: cargo xtask e2e --real"]
fn an_author_of_one_namespace_needs_no_right_elsewhere() {
    on_a_control_plane(async {
        let target = Target::open("roles").await?;
        let binding = json!({"apiVersion": RBAC, "kind": "RoleBinding", "metadata": {"name": "dora", "namespace": target.namespace()},
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "edit"},
            "subjects": [{"apiGroup": GROUP, "kind": "User", "name": "dora"}]});
        target.cluster().apply(&binding).await?;
        let file = target.home().join("shop.yaml");
        std::fs::write(&file, APPLICATION)?;
        let file = file.to_string_lossy().into_owned();
        // The roles of `vela install` are added to `edit` by a controller of the cluster.
        until("dora may read the types of her namespace", CONVERGE_DEADLINE, async || {
            let said = types(&target, "dora", &["show", "webservice"]).map_err(|error| error.to_string())?;
            said.ok().map(|_| ()).map_err(|error| error.to_string())
        })
        .await?;
        types(&target, "dora", &["dry-run", "-f", &file])?.ok()?;
        types(&target, "dora", &["up", "-f", &file])?.ok()?;
        let said = types(&target, "dora", &["ls"])?.ok()?;
        assert!(said.out.contains("shop"), "{}", said.out);
        // The error names the missing right: the verb, the resource and where.
        let refused = types(&target, "dora", &["ls", "-A"])?;
        assert!(
            refused.err.contains("list applications.core.oam.dev in the whole cluster")
                && refused.err.contains("vela-viewer"),
            "{}",
            refused.err
        );
        types(&target, "dora", &["delete", "shop"])?.ok().map(drop)
    });
}
