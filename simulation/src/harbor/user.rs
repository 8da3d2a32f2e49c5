//! What people do to a Harbor: change, delete and make it again, meddle with its children, and make objects of the same names.

use http::Method;
use serde_json::{Value, json};

use super::checker::Checker;
use super::cluster::{Cluster, path};
use super::model::{self, HARBOR, HARBORS, NAMESPACE, PARTS, Wish};
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
            3 => self.make_a_service(cluster, checker),
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

    /// One of the name that the Portal's has, where that is free.
    fn make_a_service(&mut self, cluster: &Cluster, checker: &mut Checker) -> String {
        let code = cluster.create(&model::foreign_service());
        let name = format!("{PARTS}-portal");
        if code.is_success()
            && let Some(made) = cluster.store().find("services", NAMESPACE, &name)
        {
            self.has_service = true;
            checker.foreign(&made["metadata"]["uid"]);
        }
        format!("people make Service {name}: {code}")
    }

    /// They stop to meddle, and want a Harbor.
    pub(super) fn make_peace(&mut self, cluster: &Cluster) {
        if std::mem::take(&mut self.has_service) {
            cluster.person(Method::DELETE, &path("services", &format!("{PARTS}-portal")), None);
        }
    }

    /// The Harbor as it is.
    pub(super) fn harbor(cluster: &Cluster) -> Option<Value> {
        cluster.object(HARBORS, HARBOR)
    }
}
