//! The actions of people on the cluster: write, change, pause and delete applications, and meddle.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::checker::Checker;
use crate::cluster::SimulatedCluster;
use crate::draws::Draws;
use crate::model::{self, APPLICATION, Form, NAMESPACE, OWNED, Spec, path};
use crate::workflow;

/// The people.
pub(crate) struct User {
    /// What the application last said, and what it said before: people go back and forth.
    pub(crate) spec: Spec,
    before: Spec,
    pub(crate) form: Form,
    /// Whether they want it to exist.
    pub(crate) wants: bool,
    paused: bool,
    touched: u32,
    /// The component type whose definition they broke.
    broken: Option<&'static str>,
    /// Names of objects they made themselves.
    foreign: Vec<model::Place>,
}

impl User {
    pub(crate) fn new(draws: &mut Draws) -> Self {
        let form = [Form::Application, Form::Configuration][usize::from(draws.once_in(3))];
        let spec = Spec::draw(draws);
        let before = spec.changed(draws);
        let (spec, before) = match form {
            Form::Application | Form::Rollout | Form::RolloutSeed | Form::Workflow => (spec, before),
            Form::Configuration => (spec.with_fixed_types(), before.with_fixed_types()),
        };
        Self::beginning(form, spec, before)
    }

    /// The same people with a workflow in their application.
    pub(crate) fn with_workflow(self) -> Self {
        Self { form: Form::Workflow, ..self }
    }

    /// No user: in clusters of rollouts other people act.
    pub(crate) fn of_rollouts() -> Self {
        Self::beginning(Form::Rollout, Spec::default(), Spec::default())
    }

    /// Before they did anything.
    fn beginning(form: Form, spec: Spec, before: Spec) -> Self {
        Self {
            form,
            spec,
            before,
            wants: false,
            paused: false,
            touched: 0,
            broken: None,
            foreign: Vec::new(),
        }
    }

    /// Do one thing; tells what it was.
    pub(crate) fn act(
        &mut self,
        draws: &mut Draws,
        cluster: &SimulatedCluster,
        checker: &mut Checker,
    ) -> String {
        if !self.wants {
            return self.create(cluster);
        }
        let mut weights = vec![10, 5, 3, 3, 3, 3, 2, 2];
        if self.form == Form::Workflow {
            weights.extend([14, 2, 2]);
        }
        match draws.weighted(&weights) {
            0 => {
                std::mem::swap(&mut self.spec, &mut self.before);
                self.update(cluster)
            }
            1 => {
                let mut next = self.spec.changed(draws);
                if self.form == Form::Configuration {
                    next = next.with_fixed_types();
                }
                self.before = std::mem::replace(&mut self.spec, next);
                self.update(cluster)
            }
            2 => self.delete(cluster),
            3 => edit_by_hand(draws, cluster),
            4 => delete_by_hand(draws, cluster),
            5 => self.make_foreign(draws, cluster, checker),
            6 if self.form.is_application() => self.pause(cluster, !self.paused),
            8 => resume(cluster, checker),
            9 => {
                workflow::forget(cluster);
                "user restarts the workflow".to_owned()
            }
            10 => {
                workflow::ask_again(cluster);
                "user asks for another run".to_owned()
            }
            _ if self.form.is_application() => self.break_or_mend_a_definition(cluster),
            _ => self.touch_a_definition(cluster),
        }
    }

    /// Leave a cluster in which an end can be expected: the application wanted, nothing of theirs in its way.
    pub(crate) fn make_peace(&mut self, cluster: &SimulatedCluster) {
        for (resource, name) in std::mem::take(&mut self.foreign) {
            cluster.user(Method::DELETE, &path(&resource, &name), None);
        }
        if self.paused {
            self.pause(cluster, false);
        }
        if self.broken.is_some() {
            self.break_or_mend_a_definition(cluster);
        }
    }

    /// Create the application; while one of that name is still going away the server refuses, and they try again.
    pub(crate) fn create(&mut self, cluster: &SimulatedCluster) -> String {
        let (said, code) = write(cluster, self.form, &self.spec);
        self.wants = code.is_success();
        self.paused &= !self.wants;
        format!("user creates the application: {code}: {said}")
    }

