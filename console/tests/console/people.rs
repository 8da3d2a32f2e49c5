//! Users with tokens of their own: each reads and writes by the own rights, and nothing goes by the console's account.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tower::ServiceExt as _;
use vela_apiserver::ApiService;
use vela_console::{Audit, Options, People};

use crate::cluster::{Cluster, HOST, access_of, boxed};

const LIST: &str = "/api/v1/applications";
const SHOP: &str = "/api/v1/namespaces/default/applications/shop";

const REVIEWS: &str = "/selfsubjectreviews";

/// What the API server was asked for, in order: the token and the path.
type Asked = Arc<Mutex<Vec<(String, String)>>>;

/// An API server that knows the users ann and bob by their tokens: ann may do everything, bob may only see namespaces.
fn client(service: &ApiService, token: &str, asked: &Asked) -> Client {
    let (service, token, asked) = (service.clone(), token.to_owned(), asked.clone());
    let answering = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (service, token, asked) = (service.clone(), token.clone(), asked.clone());
        async move {
            asked.lock().unwrap().push((token.clone(), request.uri().path().to_owned()));
            let user = token.strip_prefix("of-").filter(|user| ["ann", "bob"].contains(user));
            let is_review = request.uri().path().ends_with(REVIEWS);
            let (code, body) = match user {
                None => (401, failed(401, "Unauthorized")),
                Some(user) if is_review => (
                    201,
                    json!({"apiVersion": "authentication.k8s.io/v1",
                    "kind": "SelfSubjectReview", "metadata": {}, "status": {"userInfo": {"username": user}}}),
                ),
                Some("bob") => (403, failed(403, "User \"bob\" cannot list resource \"applications\"")),
                Some(_) => {
                    let answer = service.oneshot(request).await?;
                    return Ok::<_, Infallible>(answer.map(boxed));
                }
            };
            let body = http_body_util::Full::from(body.to_string());
            Ok(Response::builder().status(code).body(boxed(body)).unwrap())
        }
    });
    Client::new(answering, "default")
}

pub(crate) fn failed(code: u16, message: &str) -> Value {
    let reason = if code == 401 { "Unauthorized" } else { "Forbidden" };
    json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "message": message,
        "reason": reason, "code": code})
}

struct Served {
    cluster: Cluster,
    asked: Asked,
    audits: mpsc::Receiver<Audit>,
}

impl Served {
    async fn new() -> Self {
        let mut cluster = Cluster::with_shop().await;
        let asked = Asked::default();
        let (audit, audits) = mpsc::channel(64);
        let options = Options {
            changes_as: Some("vela-cli".to_owned()),
            cluster: "kind".to_owned(),
            audit: Some(audit),
            ..Options::default()
        };
        let (service, tokens) = (cluster.service(), asked.clone());
        let connect = move |token: &str| Ok(client(&service, token, &tokens));
        let people = People::new(connect, options, access_of(HOST.parse().unwrap()));
        cluster.serve_door(people).await;
        Self { cluster, asked, audits }
    }

