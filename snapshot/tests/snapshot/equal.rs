//! All readers of the cluster read the same one.

use serde_json::{Value, json};
use vela_engine::parse::References;
use vela_engine::{DefinitionKind, Document, ObjectKey, Snapshot};
use vela_snapshot::{Error, Files, Namespaces, Reader};

use super::cluster::{FIRST, Readers, SYSTEM, TEAM, component, readers};

/// What each reader makes of these references.
async fn all(readers: &Readers, namespace: &str, references: &References) -> Vec<Result<Snapshot, Error>> {
    vec![
        readers.live.snapshot(namespace, references).await,
        readers.webhooks.snapshot(namespace, references).await,
        readers.controllers.snapshot(namespace, references).await,
        readers.command.snapshot(namespace, references).await,
    ]
}

/// The one snapshot that all readers make.
async fn the_same(readers: &Readers, namespace: &str, references: &References) -> Snapshot {
    let mut made = all(readers, namespace, references).await.into_iter().map(Result::unwrap);
    let first = made.next().unwrap();
    for other in made {
        assert!(other == first, "{references:?} in {namespace}:\n{first:#?}\nand\n{other:#?}");
    }
    first
}

fn definitions(names: &[(DefinitionKind, &str)]) -> References {
    let definitions = names.iter().map(|(kind, name)| (*kind, (*name).to_owned())).collect();
    References { definitions, ..References::default() }
}

fn says(snapshot: &Snapshot, name: &str) -> String {
    let found = snapshot.definition(DefinitionKind::Component, name);
    found.map(|found| found.spec()["schematic"]["cue"]["template"].to_string()).unwrap_or_default()
}

#[tokio::test]
async fn every_definition_of_the_repository_is_read_alike() {
    let readers = readers().await;
    for definition in vela_definitions::builtin() {
        let manifest = definition.manifest(SYSTEM);
        let kind = DefinitionKind::from_kind(manifest["kind"].as_str().unwrap()).unwrap();
        let name = manifest["metadata"]["name"].as_str().unwrap();
        let snapshot = the_same(&readers, TEAM, &definitions(&[(kind, name)])).await;
        assert!(snapshot.definition(kind, name).is_some(), "{kind:?} {name}");
    }
}

#[tokio::test]
async fn namespaces_are_looked_through_in_one_order() {
    let readers = readers().await;
    let asked =
        definitions(&[(DefinitionKind::Component, "note"), (DefinitionKind::Component, "everywhere")]);
    let of_team = the_same(&readers, TEAM, &asked).await;
    assert!(says(&of_team, "note").contains("the team's") && says(&of_team, "everywhere").contains("first"));
    let of_others = the_same(&readers, "others", &asked).await;
    assert!(says(&of_others, "note").contains("shared") && says(&of_others, "everywhere").contains("first"));
    let of_first = the_same(&readers, FIRST, &asked).await;
    assert!(says(&of_first, "everywhere").contains("first"));
}

#[tokio::test]
async fn versions_are_chosen_alike() {
    let readers = readers().await;
    for (namespace, name, expected) in [
        (TEAM, "note@v1", "\\\"one\\\""),
        (TEAM, "note@v1.2", "one and two tenths"),
        (TEAM, "note@v1.2.0", "one and two tenths"),
        (TEAM, "note@v2", "the team's two"),
        ("others", "note@v2", ""),
        (TEAM, "note@v9", ""),
        (TEAM, "missing@v1", ""),
    ] {
        let asked = definitions(&[(DefinitionKind::Component, name)]);
        let snapshot = the_same(&readers, namespace, &asked).await;
        let found = says(&snapshot, name);
        assert!(
            found.contains(expected) && found.is_empty() == expected.is_empty(),
            "{namespace} {name}: {found}"
        );
        // Advice needs to know which there are.
        let known = snapshot.versions(DefinitionKind::Component, "note").count();
        let wanted =
            if name == "note@v9" { 3 } else { usize::from(name == "note@v2" && namespace != TEAM) * 2 };
        assert_eq!(known, wanted, "{namespace} {name}");
    }
}

