//! JWTs of sidecars: verified as others do, by the keys that are served, and kept when the operator starts again.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::Method;
use num_bigint::BigUint;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsConnector;
use tonic::Code;
use vela_apiserver::ApiServer;
use vela_dapr::Jwts;
use vela_embedded::send;

use super::api_bench::within;
use super::process::free_port;
use super::sentry_bench::{
    AUDIENCE, Replica, SECRET, bundle_secret, create, request, secret_text, server, token, trusting,
};

const ISSUER: &str = "https://dapr.example.com/oidc";

fn jwts(port: u16) -> Jwts {
    let address = Some(([127, 0, 0, 1], port).into());
    Jwts { issuer: Some(ISSUER.to_owned()), life: Duration::from_secs(3600), address }
}

/// A document of the issuer, over a connection that trusts the bundle: its status and body.
async fn document(replica: &Replica, port: u16, path: &str) -> (u16, Value) {
    let tls = trusting(&replica.anchors().await).with_no_client_auth();
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let name = ServerName::try_from("cluster.local").unwrap();
    let mut stream = TlsConnector::from(Arc::new(tls)).connect(name, stream).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // The end of TLS may be said by the end of the connection alone.
    let _ = within("a document", stream.read_to_end(&mut answer)).await;
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    (code, serde_json::from_str(body).unwrap_or_default())
}

/// The claims of a token whose signature is that of one of these keys.
fn verified(token: &str, keys: &Value) -> Value {
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let part = |number: usize| -> Value {
        let part = signed.split('.').nth(number).unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    };
    let header = part(0);
    let key = keys["keys"].as_array().unwrap().iter().find(|key| key["kid"] == header["kid"]).unwrap();
    let number = |name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str().unwrap()).unwrap();
    let point: Vec<u8> = [vec![4], number("x"), number("y")].concat();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    let der = in_der(&signature);
    assert_eq!((&header["alg"], &key["use"], &key["crv"]), (&json!("ES256"), &json!("sig"), &json!("P-256")));
    let verifies =
        default_provider().signature_verification_algorithms.mapping.iter().any(|(scheme, all)| {
            *scheme == rustls::SignatureScheme::ECDSA_NISTP256_SHA256
                && all.iter().any(|one| one.verify_signature(&point, signed.as_bytes(), &der).is_ok())
        });
    assert!(verifies, "{token}");
    part(1)
}

/// A signature of two numbers as TLS has it.
fn in_der(signature: &[u8]) -> Vec<u8> {
    let number = |bytes: &[u8]| {
        let mut digits: Vec<u8> = bytes.iter().copied().skip_while(|byte| *byte == 0).collect();
        if digits.first().is_some_and(|first| *first >= 0x80) {
            digits.insert(0, 0);
        }
        [vec![2, u8::try_from(digits.len()).unwrap()], digits].concat()
    };
    let both = [number(&signature[..32]), number(&signature[32..])].concat();
    [vec![0x30, u8::try_from(both.len()).unwrap()], both].concat()
}

