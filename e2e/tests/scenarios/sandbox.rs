//! The promises of the sandbox alone: it starts by itself, keeps its data, and is emptied by `reset`.

use vela_e2e::programs::programs;

use crate::{repository, scenario};

#[test]
fn without_a_cluster_everything_happens_inside_one_command() {
    scenario(async {
        let home = tempfile::tempdir()?;
        let vela = |words: &[&str]| -> vela_e2e::Result<(i32, String, String)> {
            let output = std::process::Command::new(&programs()?.vela)
                .args(words)
                .env_remove("KUBECONFIG")
                .env_remove("KUBERNETES_SERVICE_HOST")
                .env("HOME", home.path())
                .env("VELA_HOME", home.path().join("vela"))
                .env("NO_COLOR", "1")
                .output()?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            Ok((output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr)))
        };
        let manifest = repository("examples/first-app.yaml");
        let (code, out, err) = vela(&["up", "-f", &manifest.to_string_lossy(), "--timeout", "120s"])?;
        assert_eq!(code, 0, "{out}{err}");
        assert!(err.contains("Application default/first-app: running"), "{err}");
        assert!(out.contains("Deployment page"), "the tree is shown: {out}");

        let (code, out, err) = vela(&["status", "first-app"])?;
        assert_eq!(code, 0, "{out}{err}");
        assert!(out.contains("running"), "the data are kept: {out}");
        let (code, out, _) = vela(&["ls"])?;
        assert!(code == 0 && out.contains("first-app") && out.contains("orders"), "{out}");

        let (code, _, err) = vela(&["sandbox", "reset"])?;
        assert_eq!(code, 0, "{err}");
        let (code, _, err) = vela(&["status", "first-app"])?;
        assert_eq!(code, 1, "a reset sandbox is empty: {err}");
        Ok(())
    });
}