    fn update(&mut self, cluster: &SimulatedCluster) -> String {
        if self.form == Form::Configuration {
            put_components(cluster, &self.spec);
        }
        let said = said(self.form, &self.spec);
        let body = json!({"spec": said});
        let (code, _) = cluster.user(Method::PATCH, &self.application(), Some(&body));
        format!("user updates the application: {code}: {said}")
    }

    /// Delete the application.
    pub(crate) fn delete(&mut self, cluster: &SimulatedCluster) -> String {
        let (code, _) = cluster.user(Method::DELETE, &self.application(), None);
        self.wants = false;
        format!("user deletes the application: {code}")
    }

    /// Delete what people made beside the application.
    pub(crate) fn clean_up(&self, cluster: &SimulatedCluster) {
        for entry in cluster.store().list(model::COMPONENTS, Some(NAMESPACE)).0 {
            let name = entry["metadata"]["name"].as_str().unwrap_or_default();
            cluster.user(Method::DELETE, &path(model::COMPONENTS, name), None);
        }
    }

    fn pause(&mut self, cluster: &SimulatedCluster, paused: bool) -> String {
        self.paused = paused;
        let label = if paused { json!("true") } else { Value::Null };
        let body = json!({"metadata": {"labels": {"controller.core.oam.dev/pause": label}}});
        let (code, _) = cluster.user(Method::PATCH, &self.application(), Some(&body));
        format!("user sets pause to {paused}: {code}")
    }

    fn application(&self) -> String {
        path(self.form.resource(), APPLICATION)
    }

    /// Wakes every application that uses the type of the first component, and means nothing else.
    pub(crate) fn touch_a_definition(&mut self, cluster: &SimulatedCluster) -> String {
        self.touched += 1;
        let body = json!({"metadata": {"annotations": {"touched": self.touched.to_string()}}});
        let type_ = self.spec.components.first().map_or("settings", |component| component.type_.name());
        cluster.user(Method::PATCH, &path("componentdefinitions.core.oam.dev", type_), Some(&body));
        format!("user touches the definition {type_}")
    }

    /// A definition that renders nothing any more: what runs by it is looked after all the same. The next time it is mended.
    fn break_or_mend_a_definition(&mut self, cluster: &SimulatedCluster) -> String {
        let type_ = self.broken.unwrap_or_else(|| {
            self.spec.components.first().map_or("settings", |component| component.type_.name())
        });
        let template = match self.broken {
            None => json!("{{#if"),
            Some(_) => {
                let all = model::definitions();
                let good = all.iter().find(|definition| definition["metadata"]["name"] == type_);
                good.map(|good| good["spec"]["schematic"]["handlebars"]["template"].clone())
                    .unwrap_or_default()
            }
        };
        let mends = self.broken.is_some();
        self.broken = (!mends).then_some(type_);
        let body = json!({"spec": {"schematic": {"handlebars": {"template": template}}}});
        cluster.user(Method::PATCH, &path("componentdefinitions.core.oam.dev", type_), Some(&body));
        format!("user {} the definition {type_}", if mends { "mends" } else { "breaks" })
    }

    /// An object of a name that the application wants, or wanted, or may want.
    fn make_foreign(
        &mut self,
        draws: &mut Draws,
        cluster: &SimulatedCluster,
        checker: &mut Checker,
    ) -> String {
        let modern = [said(self.form, &self.spec), said(self.form, &self.before)];
        let places: Vec<_> =
            modern.into_iter().flat_map(|spec| model::wanted(&json!({"spec": spec}))).collect();
        let (resource, name) = places[draws.below(places.len())].clone();
        if resource != "configmaps" {
            return format!("user has no use for a foreign {resource}");
        }
        let mut object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": NAMESPACE}, "data": {"text": "of another owner"},
        });
        let account = cluster.store().find("serviceaccounts", NAMESPACE, "default");
        if let (Form::Configuration, Some(account)) = (self.form, account) {
            // A configuration may take over objects without a controller, as its specification says.
            object["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "v1", "kind": "ServiceAccount", "name": "default", "controller": true,
                "uid": account["metadata"]["uid"],
            }]);
        }
        let (code, made) = cluster.user(Method::POST, &path(&resource, ""), Some(&object));
        if let (true, Some(uid)) = (code.is_success(), made["metadata"]["uid"].as_str()) {
            checker.foreign(uid);
            self.foreign.push((resource, name.clone()));
        }
        format!("user makes a ConfigMap {name}: {code}")
    }
}