    /// Asks with these headers, beside the name of the console.
    async fn ask(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let headers: Vec<_> = headers.iter().copied().chain([("host", HOST)]).collect();
        let answer = self.cluster.ask(method, path, &headers).await;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn get(&self, path: &str, token: &str) -> (u16, String) {
        self.ask(Method::GET, path, &[("authorization", &format!("Bearer {token}"))]).await
    }

    fn asked(&self) -> Vec<(String, String)> {
        self.asked.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn without_a_token_nothing_is_read() {
    let served = Served::new().await;
    for headers in [
        &[][..],
        &[("authorization", "Basic of-ann")],
        &[("cookie", "vela-console-8080=session")],
        &[("x-forwarded-user", "ann"), ("impersonate-user", "ann")],
    ] {
        for path in ["/", LIST, SHOP, "/api/envs", "/nowhere"] {
            let (status, said) = served.ask(Method::GET, path, headers).await;
            assert!(status == 401 && said.contains("Authorization: Bearer"), "{path}: {status} {said}");
        }
    }
    let answer = served.cluster.ask(Method::GET, LIST, &[("host", HOST)]).await;
    assert_eq!(answer.headers()["www-authenticate"], "Bearer");
    let (status, said) = served.ask(Method::GET, "/enter?token=token", &[]).await;
    assert!(status == 404 && said.contains("no link"), "{status} {said}");
    assert_eq!(served.ask(Method::GET, "/assets/console.css", &[]).await.0, 200, "the style is no secret");
    let foreign = served.cluster.ask(
        Method::GET,
        LIST,
        &[("host", "evil.example"), ("authorization", "Bearer of-ann")],
    );
    assert_eq!(foreign.await.status(), 421);
    assert_eq!(served.asked(), [], "the API server was asked for nothing");
}

#[tokio::test]
async fn each_user_reads_by_the_own_token() {
    let served = Served::new().await;
    let (status, said) = served.get(LIST, "of-ann").await;
    assert!(status == 200 && said.contains("\"name\":\"shop\""), "{status} {said}");
    assert_eq!(served.get(&format!("{SHOP}/tree"), "of-ann").await.0, 200);
    assert!(served.asked().iter().all(|(token, _)| token == "of-ann"), "{:?}", served.asked());
    for path in [LIST, SHOP, "/", "/api/envs/default/apps"] {
        let (status, said) = served.get(path, "of-bob").await;
        assert!(status == 403 && said.contains("bob") && !said.contains("shop"), "{path}: {status} {said}");
    }
    let (status, said) = served.get(LIST, "of-eve").await;
    assert!(status == 401 && said.contains("Unauthorized"), "{status} {said}");
    assert_eq!(served.get(LIST, "of-ann").await.0, 200, "the refusals of others change nothing");
}

#[tokio::test]
async fn an_order_is_audited_with_the_name_of_its_user() {
    let mut served = Served::new().await;
    let (_, token) = served.get("/api/v1/csrf-token", "of-ann").await;
    let token = serde_json::from_str::<Value>(&token).unwrap()["token"].as_str().unwrap().to_owned();
    let (_, of_bob) = served.get("/api/v1/csrf-token", "of-bob").await;
    assert!(!of_bob.contains(&token), "a user does not know the token of another");
    let path = format!("{SHOP}/workflow/restart");
    let own = [("authorization", "Bearer of-ann"), ("x-csrf-token", &token)];
    assert_eq!(served.ask(Method::POST, &path, &own[..1]).await.0, 403, "without the token of forms");
    let (status, said) = served.ask(Method::POST, &path, &own).await;
    assert_eq!(status, 200, "{said}");
    let expected = "audit: user=\"ann\" cluster=\"kind\" order=\"restart\" \
                    object=\"Application default/shop\" outcome=\"done\"";
    assert_eq!(served.audits.recv().await.unwrap().to_string(), expected);
    let of_bob = serde_json::from_str::<Value>(&of_bob).unwrap()["token"].as_str().unwrap().to_owned();
    let bob = [("authorization", "Bearer of-bob"), ("x-csrf-token", &of_bob)];
    assert_eq!(served.ask(Method::POST, &path, &bob).await.0, 403);
    let audit = served.audits.recv().await.unwrap();
    assert!(audit.user == "bob" && audit.outcome.starts_with("403: "), "{audit}");
}

#[tokio::test]
async fn the_name_of_a_user_is_asked_for_once() {
    let served = Served::new().await;
    for _ in 0..3 {
        assert_eq!(served.get("/api/v1/csrf-token", "of-bob").await.0, 200);
    }
    let asked = served.asked();
    assert_eq!(asked.iter().filter(|(_, path)| path.ends_with(REVIEWS)).count(), 1, "{asked:?}");
}

#[tokio::test]
async fn more_users_than_there_is_room_for_take_turns() {
    let mut cluster = Cluster::new().await;
    let made = Arc::new(Mutex::new(0_usize));
    let (client, count) = (cluster.client(), made.clone());
    let connect = move |_: &str| {
        *count.lock().unwrap() += 1;
        Ok(client.clone())
    };
    let people = People::new(connect, Options::default(), access_of(HOST.parse().unwrap()));
    cluster.serve_door(people).await;
    let ask = async |token: String| {
        let headers = [("host", HOST), ("authorization", &*format!("Bearer {token}"))];
        cluster.ask(Method::GET, "/api/v1/csrf-token", &headers).await.status().as_u16()
    };
    for number in 0..40 {
        assert_eq!(ask(format!("of-{number}")).await, 200);
    }
    assert_eq!((ask("of-39".to_owned()).await, *made.lock().unwrap()), (200, 40), "the last is known");
    assert_eq!((ask("of-0".to_owned()).await, *made.lock().unwrap()), (200, 41), "the first had to go");
}