/// The claims of a token of RS256, verified by arithmetic alone: no code that signs here takes part.
fn verified_by_arithmetic(token: &str, key: &Value) -> Value {
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
    let number = |name: &str| BigUint::from_bytes_be(&bytes(key[name].as_str().unwrap()));
    let (modulus, signature) = (number("n"), bytes(signature));
    assert_eq!((signature.len(), modulus.bits()), (256, 2048));
    let opened = BigUint::from_bytes_be(&signature).modpow(&number("e"), &modulus).to_bytes_be();
    // PKCS#1 v1.5: 1, filling, 0, the name of SHA-256, the hash; the leading 0 is not part of a number.
    let hash = Sha256::digest(signed);
    let name = [0x30, 0x31, 0x30, 0x0d, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0, 4, 0x20];
    let filling = vec![0xff; 255 - 1 - 1 - name.len() - hash.len()];
    assert_eq!(opened, [&[1][..], &filling, &[0], &name, &hash].concat());
    let (header, claims) = signed.split_once('.').unwrap();
    let header: Value = serde_json::from_slice(&bytes(header)).unwrap();
    assert_eq!((&header["alg"], &header["kid"]), (&json!("RS256"), &key["kid"]));
    serde_json::from_slice(&bytes(claims)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_users_rsa_key_signs_tokens_that_others_verify() {
    let server = server();
    let made = Replica::start(&server);
    let pod = made.pod("h1", "cart-1", &json!({"dapr.io/app-id": "cart"}));
    made.anchors().await;
    drop(made);
    let mut published = Vec::new();
    // In the form of `openssl genrsa` of OpenSSL 3, and in that of the releases before.
    for key in [include_str!("../data/keys/rsa.pem"), include_str!("../data/keys/rsa-traditional.pem")] {
        let put = json!({"data": {"jwt.key": STANDARD.encode(key)}});
        assert_eq!(send(&server, Method::PATCH, SECRET, Some(&put)).0, 200);
        let port = free_port();
        let replica = Replica::signing(&server, jwts(port));
        let (asked, _) = request("cart", "h1", token(AUDIENCE, &pod));
        let signed = replica.sign(asked).await.unwrap().jwt.unwrap().value;
        let (_, configuration) = document(&replica, port, "/oidc/.well-known/openid-configuration").await;
        assert_eq!(configuration["id_token_signing_alg_values_supported"], json!(["RS256"]));
        let (_, keys) = document(&replica, port, "/jwks.json").await;
        let [only] = keys["keys"].as_array().unwrap().as_slice() else { panic!("{keys}") };
        let names: Vec<&String> = only.as_object().unwrap().keys().collect();
        assert_eq!(names, ["alg", "e", "kid", "kty", "n", "use"], "nothing of the key itself is published");
        assert_eq!(verified_by_arithmetic(&signed, only)["sub"], "spiffe://public/ns/h1/cart");
        assert_eq!(secret_text(&secret(&server), "jwt.key"), key, "the key stays as the user wrote it");
        published.push(only.clone());
    }
    assert_eq!(published[0], published[1]);
}

fn secret(server: &ApiServer) -> Value {
    send(server, Method::GET, SECRET, None).1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_verified_by_the_keys_that_are_served() {
    let (server, port) = (server(), free_port());
    let replica = Replica::signing(&server, jwts(port));
    let pod = replica.pod("h1", "cart-1", &json!({"dapr.io/app-id": "cart"}));
    let (mut asked, _) = request("cart", "h1", token(AUDIENCE, &pod));
    asked.jwt_audiences = vec!["public".to_owned(), "cloud".to_owned(), "cloud".to_owned()];
    let answer = replica.sign(asked).await.unwrap();
    let (code, configuration) = document(&replica, port, "/oidc/.well-known/openid-configuration").await;
    assert_eq!((code, &configuration["issuer"]), (200, &json!(ISSUER)));
    assert_eq!(configuration["jwks_uri"], format!("{ISSUER}/jwks.json"));
    assert_eq!(configuration["id_token_signing_alg_values_supported"], json!(["ES256"]));
    let (_, keys) = document(&replica, port, "/jwks.json").await;
    assert_eq!(document(&replica, port, "/other").await.0, 404);
    let claims = verified(&answer.jwt.unwrap().value, &keys);
    assert_eq!(claims["sub"], "spiffe://public/ns/h1/cart");
    assert_eq!((&claims["aud"], &claims["iss"]), (&json!(["public", "cloud"]), &json!(ISSUER)));
    let time = |name: &str| claims[name].as_i64().unwrap();
    assert_eq!((time("exp") - time("iat"), time("iat") - time("nbf")), (3600, 900));
    // Nothing of the key is published.
    assert!(keys["keys"].as_array().unwrap().iter().all(|key| key.get("d").is_none()));
    assert_eq!(serde_json::from_str::<Value>(&secret_text(&secret(&server), "jwks.json")).unwrap(), keys);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_tokens_outlives_a_start_and_its_successor() {
    let (server, port) = (server(), free_port());
    let first = Replica::signing(&server, jwts(port));
    let pod = first.pod("h1", "cart-1", &json!({"dapr.io/app-id": "cart"}));
    let (asked, _) = request("cart", "h1", token(AUDIENCE, &pod));
    let old = first.sign(asked.clone()).await.unwrap().jwt.unwrap().value;
    drop(first);
    // A person takes the key out: another one signs, and tokens of the former one are still verified.
    send(&server, Method::PATCH, SECRET, Some(&json!({"data": {"jwt.key": null}})));
    let port = free_port();
    let second = Replica::signing(&server, jwts(port));
    let new = second.sign(asked).await.unwrap().jwt.unwrap().value;
    let (_, keys) = document(&second, port, "/jwks.json").await;
    assert_eq!(keys["keys"].as_array().unwrap().len(), 2);
    for token in [old, new] {
        assert_eq!(verified(&token, &keys)["sub"], "spiffe://public/ns/h1/cart");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_token_is_signed_where_none_is_asked_for() {
    let server = server();
    let replica = Replica::start(&server);
    let pod = replica.pod("h1", "cart-1", &json!({"dapr.io/app-id": "cart"}));
    let (mut asked, _) = request("cart", "h1", token(AUDIENCE, &pod));
    assert_eq!(replica.sign(asked.clone()).await.unwrap().jwt, None);
    assert!(secret(&server)["data"].get("jwt.key").is_none());
    for wrong in [vec!["a".to_owned(); 17], vec![String::new()], vec!["a".repeat(513)]] {
        asked.jwt_audiences = wrong;
        let refused = replica.sign(asked.clone()).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert!(refused.message().contains("at most 16"), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_of_a_person_without_jwt_key_is_told() {
    let server = server();
    let made = Replica::start(&server);
    made.anchors().await;
    let found = secret(&server);
    drop(made);
    send(&server, Method::DELETE, SECRET, None);
    let texts = ["issuer.crt", "issuer.key", "ca.crt"].map(|key| (key, secret_text(&found, key)));
    let texts: Vec<(&str, &str)> = texts.iter().map(|(key, text)| (*key, text.as_str())).collect();
    create(&server, "/api/v1/namespaces/dapr-system/secrets", &bundle_secret(&json!({}), &texts));
    let mut replica = Replica::signing(&server, jwts(free_port()));
    let ended = within("the end", &mut replica.operator).await.unwrap().unwrap_err().to_string();
    assert!(ended.contains("jwt.key of the trust bundle cannot be used: it is missing"), "{ended}");
}
