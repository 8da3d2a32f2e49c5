//! The API of a Harbor about projects: the name of a project → its number and its robot account, found or made.

use http::Method;
use serde_json::{Value, json};

use super::super::api::Server;
use super::super::egress::Egress;
use super::super::error::Error;

/// The robot account that is made, as it is called within its project.
const ROBOT: &str = "vela-pull";
/// The status of an answer about what is there already.
const CONFLICT: u16 = 409;
/// The status of an answer about what is not there.
const NOT_FOUND: u16 = 404;
/// Robot accounts in one answer, which has a limit in bytes.
const PAGE: usize = 50;
/// Answers about the robot accounts of one project at most.
const PAGES_AT_MOST: usize = 20;

/// A Harbor and how it is asked.
pub(super) struct Harbor<'a> {
    pub(super) server: &'a Server,
    pub(super) egress: &'a Egress,
}

/// A project and a robot account that has access to it, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) project: u64,
    pub(super) robot: u64,
}

impl Harbor<'_> {
    /// The project of this name and its robot account; what is not there is made.
    pub(super) async fn made(&self, name: &str) -> Result<Access, Error> {
        let project = match self.project(name).await? {
            Some(project) => project,
            None => self.make_project(name).await?,
        };
        let robot = match self.own_robot(project).await? {
            Some(robot) => robot,
            None => self.make_robot(name).await?,
        };
        Ok(Access { project, robot })
    }

    /// The project of this name, where the robot account has access to it.
    pub(super) async fn named(&self, name: &str, robot: u64) -> Result<Access, Error> {
        let Some(project) = self.project(name).await? else {
            return Err(Error::NoProject { server: self.server.url.clone(), project: name.to_owned() });
        };
        let no_access =
            || Error::NoAccess { server: self.server.url.clone(), robot, project: name.to_owned() };
        let path = format!("robots/{robot}");
        let account = match self.get(&path, "show the robot account", "a robot account").await {
            Err(Error::Refused { status: NOT_FOUND, .. }) => return Err(no_access()),
            account => account?,
        };
        let permissions = account["permissions"].as_array().into_iter().flatten();
        let reaches = |permission: &Value| {
            permission["kind"] == "project"
                && permission["namespace"].as_str().is_some_and(|of| of == name || of == "*")
        };
        match permissions.into_iter().any(reaches) {
            true => Ok(Access { project, robot }),
            false => Err(no_access()),
        }
    }

    /// The number of a project. A list answers also where a question for a single one that is not there is forbidden.
    async fn project(&self, name: &str) -> Result<Option<u64>, Error> {
        let path = format!("projects?q=name%3D{name}&page_size=10");
        let found = self.list(&path, "list its projects", "a list of projects").await?;
        let project = found.iter().find(|project| project["name"] == name);
        match project {
            Some(project) => self.number(&project["project_id"], "a project with a number").map(Some),
            None => Ok(None),
        }
    }

    async fn make_project(&self, name: &str) -> Result<u64, Error> {
        let body = json!({ "project_name": name, "metadata": { "public": "false" } });
        match self.server.ask(self.egress, Method::POST, "projects", Some(&body), "make a project").await {
            Ok(_) | Err(Error::Refused { status: CONFLICT, .. }) => {}
            Err(error) => return Err(error),
        }
        // The answer to it has no number.
        let made = self.project(name).await?;
        let expected = "the project that was made";
        made.ok_or_else(|| Error::Answer { server: self.server.url.clone(), expected })
    }

    /// The robot account that the operator made in a project.
    async fn own_robot(&self, project: u64) -> Result<Option<u64>, Error> {
        for page in 1..=PAGES_AT_MOST {
            let path =
                format!("robots?q=Level%3Dproject%2CProjectID%3D{project}&page={page}&page_size={PAGE}");
            let robots = self.list(&path, "list the robot accounts of a project", "a list of robot accounts");
            let robots = robots.await?;
            // The whole name is a prefix that each Harbor chooses, the project, a plus and this.
            let is_own = |robot: &&Value| {
                robot["name"]
                    .as_str()
                    .and_then(|name| name.rsplit_once('+'))
                    .is_some_and(|(_, own)| own == ROBOT)
            };
            if let Some(robot) = robots.iter().find(is_own) {
                return self.number(&robot["id"], "a robot account with a number").map(Some);
            }
            if robots.len() < PAGE {
                return Ok(None);
            }
        }
        // Where it is among those that were not looked at, to make it is refused.
        Ok(None)
    }

    /// Its secret is set by the PullSecretBinding, so that the one of this answer need not be kept.
    async fn make_robot(&self, project: &str) -> Result<u64, Error> {
        let access = json!([{ "resource": "repository", "action": "pull" }]);
        let body = json!({
            "name": ROBOT,
            "description": "pulls images for a namespace of Kubernetes",
            "level": "project",
            "duration": -1,
            "disable": false,
            "permissions": [{ "kind": "project", "namespace": project, "access": access }],
        });
        let what = "make a robot account";
        let answer = self.server.ask(self.egress, Method::POST, "robots", Some(&body), what).await?;
        let made: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        self.number(&made["id"], "the number of the robot account that was made")
    }

    async fn list(
        &self,
        path: &str,
        what: &'static str,
        expected: &'static str,
    ) -> Result<Vec<Value>, Error> {
        match self.get(path, what, expected).await? {
            Value::Array(items) => Ok(items),
            // A Harbor that has none may say so.
            Value::Null => Ok(Vec::new()),
            _ => Err(Error::Answer { server: self.server.url.clone(), expected }),
        }
    }

    async fn get(&self, path: &str, what: &'static str, expected: &'static str) -> Result<Value, Error> {
        let answer = self.server.ask(self.egress, Method::GET, path, None, what).await?;
        serde_json::from_slice(&answer.body)
            .map_err(|_| Error::Answer { server: self.server.url.clone(), expected })
    }

    fn number(&self, value: &Value, expected: &'static str) -> Result<u64, Error> {
        let number = value.as_u64().filter(|number| *number > 0);
        number.ok_or_else(|| Error::Answer { server: self.server.url.clone(), expected })
    }
}
