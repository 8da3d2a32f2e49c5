//! The Helm chart that a definition of early 2021 says it needs → a release, by the helm that the user has.

use std::fmt;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use vela_engine::names::{is_label, is_subdomain};

use crate::args::Global;
use crate::download;
use crate::error::{Error, Failure, Result};
use crate::pointer::text;
use crate::program::{Stopped, run_with};
use crate::screen::Screen;
use crate::session::Session;

/// How long helm may take for one command; it waits for hooks of the chart.
const PATIENCE: Duration = Duration::from_secs(600);
/// Bytes of what helm may write.
const LARGEST_ANSWER: usize = 16 << 20;

/// What helm says where there is no such release; a context or a program can be not found as well.
const NO_RELEASE: &str = "release: not found";

/// A chart, and the release that it becomes; the release has the name of the chart.
#[derive(Debug, PartialEq)]
pub(super) struct Chart {
    name: String,
    repository: String,
    version: Option<String>,
    namespace: String,
    values: Value,
}

impl fmt::Display for Chart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.version.as_deref().unwrap_or_default();
        let space = if version.is_empty() { "" } else { " " };
        write!(f, "the Helm chart {}{space}{version} of {}", self.name, self.repository)
    }
}

impl Chart {
    /// The chart of a definition, if it names one; one without a namespace is released in that of the definition.
    pub(super) fn of(definition: &Value) -> Option<std::result::Result<Self, Error>> {
        let chart = definition.pointer("/spec/extension/install/helm").filter(|chart| chart.is_object())?;
        let given = |field: &str| chart[field].as_str().filter(|text| !text.is_empty());
        let wrong = |field: &str, expected: &str| {
            let title = format!("{} {}", text(definition, "/kind"), text(definition, "/metadata/name"));
            let error = Error::user(format!(
                "{title} names a Helm chart that cannot be installed: spec.extension.install.helm.{field} must be {expected}"
            ));
            Err(error.hint("correct the definition in its centre, or install the chart by hand"))
        };
        let Some(name) = given("name").filter(|name| is_subdomain(name)) else {
            return Some(wrong("name", "the name of a chart: a-z, 0-9, - and ."));
        };
        let Some(repository) = given("url").filter(|url| download::is_url(url)) else {
            return Some(wrong("url", "the http:// or https:// address of a repository"));
        };
        let namespace = given("namespace").unwrap_or_else(|| text(definition, "/metadata/namespace"));
        if !is_label(namespace) {
            return Some(wrong("namespace", "the name of a namespace"));
        }
        Some(Ok(Self {
            name: name.to_owned(),
            repository: repository.to_owned(),
            version: given("version").map(str::to_owned),
            namespace: namespace.to_owned(),
            values: chart["values"].clone(),
        }))
    }

    /// What helm is to do for it. Every part of the definition stands behind an `=`, so that none becomes a flag.
    fn words(&self, verb: &str) -> Vec<String> {
        let mut words = vec![verb.to_owned(), self.name.clone()];
        if verb == "install" {
            words.extend([self.name.clone(), format!("--repo={}", self.repository)]);
            words.extend(self.version.as_ref().map(|version| format!("--version={version}")));
            words.push("--create-namespace".to_owned());
            if !self.values.is_null() {
                words.push("--values=-".to_owned());
            }
        }
        words.push(format!("--namespace={}", self.namespace));
        words
    }

    /// The command that does the same.
    pub(super) fn command(&self, verb: &str) -> String {
        format!("helm {}", self.words(verb).join(" "))
    }

    fn release(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    fn failed(&self, verb: &str, why: &str) -> Failure {
        let error = Error::user(format!("helm {verb} fails for {self}: {why}"));
        error.hint(format!("`{}` shows it alone", self.command(verb))).into()
    }
}

/// The helm of the user, at the target of a command that asks for charts.
pub(super) struct Helm<'a> {
    global: &'a Global,
    is_sandbox: bool,
}

impl<'a> Helm<'a> {
    pub(super) fn of(is_asked: bool, session: &Session, global: &'a Global) -> Option<Self> {
        is_asked.then_some(Self { global, is_sandbox: session.is_sandbox() })
    }

