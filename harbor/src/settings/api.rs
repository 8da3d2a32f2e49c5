//! The API of a Harbor: a request in, its answer out, within limits of time and size. Follows no redirect.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Method, Request, header};
use serde_json::{Value, json};
use vela_runtime::egress::{self, Answer, EgressClient, EgressPolicy, Limits, Tls};

use super::egress::Egress;
use super::error::Error;

const LIMITS: Limits =
    Limits { connect: Duration::from_secs(5), total: Duration::from_secs(20), answer_bytes: 256 * 1024 };
/// Characters of an answer that are repeated in a condition.
const SAID_AT_MOST: usize = 300;

/// The word of a component that works.
const HEALTHY: &str = "healthy";
/// The status of an answer about the user to an account that is none.
const NO_USER: u16 = 412;

/// A Harbor and the account to ask it with.
pub(super) struct Server {
    /// Its address, without a slash at its end.
    pub(super) url: String,
    /// The account.
    pub(super) user: String,
    /// Its password.
    pub(super) password: String,
    /// The authority of its certificate in PEM, where the system does not know it.
    pub(super) authority: Option<Vec<u8>>,
    /// Whether any certificate is taken.
    pub(super) takes_any_certificate: bool,
}

/// The account by which images are pulled.
pub(super) struct Robot {
    /// Its whole name.
    pub(super) name: String,
}

impl Server {
    /// Sets its configuration.
    pub(super) async fn configure(&self, egress: &Egress, settings: &Value) -> Result<(), Error> {
        let asked =
            self.ask(egress, Method::PUT, "configurations", Some(settings), "change its configuration");
        asked.await.map(drop)
    }

    /// Asks whether all of it works.
    pub(super) async fn is_healthy(&self, egress: &Egress) -> Result<(), Error> {
        let answer = self.ask(egress, Method::GET, "health", None, "say how it is").await?;
        let health: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let expected = "its health";
        let status = health["status"].as_str();
        let status = status.ok_or_else(|| Error::Answer { server: self.url.clone(), expected })?;
        if status == HEALTHY {
            return Ok(());
        }
        let components = health["components"].as_array().into_iter().flatten();
        let sick = components.filter(|component| component["status"] != HEALTHY);
        let names: Vec<&str> = sick.filter_map(|component| component["name"].as_str()).collect();
        let sick = names.join(", ").chars().take(SAID_AT_MOST).collect();
        Err(Error::Sick { server: self.url.clone(), sick })
    }

    /// Asks whether it takes the account.
    pub(super) async fn takes_account(&self, egress: &Egress) -> Result<(), Error> {
        match self.ask(egress, Method::GET, "users/current", None, "take the account").await {
            // A robot account is no user: that it is none is said only to an account that was let in.
            Err(Error::Refused { status: NO_USER, .. }) => Ok(()),
            answered => answered.map(drop),
        }
    }

    /// An account.
    pub(super) async fn robot(&self, egress: &Egress, id: u64) -> Result<Robot, Error> {
        let path = format!("robots/{id}");
        let answer = self.ask(egress, Method::GET, &path, None, "show the robot account").await?;
        let found: Option<Value> = serde_json::from_slice(&answer.body).ok();
        let name = found.as_ref().and_then(|robot| robot["name"].as_str()).filter(|name| !name.is_empty());
        let expected = "a robot account with a name";
        let name = name.ok_or_else(|| Error::Answer { server: self.url.clone(), expected })?;
        Ok(Robot { name: name.to_owned() })
    }

    /// Gives an account this password; to do it again changes nothing.
    pub(super) async fn set_robot_secret(&self, egress: &Egress, id: u64, secret: &str) -> Result<(), Error> {
        let (path, body) = (format!("robots/{id}"), json!({ "secret": secret }));
        let what = "set the secret of the robot account";
        self.ask(egress, Method::PATCH, &path, Some(&body), what).await.map(drop)
    }

    fn client(&self, policy: EgressPolicy) -> Result<EgressClient, egress::Error> {
        if self.takes_any_certificate {
            return EgressClient::without_certificate_check(policy, LIMITS);
        }
        let tls = Tls { authorities: self.authority.clone(), ..Tls::default() };
        EgressClient::with_tls(policy, LIMITS, &tls)
    }

    /// The answer to one request; `what` says in words what is asked for.
    pub(super) async fn ask(
        &self,
        egress: &Egress,
        method: Method,
        path: &str,
        body: Option<&Value>,
        what: &'static str,
    ) -> Result<Answer, Error> {
        let login = STANDARD.encode(format!("{}:{}", self.user, self.password));
        let request = Request::builder()
            .method(method)
            .uri(format!("{}/api/v2.0/{path}", self.url))
            .header(header::AUTHORIZATION, format!("Basic {login}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.map(|body| body.to_string().into_bytes()).unwrap_or_default());
        let request = request.map_err(|_| Error::Address { field: self.url.clone() })?;
        let unreached = |source| Error::Unreached { server: self.url.clone(), source };
        let answer = match &egress.instead {
            Some(instead) => tokio::time::timeout(LIMITS.total, instead(request))
                .await
                .unwrap_or(Err(egress::Error::Slow(LIMITS.total))),
            None => self.client(egress.policy).map_err(unreached)?.ask(request).await,
        };
        let answer = answer.map_err(unreached)?;
        if answer.status.is_success() {
            return Ok(answer);
        }
        let said: String = String::from_utf8_lossy(&answer.body).chars().take(SAID_AT_MOST).collect();
        Err(Error::Refused { server: self.url.clone(), what, status: answer.status.as_u16(), said })
    }
}
