//! `-k FOLDER`: kustomize builds what the commands then take, whatever program has it.

use std::os::unix::fs::PermissionsExt as _;

use crate::{CommandOutput, PAGE, Person, site};

/// A person with programs of their own in `bin`, which are the only ones; a folder `site` has a kustomization.
fn with_programs(programs: &[(&str, &str)]) -> Person {
    let person = Person::new();
    person.write("site/kustomization.yaml", "resources: [page.yaml, app.yaml]\n");
    person.write("site/page.yaml", PAGE);
    person.write("site/app.yaml", site(false));
    for (name, script) in programs {
        let path = person.write(&format!("bin/{name}"), format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    person
}

fn types(person: &Person, words: &[&str]) -> CommandOutput {
    CommandOutput::of(&person.command(words).env("PATH", person.path("bin")).output().unwrap())
}

/// Says what it was asked, and prints what the test has as built.
const BUILDS: &str = "echo \"${0##*/} $*\" >> asked\nexec /bin/cat built.yaml";

fn asked(person: &Person) -> String {
    std::fs::read_to_string(person.path("asked")).unwrap_or_default()
}

#[test]
fn what_kustomize_builds_is_dried_applied_and_deleted() {
    let person = with_programs(&[("kubectl", BUILDS)]);
    person.write("built.yaml", format!("{PAGE}---\n{}", site(false)));
    let dry = types(&person, &["dry-run", "--offline", "-k", "site"]).ok();
    let plain = types(&person, &["dry-run", "--offline", "site/page.yaml", "site/app.yaml"]).ok();
    assert_eq!(
        dry.out.replace("site (as kustomize builds it)", "…"),
        plain.out.replace("site/app.yaml", "…")
    );
    assert_eq!(asked(&person), "kubectl kustomize -- site\n");
    types(&person, &["up", "--kustomize", "site", "--timeout", "60s"]).ok();
    assert_eq!(types(&person, &["diff", "-k", "site"]).ok().out, "4 unchanged\n");
    types(&person, &["delete", "-k", "site"]).ok();
    types(&person, &["status", "site"]).fails(1, &["there is no application \"site\""]);
    // Beside files, and with places in what was built.
    person.write("built.yaml", site(false).replace("image: nginx:1", "imagee: nginx:1"));
    types(&person, &["dry-run", "--offline", "-f", "site/page.yaml", "-k", "site"])
        .fails(1, &["site (as kustomize builds it):", "parameter.image must be given"]);
}

#[test]
fn either_program_will_do_and_one_must_be_there() {
    let person = with_programs(&[("kustomize", BUILDS)]);
    person.write("built.yaml", format!("{PAGE}---\n{}", site(false)));
    types(&person, &["dry-run", "--offline", "-k", "site"]).ok();
    assert_eq!(asked(&person), "kustomize build -- site\n");
    let person = with_programs(&[]);
    types(&person, &["dry-run", "--offline", "-k", "site"])
        .fails(3, &["neither kubectl nor kustomize is installed", "install kubectl or kustomize"]);
}

#[test]
fn a_folder_that_cannot_be_built_says_why() {
    let person = with_programs(&[("kubectl", "echo 'no such resource: db.yaml' >&2; exit 1")]);
    let dry = |folder: &str| types(&person, &["dry-run", "--offline", "-k", folder]);
    dry("site")
        .fails(1, &["kubectl kustomize cannot build site", "no such resource: db.yaml", "shows it alone"]);
    dry("nowhere").fails(1, &["nowhere is no folder with a kustomization.yaml", "-f takes folders"]);
    dry("https://example.com/base?ref=secret").fails(1, &["https://example.com/base is no folder"]);
    // All that is wrong comes together, and nothing is written.
    let said = types(&person, &["up", "-f", "nowhere.yaml", "-k", "site"]);
    said.fails(1, &["nowhere.yaml cannot be read", "cannot build site"]);
    types(&person, &["delete", "-f", "a.yaml", "-k", "site"]).fails(2, &["cannot be used with"]);
    types(&person, &["up", "site", "-r", "site-v1", "-k", "site"]).fails(2, &["cannot be used with"]);
    for nothing in ["exit 0", "printf '\\377'"] {
        let person = with_programs(&[("kubectl", nothing)]);
        let said = types(&person, &["dry-run", "--offline", "-k", "site"]);
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.err.contains("no object in site") || said.err.contains("not UTF-8"), "{said:?}");
    }
}

#[test]
#[ignore = "needs kubectl: cargo test -p vela-cli --test cli the_real_kubectl -- --ignored"]
fn the_real_kubectl_builds_a_folder() {
    let person = with_programs(&[]);
    person.write("site/kustomization.yaml", "namePrefix: my-\nresources: [app.yaml]\n");
    let said = person.types(&["dry-run", "--offline", "-f", "site/page.yaml", "-k", "site"]).ok();
    assert!(said.out.contains("app.oam.dev/name: my-site"), "{said:?}");
}
