//! The trust bundle: made once, used as it is, renewed in time, and never a reason to cut off a sidecar.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, DnValue,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, SanType, date_time_ymd,
};
use serde_json::{Value, json};
use vela_embedded::send;

use super::api_bench::{in_namespace, within};
use super::sentry_bench::{AUDIENCE, Replica, SECRET, bundle_secret, request, secret_text, server, token};

pub(crate) type Signer = CertifiedIssuer<'static, KeyPair>;

fn days(params: &mut CertificateParams, from: i64, until: i64) {
    let at = |days: i64| {
        let moment = Timestamp::now() + SignedDuration::from_hours(24 * days);
        date_time_ymd(1970, 1, 1) + Duration::from_secs(moment.as_second().unsigned_abs())
    };
    (params.not_before, params.not_after) = (at(from), at(until));
}

fn authority(name: DnValue, from: i64, until: i64) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    days(&mut params, from, until);
    params
}

pub(crate) fn root() -> Signer {
    let name = DnValue::PrintableString("our house".try_into().unwrap());
    CertifiedIssuer::self_signed(authority(name, -400, 3000), KeyPair::generate().unwrap()).unwrap()
}

pub(crate) fn issuer(root: &Signer, name: &str, from: i64, until: i64) -> Signer {
    let params = authority(DnValue::Utf8String(name.to_owned()), from, until);
    CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), root).unwrap()
}

pub(crate) fn secret(labels: &Value, root: &Signer, issuer: &Signer) -> Value {
    let texts = [
        ("issuer.crt", issuer.pem()),
        ("issuer.key", issuer.key().serialize_pem()),
        ("ca.crt", root.pem()),
        ("ca.key", root.key().serialize_pem()),
    ];
    bundle_secret(labels, &texts.each_ref().map(|(key, text)| (*key, text.as_str())))
}

pub(crate) fn ours() -> Value {
    json!({"app.kubernetes.io/managed-by": "vela-dapr"})
}

pub(crate) fn put(replica_server: &vela_apiserver::ApiServer, method: Method, secret: &Value) {
    let path = if method == Method::POST { SECRET.trim_end_matches("/dapr-trust-bundle") } else { SECRET };
    let (code, answer) = send(replica_server, method, path, Some(secret));
    assert!(code.is_success(), "{answer}");
}

fn live(replica: &Replica) -> Value {
    send(&replica.server, Method::GET, SECRET, None).1
}

/// A sidecar's certificate that a holder of the issuer's key signed.
fn leaf(issuer: &Signer, from: i64, until: i64) -> (String, KeyPair) {
    let mut params = CertificateParams::default();
    params.subject_alt_names = vec![SanType::URI("spiffe://public/ns/h1/cart".try_into().unwrap())];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    days(&mut params, from, until);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, issuer).unwrap();
    (format!("{}{}", certificate.pem(), issuer.pem()), key)
}

async fn is_answered(replica: &Replica, anchors: &str, chain: &str, key: &KeyPair) -> bool {
    match replica.api(anchors, chain.as_bytes(), key).await {
        Ok(mut sidecar) => within("an answer", sidecar.list_components(in_namespace("h1"))).await.is_ok(),
        Err(_) => false,
    }
}

