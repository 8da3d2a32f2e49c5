//! Users whom an authenticating proxy names: the API server judges each by the own name and groups, and headers without the secret are not believed.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tower::ServiceExt as _;
use vela_apiserver::ApiService;
use vela_console::{Access, Audit, Options, People, Proxy, ProxyHeaders, PublicUrl};

use crate::cluster::{Cluster, HOST, access_of, boxed};
use crate::people::failed;

const LIST: &str = "/api/v1/applications";
const SHOP: &str = "/api/v1/namespaces/default/applications/shop";
const SECRET: &str = "0123456789abcdef0123456789abcdef";
const PROOF: (&str, &str) = ("x-vela-proxy-secret", SECRET);
const ANN: (&str, &str) = ("x-forwarded-user", "ann");
const BOB: (&str, &str) = ("x-forwarded-user", "bob");
const ADMINS: (&str, &str) = ("x-forwarded-groups", "staff,admins");

/// In whose name the API server was asked: the users and the groups of each request, and its path.
type Asked = Arc<Mutex<Vec<(Vec<String>, Vec<String>, String)>>>;

/// An API server whose group `admins` may do everything, and others only see who they are. The console may act for
/// everybody but `root`. With `hears_none` it takes all for the console itself.
fn client(service: ApiService, asked: Asked, hears_none: bool) -> Client {
    let answering = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (service, asked) = (service.clone(), asked.clone());
        async move {
            let (users, groups) =
                (names(request.headers(), "impersonate-user"), names(request.headers(), "impersonate-group"));
            let path = request.uri().path().to_owned();
            asked.lock().unwrap().push((users.clone(), groups.clone(), path.clone()));
            let user = users.first().map_or("console", String::as_str);
            let taken = if hears_none { "console" } else { user };
            let (code, body) = if user == "root" {
                (403, failed(403, "User \"console\" cannot impersonate resource \"users\""))
            } else if path.ends_with("/selfsubjectreviews") {
                let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview",
                    "metadata": {}, "status": {"userInfo": {"username": taken}}});
                (201, review)
            } else if taken == "console" || groups.iter().any(|group| group == "admins") {
                let answer = service.oneshot(request).await?;
                return Ok::<_, Infallible>(answer.map(boxed));
            } else {
                (403, failed(403, &format!("User {user:?} cannot list resource \"applications\"")))
            };
            let body = http_body_util::Full::from(body.to_string());
            Ok(Response::builder().status(code).body(boxed(body)).unwrap())
        }
    });
    Client::new(answering, "default")
}

fn names(headers: &HeaderMap, header: &str) -> Vec<String> {
    headers.get_all(header).iter().map(|name| name.to_str().unwrap().to_owned()).collect()
}

struct Served {
    cluster: Cluster,
    asked: Asked,
    audits: mpsc::Receiver<Audit>,
}

impl Served {
    async fn new() -> Self {
        Self::with(false, |access| access).await
    }

    async fn with(hears_none: bool, access: impl FnOnce(Access) -> Access) -> Self {
        let mut cluster = Cluster::with_shop().await;
        let asked = Asked::default();
        let (audit, audits) = mpsc::channel(64);
        let options = Options {
            changes_as: Some("vela-cli".to_owned()),
            cluster: "kind".to_owned(),
            audit: Some(audit),
            ..Options::default()
        };
        let proxy = Proxy::new(SECRET, &ProxyHeaders::default(), false).unwrap();
        let client = client(cluster.service(), asked.clone(), hears_none);
        let access = access(access_of(HOST.parse().unwrap()));
        cluster.serve_door(People::behind(proxy, client, options, access)).await;
        Self { cluster, asked, audits }
    }

    async fn ask(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let has_host = headers.iter().any(|(name, _)| *name == "host");
        let host = (!has_host).then_some(("host", HOST));
        let headers: Vec<_> = headers.iter().copied().chain(host).collect();
        let answer = self.cluster.ask(method, path, &headers).await;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
        self.ask(Method::GET, path, headers).await
    }