/// Resume whatever is suspended; tells what that was.
pub(crate) fn resume(cluster: &SimulatedCluster, checker: &mut Checker) -> String {
    let resumed = workflow::resume(cluster);
    let said = format!("user resumes {} steps of the workflow", resumed.len());
    checker.workflows.iter_mut().for_each(|checker| checker.resumed(resumed.clone()));
    said
}

/// An object of the application, chosen among those that are there.
fn some_owned(draws: &mut Draws, cluster: &SimulatedCluster) -> Option<(&'static str, String)> {
    let mut found = Vec::new();
    for resource in OWNED {
        for entry in cluster.store().list(resource, Some(NAMESPACE)).0 {
            if entry["metadata"]["labels"]["app.oam.dev/name"] == APPLICATION {
                found.push((resource, entry["metadata"]["name"].as_str().unwrap_or_default().to_owned()));
            }
        }
    }
    let at = draws.below(found.len());
    found.get(at).cloned()
}

fn edit_by_hand(draws: &mut Draws, cluster: &SimulatedCluster) -> String {
    let Some((resource, name)) = some_owned(draws, cluster) else {
        return "user finds nothing to edit".into();
    };
    let body = match resource {
        "configmaps" => json!({"data": {"text": "by hand"}}),
        "deployments.apps" | "statefulsets.apps" => json!({"spec": {"replicas": 1}}),
        _ => json!({"metadata": {"labels": {"app.oam.dev/component": "by-hand"}}}),
    };
    let (code, _) = cluster.user(Method::PATCH, &path(resource, &name), Some(&body));
    format!("user edits {resource} {name} by hand: {code}")
}

fn delete_by_hand(draws: &mut Draws, cluster: &SimulatedCluster) -> String {
    let Some((resource, name)) = some_owned(draws, cluster) else {
        return "user finds nothing to delete".into();
    };
    let (code, _) = cluster.user(Method::DELETE, &path(resource, &name), None);
    format!("user deletes {resource} {name} by hand: {code}")
}

/// What people write into the `spec`.
fn said(form: Form, spec: &Spec) -> Value {
    match form {
        Form::Application => spec.with_policies(),
        Form::Rollout | Form::RolloutSeed => spec.modern(),
        Form::Workflow => workflow::with_workflow(spec),
        Form::Configuration => spec.configuration(),
    }
}

/// Create the application and what it needs.
pub(crate) fn write(cluster: &SimulatedCluster, form: Form, spec: &Spec) -> (Value, StatusCode) {
    let (version, kind) = match form {
        Form::Application | Form::Rollout | Form::RolloutSeed | Form::Workflow => {
            ("core.oam.dev/v1beta1", "Application")
        }
        Form::Configuration => ("core.oam.dev/v1alpha2", "ApplicationConfiguration"),
    };
    if form == Form::Configuration {
        put_components(cluster, spec);
    }
    if form == Form::Workflow {
        workflow::define(cluster);
    }
    let said = said(form, spec);
    let object = json!({
        "apiVersion": version, "kind": kind,
        "metadata": {"name": APPLICATION, "namespace": NAMESPACE}, "spec": said,
    });
    let (code, _) = cluster.user(Method::POST, &path(form.resource(), ""), Some(&object));
    (said, code)
}

/// Create or change the Components; those no longer named stay, as they do where people apply files.
fn put_components(cluster: &SimulatedCluster, spec: &Spec) {
    for component in spec.components() {
        let (code, _) = cluster.user(Method::POST, &path(model::COMPONENTS, ""), Some(&component));
        if code == StatusCode::CONFLICT {
            let name = component["metadata"]["name"].as_str().unwrap_or_default();
            let body = json!({"spec": component["spec"]});
            cluster.user(Method::PATCH, &path(model::COMPONENTS, name), Some(&body));
        }
    }
}