async fn issued(replica: &Replica, pod: &Value) -> (String, KeyPair) {
    let (request, key) = request("cart", "h1", token(AUDIENCE, pod));
    let answer = replica.sign(request).await.unwrap();
    (String::from_utf8(answer.workload_certificate.to_vec()).unwrap(), key)
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_start_at_once_agree_on_one_bundle() {
    for _ in 0..3 {
        let server = server();
        let replicas = [(); 3].map(|()| Replica::start(&server));
        let pod = replicas[0].pod("h1", "cart-0", &json!({"dapr.io/app-id": "cart"}));
        let mut chains = Vec::new();
        for replica in &replicas {
            chains.push(issued(replica, &pod).await);
        }
        let secret = live(&replicas[0]);
        let anchors = replicas[0].anchors().await;
        assert_eq!(anchors, secret_text(&secret, "ca.crt"));
        assert_eq!(secret["metadata"]["labels"], ours());
        for (chain, key) in &chains {
            assert!(chain.ends_with(&secret_text(&secret, "issuer.crt")), "{chain}");
            for replica in &replicas {
                assert!(is_answered(replica, &anchors, chain, key).await);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_that_is_there_is_used_as_it_is() {
    let server = server();
    let root = root();
    // Due for years, and not ours to renew.
    let issuer = issuer(&root, "their issuer", -300, 30);
    put(&server, Method::POST, &secret(&json!({"app": "dapr-sentry"}), &root, &issuer));
    let replica = Replica::start(&server);
    let before = live(&replica);
    let pod = replica.pod("h1", "cart-0", &json!({"dapr.io/app-id": "cart"}));
    let (chain, key) = issued(&replica, &pod).await;
    assert!(chain.ends_with(&issuer.pem()));
    assert!(is_answered(&replica, &root.pem(), &chain, &key).await);
    assert_eq!(replica.anchors().await, root.pem());
    assert_eq!(live(&replica), before);
    let (expired, key) = leaf(&issuer, -3, -1);
    assert!(!is_answered(&replica, &root.pem(), &expired, &key).await, "expired");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_with_a_key_of_openssl_is_used_as_it_is() {
    let server = server();
    let root = root();
    let key = KeyPair::from_pem(include_str!("../data/keys/ec.pem")).unwrap();
    let params = authority(DnValue::Utf8String("their issuer".to_owned()), -1, 30);
    let issuer = CertifiedIssuer::signed_by(params, key, &root).unwrap();
    let mut theirs = secret(&json!({}), &root, &issuer);
    // The same key as EC PRIVATE KEY, behind EC PARAMETERS.
    theirs["data"]["issuer.key"] = STANDARD.encode(include_str!("../data/keys/ec-traditional.pem")).into();
    put(&server, Method::POST, &theirs);
    let replica = Replica::start(&server);
    let pod = replica.pod("h1", "cart-0", &json!({"dapr.io/app-id": "cart"}));
    let (chain, key) = issued(&replica, &pod).await;
    assert!(chain.ends_with(&issuer.pem()));
    assert!(is_answered(&replica, &root.pem(), &chain, &key).await);
    assert_eq!(live(&replica)["data"], theirs["data"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_secret_is_filled_and_half_of_one_is_refused() {
    let server = server();
    put(&server, Method::POST, &bundle_secret(&json!({"app": "dapr-sentry"}), &[]));
    let replica = Replica::start(&server);
    replica.anchors().await;
    let filled = live(&replica);
    assert_eq!(filled["metadata"]["labels"]["app"], "dapr-sentry");
    assert!(secret_text(&filled, "issuer.key").contains("PRIVATE KEY"));
    let root = root();
    for (texts, expected) in [
        (vec![("ca.crt", root.pem())], "has no issuer.crt; expected issuer.crt, issuer.key and ca.crt"),
        (
            vec![("ca.crt", root.pem()), ("issuer.crt", root.pem()), ("issuer.key", "x".to_owned())],
            "issuer.key of the trust bundle cannot be used",
        ),
    ] {
        let server = super::sentry_bench::server();
        let texts: Vec<(&str, &str)> = texts.iter().map(|(key, text)| (*key, text.as_str())).collect();
        put(&server, Method::POST, &bundle_secret(&json!({}), &texts));
        let mut replica = Replica::start(&server);
        let error = within("the operator ends", &mut replica.operator).await.unwrap().unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuer_is_renewed_and_no_sidecar_is_cut_off() {
    let server = server();
    let root = root();
    let (old, next) = (issuer(&root, "old", -300, 65), issuer(&root, "next", -1, 364));
    put(&server, Method::POST, &secret(&ours(), &root, &old));
    let (former, former_key) = leaf(&old, -1, 1);
    let replica = Replica::start(&server);
    let pod = replica.pod("h1", "cart-0", &json!({"dapr.io/app-id": "cart"}));
    let (chain, key) = issued(&replica, &pod).await;
    let renewed = live(&replica);
    assert_ne!(secret_text(&renewed, "issuer.crt"), old.pem(), "two thirds of its life were over");
    assert!(chain.ends_with(&secret_text(&renewed, "issuer.crt")));
    assert_eq!(secret_text(&renewed, "ca.crt"), root.pem());
    assert!(is_answered(&replica, &root.pem(), &former, &former_key).await, "signed by the former issuer");
    assert!(is_answered(&replica, &root.pem(), &chain, &key).await);
    // A connection from before, while another replica or a person changes the issuer.
    let mut standing = replica.api(&root.pem(), chain.as_bytes(), &key).await.unwrap();
    within("an answer", standing.list_components(in_namespace("h1"))).await.unwrap();
    put(&server, Method::PUT, &secret(&ours(), &root, &next));
    let (latest, latest_key) = within("the next issuer signs", async {
        loop {
            let (chain, key) = issued(&replica, &pod).await;
            if chain.ends_with(&next.pem()) {
                return (chain, key);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    within("an answer", standing.list_components(in_namespace("h1"))).await.unwrap();
    for (chain, key) in [(&latest, &latest_key), (&chain, &key), (&former, &former_key)] {
        assert!(is_answered(&replica, &root.pem(), chain, key).await);
    }
    // A bundle that went is written again as sidecars know it.
    let (code, _) = send(&server, Method::DELETE, SECRET, None);
    assert!(code.is_success());
    within("the Secret is back", async {
        while secret_text(&live(&replica), "issuer.crt") != next.pem() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}
