//! Random requests: whatever a client sends, the console answers in order, with the headers that protect it.

use std::convert::Infallible;
use std::fmt::Write as _;

use http::{HeaderName, HeaderValue, Method, Request, Uri};
use kube::Client;
use vela_console::{Options, People};
use vela_testkit::hostile;
use vela_testkit::program::Random;

use crate::cluster::{Cluster, FORM, HOST, access_of};

/// Requests to a console whose cluster is there, and to one whose cluster is not.
const REQUESTS: usize = 2_000;
const REQUESTS_WITHOUT_CLUSTER: usize = 300;
/// Parts of paths: what routes have, names that are there, and what tries to get out of them.
const PARTS: [&str; 41] = [
    "",
    "api",
    "v1",
    "v2",
    "namespaces",
    "default",
    "applications",
    "shop",
    "tree",
    "events",
    "revisions",
    "compare",
    "rollouts",
    "workflow",
    "resume",
    "suspend",
    "terminate",
    "restart",
    "undo",
    "explain",
    "logs",
    "definitions",
    "componentdefinitions",
    "page",
    "dry-run",
    "csrf-token",
    "watch",
    "openapi.json",
    "enter",
    "assets",
    "console.css",
    "console.js",
    "envs",
    "apps",
    "components",
    "cart",
    "traits",
    "..",
    "%2e%2e",
    "%00",
    "{name}",
];
/// Whole paths, so that many requests get past the table.
const PATHS: [&str; 18] = [
    "/",
    "/api/v1/applications",
    "/api/v1/namespaces/default/applications/shop",
    "/api/v1/namespaces/default/applications/shop/tree",
    "/api/v1/namespaces/default/applications/shop/compare",
    "/api/v1/namespaces/default/applications/shop/workflow",
    "/api/v1/namespaces/default/applications/shop/workflow/resume",
    "/api/v1/namespaces/default/applications/shop/workflow/restart",
    "/api/v1/namespaces/default/applications/shop/rollouts/canary/pause",
    "/api/v1/watch/namespaces/default/applications/shop",
    "/api/v1/definitions",
    "/api/v1/dry-run",
    "/api/envs",
    "/api/envs/default/apps",
    "/api/envs/default/apps/shop",
    "/namespaces/default/applications/shop/workflow",
    "/namespaces/default/applications/shop/rollouts",
    "/dry-run",
];
const PARAMETERS: [&str; 16] = [
    "token",
    "namespace",
    "search",
    "health",
    "limit",
    "continue",
    "from",
    "to",
    "step",
    "full",
    "tail",
    "follow",
    "component",
    "a",
    "%",
    "limit%00",
];
const VALUES: [&str; 16] = [
    "",
    "1",
    "0",
    "-1",
    "99999999999999999999",
    "true",
    "maybe",
    "shop-v1",
    "shop-v2",
    "default/shop",
    "a/b/c",
    "%00",
    "%ff",
    "%zz",
    "<script>",
    "%0d%0aSet-Cookie:%20a=b",
];
const METHODS: [&str; 11] =
    ["GET", "GET", "GET", "HEAD", "POST", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"];
const HEADERS: [&str; 12] = [
    "host",
    "cookie",
    "origin",
    "sec-fetch-site",
    "x-csrf-token",
    "content-type",
    "content-length",
    "accept",
    "authorization",
    "x-forwarded-host",
    "transfer-encoding",
    "upgrade",
];
const HEADER_VALUES: [&str; 14] = [
    HOST,
    "evil.example",
    "vela-console-8080=session",
    "vela-console-8080=",
    "null",
    "http://127.0.0.1:8080",
    "same-origin",
    "cross-site",
    FORM,
    "application/yaml",
    "application/x-www-form-urlencoded",
    "Bearer a",
    "Bearer a b",
    "99999999999999999999",
];
const BODIES: [&str; 12] = [
    "",
    "{",
    "a: [",
    "token=of-forms&order=resume&step=hold",
    "token=of-forms&order=restart&step=%ff",
    "token=of-forms&rollout=..%2Fa&order=pause",
    "token=of-forms&namespace=default&manifest=a",
    "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: a}\nspec: {components: [{name: a, type: page, properties: {image: 1}}]}\n",
    "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: 1}\nspec: []\n",
    "a: &a [*a, *a]\n",
    "{\"envName\": \"a\", \"namespace\": \"b\"}",
    "{\"name\": \"a\", \"services\": {\"b\": {}}}",
];

/// One of these, or one of the names that no API server takes, or bytes of any kind.
fn text(random: &mut Random, known: &[&'static str]) -> String {
    if random.chance(92) {
        return random.word(known).to_owned();
    }
    if random.chance(50) {
        return random.word(&hostile::NAMES).to_owned();
    }
    let length = random.below(40);
    (0..length).map(|_| char::from(u8::try_from(random.below(256)).unwrap_or_default())).collect()
}

fn path(random: &mut Random) -> String {
    let mut path = match random.chance(75) {
        true => random.word(&PATHS).to_owned(),
        false => (0..=random.below(8)).fold(String::new(), |path, _| path + "/" + &text(random, &PARTS)),
    };
    let parameters = if random.chance(40) { random.below(4) } else { 0 };
    for number in 0..parameters {
        let (name, value) = (text(random, &PARAMETERS), text(random, &VALUES));
        write!(path, "{}{name}={value}", if number == 0 { '?' } else { '&' }).unwrap();
    }
    path
}

/// A request that HTTP can carry; most have the session and the token of forms.
fn request(random: &mut Random) -> Option<Request<String>> {
    let uri: Uri = path(random).parse().ok()?;
    let method = Method::from_bytes(random.word(&METHODS).as_bytes()).ok()?;
    let mut body = random.word(&BODIES).to_owned();
    if random.chance(10) {
        body = text(random, &BODIES);
    }
    let mut request = Request::builder().method(method).uri(uri).body(body).ok()?;
    let headers = request.headers_mut();
    for (name, value) in [
        ("host", HOST),
        ("cookie", "vela-console-8080=session"),
        ("authorization", "Bearer of-ann"),
        ("x-csrf-token", FORM),
        ("content-type", "application/yaml"),
    ] {
        if random.chance(97) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
    let more = if random.chance(30) { random.below(3) } else { 0 };
    for _ in 0..more {
        let name = HeaderName::from_bytes(text(random, &HEADERS).as_bytes()).ok()?;
        let value = HeaderValue::from_bytes(text(random, &HEADER_VALUES).as_bytes()).ok()?;
        if random.chance(50) {
            headers.append(name, value);
        } else {
            headers.insert(name, value);
        }
    }
    Some(request)
}

/// Sends so many; `is_right` judges the status.
async fn send(cluster: &Cluster, seed: u64, requests: usize, is_right: fn(u16) -> bool) {
    let (mut random, mut sent, mut found) = (Random::new(seed), 0, [0_usize; 6]);
    for _ in 0..requests {
        let Some(request) = request(&mut random) else { continue };
        let said = format!("{} {} {:?}", request.method(), request.uri(), request.headers());
        let answer = cluster.send(request).await;
        let status = answer.status().as_u16();
        assert!(is_right(status), "seed {seed}: {status} for {said}");
        found[usize::from(status / 100)] += 1;
        let headers = answer.headers();
        for name in ["content-security-policy", "x-content-type-options", "x-frame-options", "cache-control"]
        {
            assert!(headers.contains_key(name), "seed {seed}: {name} is missing for {said}");
        }
        let cookie = headers.get("set-cookie").map(|cookie| cookie.to_str().unwrap().to_owned());
        assert!(cookie.is_none_or(|cookie| cookie.starts_with("vela-console-8080=")), "seed {seed}: {said}");
        sent += 1;
    }
    assert!(sent > requests / 2, "most of what is made can be sent: {sent} of {requests}");
    assert!(found[2] + found[5] > requests / 20, "many get past the checks: {found:?}");
    assert!(found[4] > requests / 10, "many are refused: {found:?}");
}

fn options() -> Options {
    Options { changes_as: Some("vela-cli".to_owned()), simulated_pods: true, ..Options::default() }
}

/// 501 is the answer for the logs of simulated pods.
fn is_in_order(status: u16) -> bool {
    status < 500 || status == 501
}

#[tokio::test]
async fn random_requests_are_answered_in_order() {
    let mut cluster = Cluster::with_shop().await;
    cluster.serve(cluster.client(), options()).await;
    for seed in 1..=2 {
        send(&cluster, seed, REQUESTS / 2, is_in_order).await;
    }
}

#[tokio::test]
async fn random_requests_of_users_are_answered_in_order() {
    let mut cluster = Cluster::with_shop().await;
    let client = cluster.client();
    let connect = move |_: &str| Ok(client.clone());
    cluster.serve_door(People::new(connect, options(), access_of(HOST.parse().unwrap()))).await;
    for seed in 3..=4 {
        send(&cluster, seed, REQUESTS / 2, is_in_order).await;
    }
}

#[tokio::test(start_paused = true)]
async fn random_requests_without_a_cluster_are_answered() {
    let mut cluster = Cluster::new().await;
    let dead = tower::service_fn(|_: Request<kube::client::Body>| async {
        let answer = http::Response::builder().status(503).body(crate::cluster::boxed(String::from("away")));
        Ok::<_, Infallible>(answer.unwrap())
    });
    cluster.serve(Client::new(dead, "default"), options()).await;
    send(&cluster, 5, REQUESTS_WITHOUT_CLUSTER, |status| status < 600).await;
}