    async fn form_token(&self, headers: &[(&str, &str)]) -> String {
        let (_, said) = self.get("/api/v1/csrf-token", headers).await;
        serde_json::from_str::<Value>(&said).unwrap()["token"].as_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn without_the_secret_of_the_proxy_nothing_is_read() {
    let served = Served::new().await;
    let wrong = ("x-vela-proxy-secret", "0123456789abcdef0123456789abcdeg");
    for headers in [
        &[][..],
        &[ANN, ADMINS],
        &[ANN, ADMINS, wrong],
        &[ANN, ADMINS, PROOF, wrong],
        &[ANN, ADMINS, ("authorization", "Bearer of-ann")],
        &[("impersonate-user", "ann"), ("cookie", "vela-console-8080=session")],
    ] {
        for path in ["/", LIST, SHOP, "/api/envs", "/nowhere"] {
            let (status, said) = served.get(path, headers).await;
            assert!(
                status == 401 && said.contains("--proxy-secret-file"),
                "{path} {headers:?}: {status} {said}"
            );
            assert!(!said.contains(SECRET), "{said}");
        }
    }
    let (status, said) = served.get("/enter?token=token", &[PROOF, ANN]).await;
    assert!(status == 404 && said.contains("no link"), "{status} {said}");
    assert_eq!(served.get("/assets/console.css", &[]).await.0, 200, "the style is no secret");
    assert!(served.asked.lock().unwrap().is_empty(), "the API server was asked for nothing");
}

#[tokio::test]
async fn a_user_that_cannot_be_meant_is_refused() {
    let served = Served::new().await;
    for (headers, code, words) in [
        (&[PROOF][..], 400, "named no user"),
        (&[PROOF, ADMINS], 400, "named no user"),
        (&[PROOF, ANN, BOB], 400, "more than once"),
        (&[PROOF, ("x-forwarded-user", "system:admin")], 403, "--allow-system-users"),
        (&[PROOF, ANN, ("x-forwarded-groups", "staff,system:masters")], 403, "system:masters"),
        (&[PROOF, ANN, ("host", "evil.example")], 421, "evil.example"),
    ] {
        let (status, said) = served.get(LIST, headers).await;
        assert!(status == code && said.contains(words), "{headers:?}: {status} {said}");
    }
    assert!(served.asked.lock().unwrap().is_empty(), "the API server was asked for nothing");
}

#[tokio::test]
async fn the_api_server_judges_each_user_by_name_and_groups() {
    let served = Served::new().await;
    let (status, said) = served.get(LIST, &[PROOF, ANN, ADMINS]).await;
    assert!(status == 200 && said.contains("\"name\":\"shop\""), "{status} {said}");
    assert_eq!(served.get(&format!("{SHOP}/tree"), &[PROOF, ANN, ADMINS]).await.0, 200);
    let asked = served.asked.lock().unwrap().clone();
    let expected = (vec!["ann".to_owned()], vec!["admins".to_owned(), "staff".to_owned()]);
    assert!(asked.len() > 2, "{asked:?}");
    for (users, groups, path) in asked {
        assert_eq!((users, groups), expected, "{path}");
    }
    for path in [LIST, SHOP, "/", "/api/envs/default/apps"] {
        // What another was shown before is shown to no other user, also not to the same name without the group.
        for user in [BOB, ANN] {
            let (status, said) = served.get(path, &[PROOF, user, ("x-forwarded-groups", "staff")]).await;
            assert!(
                status == 403 && said.contains(user.1) && !said.contains("shop"),
                "{path}: {status} {said}"
            );
        }
    }
    assert_eq!(served.get(LIST, &[PROOF, ANN, ADMINS]).await.0, 200, "the refusals of others change nothing");
}

#[tokio::test]
async fn whom_the_console_may_not_act_for_is_not_let_in() {
    let served = Served::new().await;
    let (status, said) = served.get(LIST, &[PROOF, ("x-forwarded-user", "root"), ADMINS]).await;
    assert!(
        status == 403 && said.contains("cannot impersonate") && said.contains("verbs: [impersonate]"),
        "{said}"
    );
    let deaf = Served::with(true, |access| access).await;
    let (status, said) = deaf.get(LIST, &[PROOF, BOB]).await;
    assert!(status == 502 && said.contains("Impersonate-User") && !said.contains("shop"), "{status} {said}");
    let paths: Vec<String> = deaf.asked.lock().unwrap().iter().map(|(_, _, path)| path.clone()).collect();
    assert!(matches!(&paths[..], [one] if one.ends_with("/selfsubjectreviews")), "{paths:?}");
}

#[tokio::test]
async fn an_order_by_a_proxy_is_audited_with_the_user() {
    let mut served = Served::new().await;
    let (of_ann, of_bob) = ([PROOF, ANN, ADMINS], [PROOF, BOB]);
    let (token, foreign) = (served.form_token(&of_ann).await, served.form_token(&of_bob).await);
    assert_ne!(token, foreign, "a user does not know the token of another");
    let path = format!("{SHOP}/workflow/restart");
    for refused in [None, Some(("x-csrf-token", foreign.as_str()))] {
        let headers: Vec<_> = of_ann.into_iter().chain(refused).collect();
        assert_eq!(served.ask(Method::POST, &path, &headers).await.0, 403, "{refused:?}");
    }
    let headers: Vec<_> = of_ann.into_iter().chain([("x-csrf-token", token.as_str())]).collect();
    let (status, said) = served.ask(Method::POST, &path, &headers).await;
    assert_eq!(status, 200, "{said}");
    let audit = served.audits.recv().await.unwrap();
    assert!(audit.user == "ann" && audit.order == "restart" && audit.outcome == "done", "{audit}");
    let headers: Vec<_> = of_bob.into_iter().chain([("x-csrf-token", foreign.as_str())]).collect();
    assert_eq!(served.ask(Method::POST, &path, &headers).await.0, 403);
    let audit = served.audits.recv().await.unwrap();
    assert!(audit.user == "bob" && audit.outcome.starts_with("403: "), "{audit}");
}

#[tokio::test]
async fn a_browser_at_the_address_of_the_proxy_may_order() {
    let url = PublicUrl::parse("https://vela.example").unwrap();
    let served = Served::with(false, |access| access.reached_at(url)).await;
    let user = [PROOF, ANN, ADMINS, ("host", "vela.example")];
    let token = served.form_token(&user).await;
    let path = format!("{SHOP}/workflow/restart");
    for (origin, code) in
        [("https://evil.example", 403), ("http://vela.example", 403), ("https://vela.example", 200)]
    {
        let sent = [("x-csrf-token", token.as_str()), ("origin", origin)];
        let headers: Vec<_> = user.into_iter().chain(sent).collect();
        assert_eq!(served.ask(Method::POST, &path, &headers).await.0, code, "{origin}");
    }
}