    /// The charts that definitions name, each once.
    pub(super) fn charts<'b>(&self, definitions: impl Iterator<Item = &'b Value>) -> Result<Vec<Chart>> {
        let mut charts: Vec<Chart> = Vec::new();
        for chart in definitions.filter_map(Chart::of) {
            let chart = chart?;
            if !charts.contains(&chart) {
                charts.push(chart);
            }
        }
        if self.is_sandbox && !charts.is_empty() {
            let error = Error::not_supported("the sandbox runs no Helm charts");
            return Err(error.hint("leave --with-chart out, or name a cluster with --context").into());
        }
        Ok(charts)
    }

    /// Makes the release; one that is there stays as it is, whatever its version and values.
    pub(super) fn install(&self, chart: &Chart, screen: &mut Screen) -> Result<()> {
        let release = chart.release();
        if self.is_there(chart)? {
            screen.say(&format!("The release {release} is there already, and stays as it is."));
            return Ok(());
        }
        let values = if chart.values.is_null() { String::new() } else { chart.values.to_string() };
        self.run(chart, "install", &values)?.map_err(|why| chart.failed("install", &why))?;
        screen.say(&format!("{release} installed: {chart}"));
        Ok(())
    }

    /// Takes the release away, if it is there.
    pub(super) fn uninstall(&self, chart: &Chart, screen: &mut Screen) -> Result<()> {
        let release = chart.release();
        if !self.is_there(chart)? {
            screen.say(&format!("There is no release {release}."));
            return Ok(());
        }
        self.run(chart, "uninstall", "")?.map_err(|why| chart.failed("uninstall", &why))?;
        screen.say(&format!("The release {release} is uninstalled."));
        Ok(())
    }

    fn is_there(&self, chart: &Chart) -> Result<bool> {
        match self.run(chart, "status", "")? {
            Ok(()) => Ok(true),
            Err(why) if why.contains(NO_RELEASE) => Ok(false),
            Err(why) => Err(chart.failed("status", &why)),
        }
    }

    /// Runs helm on the cluster that the command works on; the reason where it fails.
    fn run(&self, chart: &Chart, verb: &str, input: &str) -> Result<std::result::Result<(), String>> {
        let mut command = Command::new("helm");
        command.args(chart.words(verb));
        let Global { kubeconfig, context, as_user, as_group, .. } = self.global;
        if let Some(file) = kubeconfig {
            command.arg("--kubeconfig").arg(file);
        }
        command.args(context.iter().map(|context| format!("--kube-context={context}")));
        command.args(as_user.iter().map(|user| format!("--kube-as-user={user}")));
        command.args(as_group.iter().map(|group| format!("--kube-as-group={group}")));
        match run_with(command, input, LARGEST_ANSWER, PATIENCE) {
            Ok(_) => Ok(Ok(())),
            Err(Stopped::Failed(why)) => Ok(Err(why)),
            Err(Stopped::NotThere) => {
                let error = Error::config(format!("{chart} cannot be installed: helm is not installed"));
                Err(error.hint("install helm, or leave --with-chart out").into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(helm: Value) -> Value {
        json!({"kind": "TraitDefinition", "metadata": {"name": "scale", "namespace": "vela-system"},
            "spec": {"extension": {"install": {"helm": helm}}}})
    }

    fn refused(helm: Value) -> String {
        Chart::of(&definition(helm)).unwrap().unwrap_err().message
    }

    #[test]
    fn a_chart_becomes_one_command_of_helm() {
        let url = "https://charts.example.com/keda";
        let chart = Chart::of(&definition(json!({"name": "keda", "url": url}))).unwrap().unwrap();
        assert_eq!(
            chart.command("install"),
            "helm install keda keda --repo=https://charts.example.com/keda --create-namespace --namespace=vela-system"
        );
        assert_eq!(chart.command("uninstall"), "helm uninstall keda --namespace=vela-system");
        assert_eq!(chart.to_string(), "the Helm chart keda of https://charts.example.com/keda");
        let whole =
            json!({"name": "keda", "url": url, "version": "2.0.0", "namespace": "keda", "values": {"a": 1}});
        let chart = Chart::of(&definition(whole)).unwrap().unwrap();
        assert_eq!(
            chart.command("install"),
            "helm install keda keda --repo=https://charts.example.com/keda --version=2.0.0 --create-namespace --values=- --namespace=keda"
        );
        assert!(Chart::of(&json!({"spec": {}})).is_none());
    }

    #[test]
    fn what_is_no_chart_is_named_by_its_field() {
        let url = "https://charts.example.com";
        for (helm, field) in [
            (json!({"url": url}), "helm.name must be"),
            (json!({"name": "--post-renderer=x", "url": url}), "helm.name must be"),
            (json!({"name": "keda", "url": "file:///etc"}), "helm.url must be"),
            (json!({"name": "keda"}), "helm.url must be"),
            (json!({"name": "keda", "url": url, "namespace": "-A"}), "helm.namespace must be"),
        ] {
            let said = refused(helm);
            assert!(said.contains("TraitDefinition scale") && said.contains(field), "{said}");
        }
    }
}
