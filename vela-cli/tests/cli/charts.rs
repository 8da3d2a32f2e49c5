//! `vela cap --with-chart`: the Helm chart of a capability becomes a release, by the helm of the user.

use std::os::unix::fs::PermissionsExt as _;

use crate::controller::Cluster;
use crate::{CommandOutput, Person};

/// A helm with one release, which it keeps in a file.
const HELM: &str = "#!/bin/sh\necho \"$*\" >> asked\n\
    [ ! -e lost ] || { echo 'Error: context \"a\" not found' >&2; exit 1; }\ncase $1 in\n\
    status) [ -e release ] || { echo 'Error: release: not found' >&2; exit 1; } ;;\n\
    install) [ ! -e broken ] || { echo 'Error: no such chart' >&2; exit 1; }; /bin/cat > release ;;\n\
    uninstall) /bin/rm release ;;\nesac\n";

const SCALE: &str = "apiVersion: core.oam.dev/v1beta1\nkind: TraitDefinition\nmetadata: {name: scale}\nspec:\n  \
    extension:\n    install:\n      helm: {name: keda, url: https://charts.example.com, version: 2.0.0, namespace: keda, values: {a: [1]}}\n  \
    schematic:\n    cue:\n      template: 'patch: spec: replicas: parameter.count, parameter: count: int'\n";

fn types(person: &Person, words: &[&str]) -> CommandOutput {
    CommandOutput::of(&person.command(words).env("PATH", person.path("bin")).output().unwrap())
}

/// What helm was asked to do, and no more remembers.
fn asked(person: &Person) -> Vec<String> {
    let all = std::fs::read_to_string(person.path("asked")).unwrap_or_default();
    let _ = std::fs::remove_file(person.path("asked"));
    all.lines().map(str::to_owned).collect()
}

fn with_center() -> Person {
    let person = Person::new();
    person.write("types/scale.yaml", SCALE);
    person.types(&["cap", "center", "config", "team", "types"]).ok();
    person
}

#[test]
fn a_chart_is_installed_and_uninstalled_when_asked_for() {
    let person = with_center();
    let cluster = Cluster::new(&person);
    let file = person.write("bin/helm", HELM);
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let at = ["--kubeconfig", &cluster.kubeconfig, "--context"];
    person.types(&[&["install"][..], &at[..2]].concat()).ok();
    let kubeconfig = std::fs::read_to_string(&cluster.kubeconfig).unwrap();
    let context = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("current-context: ")).unwrap();
    let vela = |words: &[&str]| types(&person, &[words, &at, &[context]].concat());
    let there =
        || cluster.object("core.oam.dev/v1beta1", "TraitDefinition", "vela-system", "scale").is_some();
    let release = || std::fs::read_to_string(person.path("release")).ok();
    let install = "install keda keda --repo=https://charts.example.com --version=2.0.0 --create-namespace --values=- --namespace=keda";

    // Unless it is asked for, it is only named.
    let said = vela(&["cap", "install", "team/scale"]).ok();
    assert!(said.err.contains(&format!("--with-chart installs it: `helm {install}`")), "{said:?}");
    assert!(there() && asked(&person).is_empty());
    let said = vela(&["cap", "uninstall", "scale", "-y"]).ok();
    assert!(said.err.contains("it stays: `helm uninstall keda --namespace=keda`"), "{said:?}");
    let said = vela(&["cap", "install", "team/scale", "--with-chart", "--dry-run"]).ok();
    assert!(said.out.contains(&format!("would be installed: `helm {install}`")), "{said:?}");
    assert!(!there() && asked(&person).is_empty());

    // A cluster that helm does not find is no cluster without the release.
    person.write("lost", "");
    vela(&["cap", "install", "team/scale", "--with-chart"]).fails(1, &["helm status fails", "context"]);
    std::fs::remove_file(person.path("lost")).unwrap();
    assert_eq!(asked(&person).len(), 1);

    // A chart that cannot be installed brings no definition.
    person.write("broken", "");
    vela(&["cap", "install", "team/scale", "--with-chart"]).fails(1, &["no such chart", install]);
    assert!(!there() && release().is_none());
    std::fs::remove_file(person.path("broken")).unwrap();
    asked(&person);

    let same = format!("--kubeconfig {} --kube-context={context}", cluster.kubeconfig);
    let status = format!("status keda --namespace=keda {same}");
    let said = vela(&["cap", "install", "team/scale", "--with-chart"]).ok();
    assert!(said.err.contains("keda/keda installed"), "{said:?}");
    assert_eq!(asked(&person), [status.clone(), format!("{install} {same}")]);
    assert!(there());
    assert_eq!(release().as_deref(), Some("{\"a\":[1]}"));
    let said = vela(&["cap", "install", "team/scale", "--with-chart"]).ok();
    assert!(said.err.contains("keda/keda is there already, and stays as it is"), "{said:?}");
    assert_eq!(asked(&person), std::slice::from_ref(&status));

    let said = vela(&["cap", "uninstall", "scale", "-y", "--with-chart"]).ok();
    assert!(said.err.contains("The release keda/keda is uninstalled"), "{said:?}");
    assert_eq!(asked(&person), [status, format!("uninstall keda --namespace=keda {same}")]);
    assert!(!there() && release().is_none());
}

#[test]
fn a_chart_needs_helm_and_a_cluster() {
    let person = with_center();
    types(&person, &["cap", "install", "team/scale", "--with-chart"])
        .fails(5, &["the sandbox runs no Helm charts"]);
    let cluster = Cluster::new(&person);
    let at = ["--kubeconfig", &cluster.kubeconfig];
    person.types(&[&["install"][..], &at].concat()).ok();
    types(&person, &[&["cap", "install", "team/scale", "--with-chart"][..], &at].concat())
        .fails(3, &["helm is not installed", "leave --with-chart out"]);
    person.write("types/scale.yaml", SCALE.replace("https://charts", "file://charts"));
    person.types(&["cap", "center", "sync"]).ok();
    let said = types(&person, &[&["cap", "install", "team/scale"][..], &at].concat()).ok();
    assert!(said.err.contains("spec.extension.install.helm.url must be"), "{said:?}");
}
