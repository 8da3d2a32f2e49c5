//! Runs the program `vela` as people do: what it prints, where it points and how it exits.

// A failed unwrap in a test is the failure we want to see, in its helpers too.
#![allow(clippy::unwrap_used)]

#[path = "cli/acting.rs"]
mod acting;
#[path = "cli/appfile.rs"]
mod appfile;
#[path = "cli/artifacts.rs"]
mod artifacts;
#[path = "cli/beginning.rs"]
mod beginning;
#[path = "cli/browser.rs"]
mod browser;
#[path = "cli/capabilities.rs"]
mod capabilities;
#[path = "cli/charts.rs"]
mod charts;
#[path = "cli/chromium.rs"]
mod chromium;
#[path = "cli/config.rs"]
mod config;
#[path = "cli/controller.rs"]
mod controller;
#[path = "cli/dashboard.rs"]
mod dashboard;
#[path = "cli/dashboard_2021.rs"]
mod dashboard_2021;
#[path = "cli/definition_changes.rs"]
mod definition_changes;
#[path = "cli/definition_tests.rs"]
mod definition_tests;
#[path = "cli/definitions.rs"]
mod definitions;
#[path = "cli/deploy.rs"]
mod deploy;
#[path = "cli/docs.rs"]
mod docs;
#[path = "cli/environments.rs"]
mod environments;
#[path = "cli/errors.rs"]
mod errors;
#[path = "cli/everyday.rs"]
mod everyday;
#[path = "cli/figures.rs"]
mod figures;
#[path = "cli/generated.rs"]
mod generated;
#[path = "cli/habits.rs"]
mod habits;
#[path = "cli/inside.rs"]
mod inside;
#[path = "cli/kustomize.rs"]
mod kustomize;
#[path = "cli/lsp.rs"]
mod lsp;
#[path = "cli/offline.rs"]
mod offline;
#[path = "cli/operators.rs"]
mod operators;
#[path = "cli/policies.rs"]
mod policies;
#[path = "cli/pty.rs"]
mod pty;
#[path = "cli/ql.rs"]
mod ql;
#[path = "cli/rollout.rs"]
mod rollout;
#[path = "cli/sandbox.rs"]
mod sandbox;
#[path = "cli/simulate.rs"]
mod simulate;
#[path = "cli/store.rs"]
mod store;
#[path = "cli/streams.rs"]
mod streams;
#[path = "cli/system.rs"]
mod system;
#[path = "cli/system_namespace.rs"]
mod system_namespace;
#[path = "cli/terminal.rs"]
mod terminal;
#[path = "cli/top.rs"]
mod top;
#[path = "cli/upgrade.rs"]
mod upgrade;
#[path = "cli/verbs.rs"]
mod verbs;
#[path = "cli/watch.rs"]
mod watch;
#[path = "cli/workflow.rs"]
mod workflow;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A person's account on a machine without any cluster.
struct Person {
    home: TempDir,
}

/// What a run printed and how it ended.
#[derive(Debug)]
struct CommandOutput {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Person {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    }

    fn command(&self, words: &[&str]) -> Command {
        self.environment(Command::new(env!("CARGO_BIN_EXE_vela")), words)
    }

    fn environment(&self, mut command: Command, words: &[&str]) -> Command {
        command
            .args(words)
            .current_dir(self.home.path())
            .env_remove("KUBECONFIG")
            .env_remove("KUBERNETES_SERVICE_HOST")
            .env_remove("XDG_DATA_HOME")
            .env("HOME", self.home.path())
            .env("VELA_HOME", self.path("vela"))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        command
    }

    fn types(&self, words: &[&str]) -> CommandOutput {
        CommandOutput::of(&self.command(words).output().unwrap())
    }
}

impl CommandOutput {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    #[track_caller]
    fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Failed with this exit code, and told all of this.
    #[track_caller]
    fn fails(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        for words in words {
            assert!(self.err.contains(words), "the error does not say {words:?}:\n{}", self.err);
        }
        self
    }
}

fn golden(name: &str, actual: &str) {
    vela_testkit::golden(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name), actual);
}

/// A component type whose template is so small that only the program around it is under test.
const PAGE: &str = r#"apiVersion: core.oam.dev/v1beta1
kind: ComponentDefinition
metadata:
  name: page
spec:
  workload:
    definition: {apiVersion: apps/v1, kind: Deployment}
  schematic:
    handlebars:
      template: |
        apiVersion: apps/v1
        kind: Deployment
        spec:
          replicas: {{parameter.replicas}}
          paused: {{parameter.paused}}
          selector: {matchLabels: {app: {{context.name}}}}
          template:
            metadata: {labels: {app: {{context.name}}}}
            spec: {containers: [{name: {{context.name}}, image: "{{parameter.image}}"}]}
        ---
        apiVersion: v1
        kind: Service
        spec: {selector: {app: {{context.name}}}, ports: [{port: 80}]}
"#;

/// An application of one page.
fn site(paused: bool) -> String {
    format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata:\n  name: site\nspec:\n  components:\n    - name: front\n      type: page\n      properties: {{image: nginx:1, replicas: 2, paused: {paused}}}\n"
    )
}
