//! What people do to a Harbor: change, delete and make it again, meddle with its children, and make objects of the same names.

use http::Method;
use serde_json::{Value, json};

use super::checker::Checker;
use super::cluster::{Cluster, path, path_in};
use super::model::{
    self, ASKING, BINDING, BINDINGS, HARBOR, HARBORS, NAMESPACE, OF_PEOPLE, PARTS, PROJECT, PULL_SECRET,
    ROBOT, Wish,
};
use crate::draws::Draws;

/// Children that people delete or edit.
const CHILDREN: [(&str, &str); 6] = [
    ("configmaps", "tiny-harbor-core"),
    ("services", "tiny-harbor-core"),
    ("deployments.apps", "tiny-harbor-registry"),
    ("cores.goharbor.io", PARTS),
    ("secrets", "tiny-harbor-core-csrf"),
    ("certificates.cert-manager.io", "tiny-harbor-core-tokencert"),
];

/// The people.
#[derive(Debug)]
pub(super) struct User {
    pub(super) wish: Wish,
    /// What they wanted before: people go back and forth.
    before: Wish,
    /// Whether they want a Harbor.
    pub(super) wants: bool,
    /// Whether they made a Service of their own.
    pub(super) has_service: bool,
}

impl User {
    pub(super) fn new(wants: bool) -> Self {
        Self { wish: Wish::FIRST, before: Wish::FIRST, wants, has_service: false }
    }

    /// One act; in words.
    pub(super) fn act(&mut self, draws: &mut Draws, cluster: &Cluster, checker: &mut Checker) -> String {
        if draws.once_in(3) {
            return act_in_a_namespace(draws, cluster, checker);
        }
        if !self.wants {
            return self.create(cluster);
        }
        match draws.weighted(&[6, 3, 3, 2, 1]) {
            0 => self.change(draws, cluster),
            1 => {
                let (resource, name) = CHILDREN[draws.below(CHILDREN.len())];
                let code = cluster.person(Method::DELETE, &path(resource, name), None);
                format!("people delete {resource} {name}: {code}")
            }
            2 => {
                let edit = json!({"binaryData": {"app.conf": "eA=="}});
                let name = format!("{PARTS}-core");
                let code = cluster.person(Method::PATCH, &path("configmaps", &name), Some(&edit));
                format!("people edit ConfigMap {name}: {code}")
            }
            3 => {
                let replaces = draws.once_in(2);
                self.make_a_service(cluster, checker, replaces)
            }
            _ => {
                self.wants = false;
                let code = cluster.person(Method::DELETE, &path(HARBORS, HARBOR), None);
                format!("people delete the Harbor: {code}")
            }
        }
    }

    pub(super) fn create(&mut self, cluster: &Cluster) -> String {
        let code = cluster.create(&self.wish.harbor());
        // The former one may not be gone yet.
        self.wants = code.is_success() || self.wants;
        format!("people make a Harbor with {:?}: {code}", self.wish)
    }

    fn change(&mut self, draws: &mut Draws, cluster: &Cluster) -> String {
        let Wish { portal, exporter, debug } = self.wish;
        let before = std::mem::replace(&mut self.before, self.wish);
        self.wish = match draws.below(if before == self.wish { 3 } else { 6 }) {
            0 => Wish { portal: !portal, exporter, debug },
            1 => Wish { portal, exporter: !exporter, debug },
            2 => Wish { portal, exporter, debug: !debug },
            _ => before,
        };
        let code = cluster.person(Method::PATCH, &path(HARBORS, HARBOR), Some(&self.wish.patch()));
        format!("people want {:?}: {code}", self.wish)
    }

    /// One of the name that the Portal's has, where that is free or is made so.
    fn make_a_service(&mut self, cluster: &Cluster, checker: &mut Checker, replaces: bool) -> String {
        if replaces && !self.has_service {
            cluster.person(Method::DELETE, &path("services", &format!("{PARTS}-portal")), None);
        }
        let code = cluster.create(&model::foreign_service());
        let name = format!("{PARTS}-portal");
        if code.is_success()
            && let Some(made) = cluster.store().find("services", NAMESPACE, &name)
        {
            self.has_service = true;
            checker.foreign(&made["metadata"]["uid"]);
        }
        format!("people make Service {name}, in place of another: {replaces}: {code}")
    }

    /// They stop to meddle, and want a Harbor.
    pub(super) fn make_peace(&mut self, cluster: &Cluster) {
        if std::mem::take(&mut self.has_service) {
            cluster.person(Method::DELETE, &path("services", &format!("{PARTS}-portal")), None);
        }
        for namespace in ASKING {
            let binding = cluster.object_in(namespace, BINDINGS, BINDING);
            if binding.is_some_and(|binding| binding["metadata"]["labels"][OF_PEOPLE].is_string()) {
                cluster.person(Method::DELETE, &path_in(namespace, BINDINGS, BINDING), None);
            }
            Self::ask(cluster, namespace, true);
        }
    }

    /// A namespace asks for a project, or does so no more; in words.
    pub(super) fn ask(cluster: &Cluster, namespace: &str, asks: bool) -> String {
        let annotations = match asks {
            true => json!({PROJECT: "*"}),
            false => json!({PROJECT: null, ROBOT: null}),
        };
        let patch = json!({"metadata": {"annotations": annotations}});
        let code = cluster.person(Method::PATCH, &path_in("", "namespaces", namespace), Some(&patch));
        format!("namespace {namespace} asks for a project: {asks}: {code}")
    }

    /// The Harbor as it is.
    pub(super) fn harbor(cluster: &Cluster) -> Option<Value> {
        cluster.object(HARBORS, HARBOR)
    }
}

/// One act of people in a namespace that may ask for a project.
fn act_in_a_namespace(draws: &mut Draws, cluster: &Cluster, checker: &mut Checker) -> String {
    let namespace = ASKING[draws.below(ASKING.len())];
    match draws.weighted(&[5, 2, 2, 1, 2, 2]) {
        0 => User::ask(cluster, namespace, true),
        1 => User::ask(cluster, namespace, false),
        at @ (2 | 3) => {
            let (resource, name) = [(BINDINGS, BINDING), ("secrets", PULL_SECRET)][at - 2];
            let code = cluster.person(Method::DELETE, &path_in(namespace, resource, name), None);
            format!("people delete {resource} {name} of {namespace}: {code}")
        }
        4 => {
            let edit = json!({"spec": {"projectId": "7", "robotId": "7"}});
            let code = cluster.person(Method::PATCH, &path_in(namespace, BINDINGS, BINDING), Some(&edit));
            format!("people edit the binding of {namespace}: {code}")
        }
        _ => {
            let code = cluster.create(&model::foreign_binding(namespace));
            if code.is_success()
                && let Some(made) = cluster.object_in(namespace, BINDINGS, BINDING)
            {
                checker.foreign(&made["metadata"]["uid"]);
            }
            format!("people make a binding in {namespace}: {code}")
        }
    }
}
