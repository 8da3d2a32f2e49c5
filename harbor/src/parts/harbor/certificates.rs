//! The certificates of a Harbor: of tokens, of the parts among each other, of Notary.

use serde_json::{Value, json};

use super::super::node::{Id, Node, kinds};
use super::stack::Stack;
use crate::error::Error;

/// How long certificates of authorities are good for.
const AUTHORITY: &str = "8760h0m0s";
/// How long other certificates are good for.
const LEAF: &str = "2160h0m0s";

pub(super) fn children(stack: &Stack<'_>) -> Result<Vec<Node>, Error> {
    let mut nodes = vec![token(stack)?];
    if stack.tls {
        nodes.extend(internal(stack)?);
    }
    if stack.spec("notary").is_set() {
        nodes.extend(notary(stack)?);
    }
    Ok(nodes)
}

fn certificate(name: &str, spec: Value) -> Node {
    Node::new(kinds::CERTIFICATE, name, json!({ "spec": spec }))
}

fn token(stack: &Stack<'_>) -> Result<Node, Error> {
    let name = stack.part("core-tokencert")?;
    let issuer = stack.spec("core.tokenIssuer");
    issuer.get("name").text()?;
    Ok(certificate(
        &name,
        json!({
            "commonName": name,
            "secretName": name,
            "duration": LEAF,
            "issuerRef": issuer.value(),
            "privateKey": { "algorithm": "RSA", "size": 4096 },
            "usages": ["signing"],
        }),
    ))
}

/// An authority of its own: an Issuer that signs itself, the certificate it gives, and the Issuer that signs by it.
fn authority(root: &str, issuer: &str, certificate_spec: Value) -> [Node; 3] {
    let secret = certificate_spec["secretName"].clone();
    let itself = Node::new(kinds::ISSUER, root, json!({ "spec": { "selfSigned": {} } }));
    let signed = certificate(root, certificate_spec).needs([itself.id.clone()]);
    let signs = Node::new(kinds::ISSUER, issuer, json!({ "spec": { "ca": { "secretName": secret } } }));
    let signs = signs.needs([signed.id.clone()]);
    [itself, signed, signs]
}

fn internal(stack: &Stack<'_>) -> Result<Vec<Node>, Error> {
    let (root, issuer) = (stack.part("internal-authority")?, stack.part("internal")?);
    let spec = json!({
        "commonName": stack.name,
        "isCA": true,
        "duration": AUTHORITY,
        "issuerRef": { "name": root },
        "secretName": stack.part("internal-tls-authority")?,
    });
    let mut nodes = Vec::from(authority(&root, &issuer, spec));
    let optional = [
        ("portal", "portal"),
        ("exporter", "exporter"),
        ("trivy", "trivy"),
        ("chartmuseum", "chartmuseum"),
        ("notaryserver", "notary"),
    ];
    let mut parts = vec!["core", "jobservice", "registry", "registryctl"];
    parts.extend(optional.iter().filter(|(_, field)| stack.spec(field).is_set()).map(|(part, _)| *part));
    for part in parts {
        let spec = json!({
            "dnsNames": [stack.part(part)?],
            "duration": LEAF,
            "issuerRef": { "name": issuer },
            "secretName": stack.part(&format!("internal-tls-{part}"))?,
        });
        let name = stack.part(&format!("internal-{part}"))?;
        nodes.push(certificate(&name, spec).needs([Id::new(kinds::ISSUER, &issuer)]));
    }
    Ok(nodes)
}

fn notary(stack: &Stack<'_>) -> Result<Vec<Node>, Error> {
    let (root, issuer) = (stack.part("notarysigner-authority")?, stack.part("notarysigner-authentication")?);
    let spec = json!({
        "commonName": format!("{}-CA", stack.part("notarysigner")?),
        "isCA": true,
        "duration": AUTHORITY,
        "issuerRef": { "name": root },
        "secretName": root,
        "usages": ["client auth", "server auth", "cert sign", "crl sign"],
    });
    let mut nodes = Vec::from(authority(&root, &issuer, spec));
    for (part, usage) in [("notarysigner", "server auth"), ("notaryserver", "client auth")] {
        let (name, host) = (stack.part(&format!("{part}-authentication"))?, stack.part(part)?);
        let spec = json!({
            "commonName": host,
            "dnsNames": [host],
            "duration": LEAF,
            "issuerRef": { "name": issuer },
            "privateKey": { "algorithm": "ECDSA" },
            "secretName": name,
            "usages": ["digital signature", "key encipherment", usage],
        });
        nodes.push(certificate(&name, spec).needs([Id::new(kinds::ISSUER, &issuer)]));
    }
    Ok(nodes)
}
