//! Requests for certificates: the recorded ones of Dapr's sentry, and what is refused.

use std::fs;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use rcgen::{CertificateParams, KeyPair, KeyUsagePurpose};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use tonic::{Code, Status};
use vela_dapr::protocol::sentry::{SignCertificateRequest, SignCertificateResponse, TokenValidator};
use vela_dapr::{SidecarInjector, SidecarSettings};
use vela_embedded::send;
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::Decode as _;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectAltName};

use super::api_bench::{in_namespace, within};
use super::process::free_port;
use super::sentry_bench::{AUDIENCE, Replica, create, request, server, token};
use super::webhooks::ask;

/// What a certificate contains, in the words of the recordings.
fn contents(der: &[u8]) -> Value {
    let parsed: CertificateInner<Raw> = CertificateInner::from_der(der).unwrap();
    let tbs = parsed.tbs_certificate();
    let names = tbs.get_extension::<SubjectAltName>().unwrap().map(|(_, names)| names.0).unwrap_or_default();
    let (mut uris, mut dns) = (Vec::new(), Vec::new());
    for name in &names {
        match name {
            GeneralName::UniformResourceIdentifier(uri) => uris.push(uri.to_string()),
            GeneralName::DnsName(name) => dns.push(name.to_string()),
            other => panic!("{other:?} is in no certificate of a sidecar"),
        }
    }
    let usage = tbs.get_extension::<KeyUsage>().unwrap().unwrap().1;
    let usages = [
        (usage.key_cert_sign(), "certSign"),
        (usage.crl_sign(), "crlSign"),
        (usage.digital_signature(), "digitalSignature"),
    ];
    let purposes = tbs.get_extension::<ExtendedKeyUsage>().unwrap().map(|(_, one)| one.0).unwrap_or_default();
    let purpose = |oid: &str| match oid {
        "1.3.6.1.5.5.7.3.1" => "serverAuth",
        "1.3.6.1.5.5.7.3.2" => "clientAuth",
        other => panic!("{other} is no purpose of a sidecar"),
    };
    let algorithm = |oid: String| if oid == "1.3.101.112" { "Ed25519".to_owned() } else { oid };
    let validity = tbs.validity();
    let [from, until] =
        [validity.not_before, validity.not_after].map(|time| time.to_unix_duration().as_secs());
    json!({
        "dns": if dns.is_empty() { Value::Null } else { json!(dns) },
        "uris": uris,
        "extKeyUsage": purposes.iter().map(|oid| purpose(&oid.to_string())).collect::<Vec<_>>(),
        "isCA": tbs.get_extension::<BasicConstraints>().unwrap().is_some_and(|(_, one)| one.ca),
        "issuer": tbs.issuer().to_string(),
        "subject": tbs.subject().to_string(),
        "keyUsage": usages.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect::<Vec<_>>(),
        "lifetimeHours": (until - from) as f64 / 3600.0,
        "publicKeyAlgorithm": algorithm(tbs.subject_public_key_info().algorithm.oid.to_string()),
        "signatureAlgorithm": algorithm(parsed.signature_algorithm().oid.to_string()),
    })
}

/// A recorded certificate without what is of Go, or of the moment.
fn plain(recorded: &Value) -> Value {
    let mut plain = recorded.clone();
    for name in ["criticalExtensions", "notBeforeMinutesAgo"] {
        plain.as_object_mut().unwrap().remove(name);
    }
    let mut usages: Vec<String> = serde_json::from_value(plain["keyUsage"].clone()).unwrap();
    usages.sort();
    plain["keyUsage"] = json!(usages);
    plain
}

fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).map(Result::unwrap).collect()
}

/// The pods of the recordings, as their cases tell of them.
fn pod_of(replica: &Replica, case: &str) -> Option<Value> {
    let operator = json!({"dapr.io/control-plane": "operator"});
    let (namespace, name, annotations) = match case {
        "own pod without dapr.io/config" => ("h1", "other-0", json!({"dapr.io/app-id": "other"})),
        "no app-id annotation: pod name is the id" => ("h1", "noid-0", json!({})),
        "dapr.io/config names a Configuration that does not exist" => {
            ("h1", "badconf-0", json!({"dapr.io/app-id": "badconf", "dapr.io/config": "none"}))
        }
        "control-plane annotation outside the control-plane namespace" => ("h1", "cp-0", operator),
        "unknown control-plane service" => {
            ("dapr-system", "cpx-0", json!({"dapr.io/control-plane": "cache"}))
        }
        "control-plane annotation with an app-id" => {
            ("dapr-system", "cpid-0", json!({"dapr.io/control-plane": "operator", "dapr.io/app-id": "a"}))
        }
        "control-plane operator" => ("dapr-system", "operator-0", operator),
        "control-plane injector" => {
            ("dapr-system", "injector-0", json!({"dapr.io/control-plane": "injector"}))
        }
        _ => return None,
    };
    Some(replica.pod(namespace, name, &annotations))
}