#[tokio::test]
async fn missing_and_broken_definitions_are_reported_alike() {
    let readers = readers().await;
    let asked = definitions(&[
        (DefinitionKind::Component, "webservise"),
        (DefinitionKind::Trait, "scaler"),
        (DefinitionKind::Policy, "topology"),
    ]);
    let snapshot = the_same(&readers, TEAM, &asked).await;
    assert!(snapshot.names(DefinitionKind::Component).contains(&"webservice"), "for advice");
    let broken = definitions(&[(DefinitionKind::Component, "of-no-era")]);
    let errors: Vec<String> =
        all(&readers, TEAM, &broken).await.into_iter().map(|made| made.unwrap_err().to_string()).collect();
    assert!(errors[0].contains("of-no-era"), "{}", errors[0]);
    assert!(errors.iter().all(|other| *other == errors[0]), "{errors:#?}");
}

#[tokio::test]
async fn kinds_resources_and_objects_are_read_alike() {
    let readers = readers().await;
    let kind = |api_version: &str, kind: &str| (api_version.to_owned(), kind.to_owned());
    let front = ObjectKey::local("core.oam.dev/v1alpha2", "Component", TEAM, "front");
    let references = References {
        kinds: [
            kind("apps/v1", "Deployment"),
            kind("v1", "Namespace"),
            // Withdrawn: served in the version that followed only.
            kind("networking.k8s.io/v1beta1", "Ingress"),
            kind("example.com/v1", "Nothing"),
        ]
        .into(),
        objects: [front.clone(), ObjectKey { name: "missing".to_owned(), ..front.clone() }].into(),
        ..References::default()
    };
    let snapshot = the_same(&readers, TEAM, &references).await;
    assert!(snapshot.object(&front).is_some());
    assert!(!snapshot.resource("v1", "Namespace").unwrap().namespaced);
    assert_eq!(snapshot.resource("networking.k8s.io/v1beta1", "Ingress").unwrap().plural, "ingresses");
    assert!(snapshot.not_served().contains(&kind("networking.k8s.io/v1beta1", "Ingress")));
    assert_eq!(snapshot.not_served().len(), 1);
    assert!(snapshot.resource("example.com/v1", "Nothing").is_none());
}

#[tokio::test]
async fn whole_documents_are_read_alike() {
    let readers = readers().await;
    let application = Document::from_object(json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {"name": "shop", "namespace": TEAM},
        "spec": {"components": [
            {"name": "card", "type": "note@v1", "traits": [{"type": "scaler"}]},
            {"name": "front", "type": "webservice", "properties": {"image": "nginx"}},
        ]},
    }));
    let configuration = Document::from_object(json!({
        "apiVersion": "core.oam.dev/v1alpha2", "kind": "ApplicationConfiguration",
        "metadata": {"name": "shop", "namespace": TEAM},
        "spec": {"components": [{"componentName": "front"}]},
    }));
    let made = [
        readers.live.application(TEAM, &application).await.unwrap(),
        readers.webhooks.application(TEAM, &application).await.unwrap(),
        readers.controllers.application(TEAM, &application).await.unwrap(),
        readers.command.application(TEAM, &application).await.unwrap(),
    ];
    assert!(made.iter().all(|other| *other == made[0]), "{made:#?}");
    let made = [
        readers.live.configuration(TEAM, &configuration).await.unwrap(),
        readers.webhooks.configuration(TEAM, &configuration).await.unwrap(),
        readers.controllers.configuration(TEAM, &configuration).await.unwrap(),
        readers.command.configuration(TEAM, &configuration).await.unwrap(),
    ];
    assert!(made.iter().all(|other| *other == made[0]), "{made:#?}");
}

#[tokio::test]
async fn documents_win_over_what_is_below_them_in_every_namespace() {
    let readers = readers().await;
    let given = Document::from_object(component("note", "", "given"));
    let namespaces = Namespaces { first: None, system: SYSTEM.to_owned() };
    let files = Files::new(readers.live.source().clone(), namespaces.clone(), [given]).unwrap();
    let reader = Reader::new(files, namespaces);
    for (namespace, name, expected) in [
        (TEAM, "note", "given"),
        ("others", "note", "given"),
        // It would be the third one that is recorded; the others stay what they are.
        ("others", "note@v3", "given"),
        ("others", "note@v1.2", "one and two tenths"),
        (TEAM, "everywhere", "the team's"),
    ] {
        let asked = definitions(&[(DefinitionKind::Component, name)]);
        let snapshot = reader.snapshot(namespace, &asked).await.unwrap();
        assert!(says(&snapshot, name).contains(expected), "{namespace} {name}: {}", says(&snapshot, name));
    }
    let stranger: Value = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let refused =
        Files::new(readers.live.source().clone(), Namespaces::default(), [Document::from_object(stranger)]);
    assert!(refused.unwrap_err().to_string().contains("ConfigMap"));
}
