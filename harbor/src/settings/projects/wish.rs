//! The annotations of a namespace → which project and which robot account it asks for. Pure.

use kube::api::DynamicObject;
use vela_runtime::Key;
use vela_runtime::apply::text_hash;
use vela_runtime::cache::Change;

use super::super::binding::robot_id;
use super::super::error::Error;
use super::super::namespace::{annotation, annotations_of, name_of};
use super::super::rule::is_project;
use crate::field::Field;

/// The annotation that names the project, or asks for one.
pub(super) const PROJECT: &str = "goharbor.io/project";
/// The annotation with the number of the robot account.
pub(super) const ROBOT: &str = "goharbor.io/robot";
/// The annotation that names the account of the pods.
pub(super) const ACCOUNT: &str = "goharbor.io/service-account";

/// The project of a namespace that wants one of its own.
const OWN: &str = "*";
/// The account that every namespace has.
const USUAL_ACCOUNT: &str = "default";
/// Characters of the name of a project at most.
const PROJECT_AT_MOST: usize = 255;
/// Digits that set projects of namespaces of the same name apart, also those of other clusters.
const DIGITS: usize = 12;

/// What a namespace asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    /// The name of the project.
    pub(super) project: String,
    /// Is the project made for the namespace?
    pub(super) is_own: bool,
    /// The robot account that it names; always there where the project is not its own.
    pub(super) robot: Option<u64>,
    /// The ServiceAccount that pulls images.
    pub(super) account: String,
}

/// The namespaces that ask for a project among those that change; one that did counts, too.
pub(super) fn asking(change: &Change) -> Vec<Key> {
    let both = [change.old.as_deref(), change.new.as_deref()];
    let of = both.into_iter().flatten().find(|namespace| asks(namespace));
    of.map(Key::of).into_iter().collect()
}

/// Does the namespace ask for a project?
pub(super) fn asks(namespace: &DynamicObject) -> bool {
    annotation(namespace, PROJECT).is_some()
}

/// What the namespace asks for, if anything.
///
/// # Errors
/// One of its annotations is wrong, or the robot account is missing.
pub(super) fn of(namespace: &DynamicObject) -> Result<Option<Wish>, Error> {
    let Some(project) = annotation(namespace, PROJECT) else { return Ok(None) };
    let (described, annotations) = annotations_of(namespace);
    let annotations = Field::new(&described, "metadata.annotations", &annotations);
    let robot = annotations.get(ROBOT);
    let account = annotation(namespace, ACCOUNT).unwrap_or(USUAL_ACCOUNT).to_owned();
    if project == OWN {
        // One that is no number was never written by the operator, which writes its own.
        let robot = robot_id(&robot).ok();
        return Ok(Some(Wish { project: own(namespace), is_own: true, robot, account }));
    }
    if !is_project(project) || project.len() > PROJECT_AT_MOST {
        let expected =
            "must be the name of a project of the Harbor, such as \"library\", or \"*\" for one that is made";
        return Err(annotations.get(PROJECT).wrong(expected).into());
    }
    if annotation(namespace, ROBOT).is_none() {
        let expected = format!(
            "must be the number of a robot account with access to project {project}, such as \"7\"; \"*\" in {PROJECT} makes a project and a robot account"
        );
        return Err(robot.wrong(expected).into());
    }
    let robot = Some(robot_id(&robot)?);
    Ok(Some(Wish { project: project.to_owned(), is_own: false, robot, account }))
}

/// The same at each look at the same namespace: what an operator made that was killed is found again.
fn own(namespace: &DynamicObject) -> String {
    let mut name = String::new();
    for letter in name_of(namespace).chars() {
        // A project may not have two dashes side by side; the digits set its namesake apart.
        if letter != '-' || !name.ends_with('-') {
            name.push(letter);
        }
    }
    let digits: String =
        text_hash(namespace.metadata.uid.as_deref().unwrap_or_default()).chars().take(DIGITS).collect();
    format!("{name}-{digits}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn namespace(name: &str, uid: &str, annotations: Value) -> DynamicObject {
        serde_json::from_value(json!({"metadata": {"name": name, "uid": uid, "annotations": annotations}}))
            .unwrap()
    }

    fn wish(annotations: Value) -> Result<Option<Wish>, String> {
        of(&namespace("shop", "u-1", annotations)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_namespace_without_a_project_asks_for_nothing() {
        for annotations in [json!({}), json!({PROJECT: ""}), json!({ROBOT: "7", "goharbor.io/harbor": "a"})] {
            assert_eq!(wish(annotations), Ok(None));
        }
    }

    #[test]
    fn a_project_is_named_with_its_robot_account() {
        let wanted = Wish {
            project: "team.a_b-1".to_owned(),
            is_own: false,
            robot: Some(7),
            account: "default".to_owned(),
        };
        let named = json!({PROJECT: "team.a_b-1", ROBOT: "7"});
        assert_eq!(wish(named), Ok(Some(wanted.clone())));
        let named = json!({PROJECT: "team.a_b-1", ROBOT: "7", ACCOUNT: "builder"});
        assert_eq!(wish(named), Ok(Some(Wish { account: "builder".to_owned(), ..wanted })));
        for (annotations, said) in [
            (
                json!({PROJECT: "Team", ROBOT: "7"}),
                "Namespace shop: metadata.annotations.goharbor.io/project must be the name of a project",
            ),
            (json!({PROJECT: "a&b", ROBOT: "7"}), "goharbor.io/project must be the name of a project"),
            (
                json!({PROJECT: "a".repeat(256), ROBOT: "7"}),
                "goharbor.io/project must be the name of a project",
            ),
            (
                json!({PROJECT: "team"}),
                "goharbor.io/robot must be the number of a robot account with access to project team",
            ),
            (
                json!({PROJECT: "team", ROBOT: "puller"}),
                "goharbor.io/robot must be the number of a robot account, such as",
            ),
        ] {
            let error = wish(annotations).unwrap_err();
            assert!(error.contains(said), "{said}: {error}");
        }
    }

    #[test]
    fn a_project_of_its_own_has_the_same_name_each_time() {
        let own = |name: &str, uid: &str, robot: &str| {
            of(&namespace(name, uid, json!({PROJECT: "*", ROBOT: robot}))).unwrap().unwrap()
        };
        let first = own("shop", "u-1", "7");
        assert!(first.is_own && first.project.starts_with("shop-") && first.project.len() == 17, "{first:?}");
        assert_eq!(first.robot, Some(7));
        assert_eq!(own("shop", "u-1", "puller"), Wish { robot: None, ..first.clone() });
        assert_ne!(own("shop", "u-2", "7").project, first.project, "another cluster, or made anew");
        let dashes = own("a--b---c", "u-1", "").project;
        assert!(dashes.starts_with("a-b-c-") && is_project(&dashes), "{dashes}");
    }
}