fn cart(replica: &Replica) -> Value {
    let configuration = json!({
        "apiVersion": "dapr.io/v1alpha1", "kind": "Configuration", "metadata": {"name": "appconfig"},
        "spec": {"accessControl": {"trustDomain": "corp"}},
    });
    create(&replica.server, "/apis/dapr.io/v1alpha1/namespaces/h1/configurations", &configuration);
    replica.pod("h1", "cart-0", &json!({"dapr.io/app-id": "cart", "dapr.io/config": "appconfig"}))
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_requests_get_their_answers() {
    let folder = vela_testkit::cases::folder("conformance/dapr");
    let recorded = fs::read_to_string(folder.join("grpc/sentry-sign.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&recorded).unwrap();
    assert_eq!(cases.len(), 19);
    let replica = Replica::start(&server());
    let cart = cart(&replica);
    for case in &cases {
        let name = case["case"].as_str().unwrap();
        let token = match name {
            "no token" => String::new(),
            "nonsense token" => "nonsense".to_owned(),
            "token not bound to a pod" => token(AUDIENCE, &json!({"metadata": {"namespace": "h1"}})),
            "token of the legacy audience dapr.io/sentry" => token("dapr.io/sentry", &cart),
            "token of another audience" => token("https://kubernetes.default.svc", &cart),
            _ => token(AUDIENCE, &pod_of(&replica, name).unwrap_or_else(|| cart.clone())),
        };
        let text = |field: &str| case[field].as_str().unwrap();
        let (request, _) = request(text("id"), text("namespace"), token);
        let answer = replica.sign(request).await;
        if text("code") != "OK" {
            let status = answer.unwrap_err();
            assert_eq!(
                (format!("{:?}", status.code()).as_str(), status.message()),
                (text("code"), text("message")),
                "{name}"
            );
            continue;
        }
        let answer = answer.unwrap();
        let chain = certificates(&answer.workload_certificate);
        let found: Vec<Value> = chain.iter().map(|one| contents(one)).collect();
        let expected: Vec<Value> = case["certificates"].as_array().unwrap().iter().map(plain).collect();
        assert_eq!(found, expected, "{name}");
        let leaf: CertificateInner<Raw> = CertificateInner::from_der(&chain[0]).unwrap();
        let until = leaf.tbs_certificate().validity().not_after.to_unix_duration().as_secs();
        assert_eq!(answer.valid_until.unwrap().seconds as u64, until, "{name}");
        assert_eq!(answer.trust_chain_certificates.len(), 1, "{name}");
        assert_eq!(answer.trust_chain_certificates[0], replica.anchors().await, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn its_certificates_open_the_operators_api() {
    let (replica, stranger) = (Replica::start(&server()), Replica::start(&server()));
    let cart = cart(&replica);
    let (asks, key) = request("cart", "h1", token(AUDIENCE, &cart));
    let SignCertificateResponse { workload_certificate: chain, .. } =
        replica.sign(asks.clone()).await.unwrap();
    let anchors = replica.anchors().await;
    let mut sidecar = replica.api(&anchors, &chain, &key).await.unwrap();
    within("an answer", sidecar.list_components(in_namespace("h1"))).await.unwrap();
    let refused = within("an answer", sidecar.list_components(in_namespace("h2"))).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused:?}");
    // The other cluster's sentry signs for the same names, and opens nothing here.
    let pod = stranger.pod("h1", "cart-0", &json!({"dapr.io/app-id": "cart"}));
    let (foreign, key) = request("cart", "h1", token(AUDIENCE, &pod));
    let foreign = stranger.sign(foreign).await.unwrap().workload_certificate;
    let refused = match replica.api(&anchors, &foreign, &key).await {
        Err(_) => Code::Unavailable,
        Ok(mut sidecar) => {
            within("an answer", sidecar.list_components(in_namespace("h1"))).await.unwrap_err().code()
        }
    };
    assert!(
        matches!(refused, Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_control_plane_shows_the_identities_that_sidecars_expect() {
    let replica = Replica::start(&server());
    let [sentry, operator] = replica.shown().await.map(|shown| contents(&shown));
    assert_eq!(sentry["uris"], json!([AUDIENCE]));
    assert_eq!(operator["uris"], json!(["spiffe://cluster.local/ns/dapr-system/dapr-operator"]));
    assert_eq!(operator["dns"], json!(["dapr-webhook.dapr-system.svc", "cluster.local"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn sidecars_are_given_the_anchors_of_the_sentry() {
    let server = server();
    let port = free_port();
    let (_, none) = tokio::sync::watch::channel(String::new());
    let injector = SidecarInjector {
        address: ([127, 0, 0, 1], port).into(),
        url: None,
        settings: SidecarSettings::new("dapr-system", "example.org/daprd:1", none),
    };
    // It is registered already, as by a former replica: the authority is written at the first look, and not at the second.
    let registrations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    let service = json!({"name": "dapr-sidecar-injector", "namespace": "dapr-system", "path": "/mutate"});
    let former = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "dapr-sidecar-injector", "labels": {"dapr.io/webhooks-by": "vela-dapr"}},
        "webhooks": [{
            "name": "sidecar-injector.dapr.io", "clientConfig": {"service": service},
            "admissionReviewVersions": ["v1"], "sideEffects": "None",
        }],
    });
    create(&server, registrations, &former);
    let registration = format!("{registrations}/dapr-sidecar-injector");
    let replica = Replica::with(&server, Some(injector));
    let config = within("the authority is registered", async {
        loop {
            let (_, found) = send(&server, Method::GET, &registration, None);
            let config = found["webhooks"][0]["clientConfig"].clone();
            if config["caBundle"].is_string() {
                return config;
            }
            assert!(!replica.operator.is_finished(), "the operator runs");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "kind": {"kind": "Pod"}, "namespace": "h1",
        "userInfo": {"username": "jane", "groups": ["system:masters"]},
        "object": {
            "metadata": {"name": "a", "annotations": {"dapr.io/enabled": "true"}},
            "spec": {"containers": [{"name": "web", "image": "i"}]},
        },
    }});
    let review = review.to_string();
    let body = ask(port, &config, "dapr-sidecar-injector.dapr-system.svc", "/mutate", &review).await;
    let patch = STANDARD.decode(body["response"]["patch"].as_str().unwrap()).unwrap();
    let anchors = serde_json::to_string(&replica.anchors().await).unwrap();
    assert!(String::from_utf8(patch).unwrap().contains(&anchors), "{body}");
}

async fn refusal(replica: &Replica, request: SignCertificateRequest) -> (Code, String) {
    let status: Status = replica.sign(request).await.unwrap_err();
    (status.code(), status.message().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_signed_says_why() {
    let replica = Replica::start(&server());
    let cart = cart(&replica);
    let (good, _) = request("cart", "h1", token(AUDIENCE, &cart));
    let with = |change: &dyn Fn(&mut SignCertificateRequest)| {
        let mut changed = good.clone();
        change(&mut changed);
        changed
    };
    let mut authority = CertificateParams::default();
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let key = KeyPair::generate().unwrap();
    let authority = authority.serialize_request(&key).unwrap().pem().unwrap();
    for (what, request, code, expected) in [
        (
            "no CSR",
            with(&|r| r.certificate_signing_request.clear()),
            Code::InvalidArgument,
            "CERTIFICATE REQUEST",
        ),
        (
            "malformed",
            with(&|r| r.certificate_signing_request = "nonsense".into()),
            Code::InvalidArgument,
            "cannot be read",
        ),
        (
            "rights",
            with(&|r| r.certificate_signing_request = authority.clone().into()),
            Code::InvalidArgument,
            "rights of an authority",
        ),
        (
            "long CSR",
            with(&|r| r.certificate_signing_request = vec![b'-'; 20_000].into()),
            Code::InvalidArgument,
            "more than 16384 bytes",
        ),
        (
            "long",
            with(&|r| r.certificate_signing_request = vec![b'-'; 100_000].into()),
            Code::OutOfRange,
            "too large",
        ),
        (
            "long token",
            with(&|r| r.token = "t".repeat(20_000)),
            Code::PermissionDenied,
            "more than 16384 bytes",
        ),
        (
            "JWKS",
            with(&|r| r.set_token_validator(TokenValidator::Jwks)),
            Code::InvalidArgument,
            "expected KUBERNETES",
        ),
        (
            "INSECURE",
            with(&|r| r.set_token_validator(TokenValidator::Insecure)),
            Code::InvalidArgument,
            "expected KUBERNETES",
        ),
        (
            "a person",
            with(&|r| r.token = "person".to_owned()),
            Code::PermissionDenied,
            "service account token",
        ),
        (
            "no audiences",
            with(&|r| r.token = "elsewhere".to_owned()),
            Code::PermissionDenied,
            "another audience",
        ),
        ("id", with(&|r| r.id = "a/b".to_owned()), Code::PermissionDenied, "letters, digits"),
    ] {
        let (found, message) = refusal(&replica, request).await;
        assert_eq!(found, code, "{what}: {message}");
        assert!(message.contains(expected), "{what}: {message}");
    }
    replica.away.store(true, Ordering::SeqCst);
    let (code, message) = refusal(&replica, good.clone()).await;
    assert_eq!((code, message.contains("try again")), (Code::Unavailable, true), "{message}");
    replica.away.store(false, Ordering::SeqCst);
    let kubernetes = with(&|r| r.set_token_validator(TokenValidator::Kubernetes));
    assert!(replica.sign(kubernetes).await.is_ok());
    // A namesake of the pod has another uid, and the token is not its own.
    send(&replica.server, Method::DELETE, "/api/v1/namespaces/h1/pods/cart-0?gracePeriodSeconds=0", None);
    replica.pod("h1", "cart-0", &json!({"dapr.io/app-id": "cart"}));
    let refused = refusal(&replica, good).await;
    assert_eq!(refused, (Code::PermissionDenied, "failed to get pod from token".to_owned()));
}
