//! A Harbor that runs, as far as namespaces need it: keeps projects and robot accounts, and notes what the operator may not do there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use serde_json::{Value, json};

/// The project and the robot account that people made.
const OF_PEOPLE: (&str, &str) = ("library", "ci");
const API: &str = "/peer/api/v2.0/";

/// A robot account.
#[derive(Clone, Debug)]
pub(super) struct Robot {
    pub(super) project: String,
    pub(super) name: String,
    pub(super) secret: String,
}

impl Robot {
    /// Its whole name.
    pub(super) fn login(&self) -> String {
        format!("robot${}+{}", self.project, self.name)
    }
}

/// What it has; the number of each is its place, from 1 on.
#[derive(Debug)]
struct Stored {
    projects: Vec<String>,
    robots: Vec<Robot>,
    /// What was asked that nothing of the operator may ask.
    wrong: Option<String>,
}

/// The Harbor; clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Registry(Arc<Mutex<Stored>>);

impl Default for Registry {
    fn default() -> Self {
        let (project, name) = OF_PEOPLE;
        let robot = Robot { project: project.into(), name: name.into(), secret: "of-people".into() };
        let stored = Stored { projects: vec![project.to_owned()], robots: vec![robot], wrong: None };
        Self(Arc::new(Mutex::new(stored)))
    }
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, Stored> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the operator did to what is not its own, or the second one of something.
    pub(super) fn wrong(&self, namespaces: &[&str]) -> Option<(&'static str, String)> {
        let stored = self.lock();
        if let Some(wrong) = &stored.wrong {
            return Some(("foreign", format!("the operator asks the Harbor for {wrong}")));
        }
        namespaces.iter().find_map(|namespace| {
            let projects = projects_of(&stored, namespace);
            let robots = robots_of(&stored, namespace);
            let twice = projects.len() > 1 || robots.len() > 1;
            twice.then(|| {
                ("duplicate", format!("namespace {namespace} has projects {projects:?}, robots {robots:?}"))
            })
        })
    }

    /// The numbers of a namespace's only project and robot account, and that account.
    pub(super) fn made_for(&self, namespace: &str) -> Option<(usize, usize, Robot)> {
        let stored = self.lock();
        let (projects, robots) = (projects_of(&stored, namespace), robots_of(&stored, namespace));
        match (projects.as_slice(), robots.as_slice()) {
            ([project], [robot]) => Some((project + 1, robot + 1, stored.robots.get(*robot).cloned()?)),
            _ => None,
        }
    }

    /// Answers a request to its API.
    pub(super) fn answer(&self, request: &Request<Bytes>) -> (StatusCode, Value) {
        let mut stored = self.lock();
        let path = request.uri().path().strip_prefix(API).unwrap_or_default().to_owned();
        let query = request.uri().query().unwrap_or_default();
        let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let number = path.strip_prefix("robots/").and_then(|number| number.parse::<usize>().ok());
        let at = number.and_then(|number| number.checked_sub(1)).filter(|at| *at < stored.robots.len());
        match (request.method(), path.as_str(), at) {
            (&Method::GET, "health", _) => (StatusCode::OK, json!({"status": "healthy"})),
            (&Method::GET, "users/current", _) => (StatusCode::OK, json!({"user_id": 1})),
            (&Method::GET, "projects", _) => {
                let named = |name: &str| query.split('&').any(|part| part == format!("q=name%3D{name}"));
                let all = stored.projects.iter().enumerate().filter(|(_, name)| named(name));
                (StatusCode::OK, all.map(|(at, name)| json!({"project_id": at + 1, "name": name})).collect())
            }
            (&Method::POST, "projects", _) => stored.make_project(&body),
            (&Method::GET, "robots", _) => (StatusCode::OK, stored.robots_in(query)),
            (&Method::POST, "robots", _) => stored.make_robot(&body),
            (&Method::GET, _, Some(at)) => (StatusCode::OK, stored.robot(at)),
            (&Method::PATCH, _, Some(at)) if stored.robots[at].project != OF_PEOPLE.0 => {
                stored.robots[at].secret = body["secret"].as_str().unwrap_or_default().to_owned();
                (StatusCode::OK, Value::Null)
            }
            (&Method::GET, ..) => (StatusCode::NOT_FOUND, json!({"errors": [{"code": "NOT_FOUND"}]})),
            (method, path, _) => {
                stored.wrong.get_or_insert(format!("{method} {path}"));
                (StatusCode::OK, Value::Null)
            }
        }
    }
}

impl Stored {
    fn make_project(&mut self, body: &Value) -> (StatusCode, Value) {
        let name = body["project_name"].as_str().unwrap_or_default().to_owned();
        if self.projects.contains(&name) {
            return conflict();
        }
        self.projects.push(name);
        (StatusCode::CREATED, Value::Null)
    }

    fn make_robot(&mut self, body: &Value) -> (StatusCode, Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (project, name) = (text(&body["permissions"][0]["namespace"]), text(&body["name"]));
        if !self.projects.contains(&project) {
            return (StatusCode::NOT_FOUND, json!({"errors": [{"code": "NOT_FOUND"}]}));
        }
        if project == OF_PEOPLE.0 {
            self.wrong.get_or_insert(format!("a robot account in project {project}"));
        }
        if self.robots.iter().any(|robot| robot.project == project && robot.name == name) {
            return conflict();
        }
        self.robots.push(Robot { project, name, secret: "shown-once".to_owned() });
        (StatusCode::CREATED, self.robot(self.robots.len() - 1))
    }

    fn robots_in(&self, query: &str) -> Value {
        let number = query.split("ProjectID%3D").nth(1).and_then(|rest| rest.split('&').next());
        let number: usize = number.and_then(|number| number.parse().ok()).unwrap_or_default();
        let project = number.checked_sub(1).and_then(|at| self.projects.get(at));
        let of = |robot: &Robot| Some(&robot.project) == project;
        (0..self.robots.len()).filter(|at| of(&self.robots[*at])).map(|at| self.robot(at)).collect()
    }

    fn robot(&self, at: usize) -> Value {
        let robot = &self.robots[at];
        let permissions = json!([{"kind": "project", "namespace": robot.project}]);
        json!({"id": at + 1, "name": robot.login(), "permissions": permissions})
    }
}

fn conflict() -> (StatusCode, Value) {
    (StatusCode::CONFLICT, json!({"errors": [{"code": "CONFLICT"}]}))
}

/// The projects that were made for a namespace: their names begin with its own.
fn projects_of(stored: &Stored, namespace: &str) -> Vec<usize> {
    let is = |name: &String| name.starts_with(&format!("{namespace}-"));
    (0..stored.projects.len()).filter(|at| is(&stored.projects[*at])).collect()
}

fn robots_of(stored: &Stored, namespace: &str) -> Vec<usize> {
    let is = |robot: &Robot| robot.project.starts_with(&format!("{namespace}-"));
    (0..stored.robots.len()).filter(|at| is(&stored.robots[*at])).collect()
}
