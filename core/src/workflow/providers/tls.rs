//! `tls_config` of a request → certificates and keys from the Secret that it names. No message repeats any of them.

use k8s_openapi::ByteString;
use serde_json::{Value, json};
use vela_runtime::egress::Tls;

use super::provider::Objects;

/// The beginning of every certificate and key in PEM.
const PEM: &[u8] = b"-----BEGIN";
/// Keys of the client certificate, and of its key: as upstream has them, then as Secrets for TLS do.
const IDENTITIES: [(&str, &str); 2] = [("client.crt", "client.key"), ("tls.crt", "tls.key")];

/// The content of the Secret; nothing where none is named.
pub(super) async fn read<O: Objects>(
    objects: &mut O,
    config: &Value,
) -> Result<Result<Option<Tls>, String>, O::Error> {
    let Some(secret) = config["secret"].as_str().filter(|secret| !secret.is_empty()) else {
        return Ok(Ok(None));
    };
    // Upstream also takes `namespace/name`.
    let (namespace, name) = match secret.split_once('/') {
        Some((namespace, name)) => (namespace, name),
        None => (config["namespace"].as_str().unwrap_or_default(), secret),
    };
    let object = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
    });
    Ok(match objects.read_object(&object).await? {
        Ok(Some(secret)) => tls(&secret["data"]).map(Some).map_err(|why| format!("Secret {name}: {why}")),
        Ok(None) => Err(format!("tls_config: Secret {name} not found")),
        Err(why) => Err(format!("tls_config: {why}")),
    })
}

fn tls(data: &Value) -> Result<Tls, String> {
    let authorities = pem(data, "ca.crt")?;
    let mut identity = None;
    for (certificate, key) in IDENTITIES {
        identity = match (pem(data, certificate)?, pem(data, key)?) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => continue,
            _ => return Err(format!("expected both {certificate} and {key}")),
        };
        break;
    }
    if authorities.is_none() && identity.is_none() {
        return Err("expected ca.crt, or client.crt with client.key".to_owned());
    }
    Ok(Tls { authorities, identity })
}

/// A text in PEM under this key. Upstream takes it encoded once more, so both are read.
fn pem(data: &Value, key: &str) -> Result<Option<Vec<u8>>, String> {
    let Some(value) = data.get(key) else { return Ok(None) };
    let decode =
        |value: &Value| serde_json::from_value::<ByteString>(value.clone()).ok().map(|bytes| bytes.0);
    let mut found = decode(value);
    for _ in 0..2 {
        match found {
            Some(bytes) if bytes.trim_ascii_start().starts_with(PEM) => return Ok(Some(bytes)),
            Some(bytes) => {
                let text = String::from_utf8(bytes).ok();
                found = text.and_then(|text| decode(&json!(text.split_whitespace().collect::<String>())));
            }
            None => break,
        }
    }
    Err(format!("{key}: expected PEM"))
}

#[cfg(test)]
mod tests {
    use super::super::test_double::Double;
    use super::*;

    fn secret(data: &[(&str, &str)]) -> Value {
        let data =
            data.iter().map(|(key, text)| ((*key).to_owned(), json!(ByteString(text.as_bytes().to_vec()))));
        json!({"apiVersion": "v1", "kind": "Secret", "data": Value::Object(data.collect())})
    }

    async fn of(there: Option<Value>, config: Value) -> Result<Option<Tls>, String> {
        let mut double = Double { there, ..Double::default() };
        match read(&mut double, &config).await {
            Ok(read) => read,
            Err(never) => match never {},
        }
    }

    #[tokio::test]
    async fn certificates_come_from_a_secret() {
        let plain = "-----BEGIN CERTIFICATE-----";
        let twice = json!(ByteString(plain.as_bytes().to_vec()));
        let data = [("ca.crt", plain), ("tls.crt", twice.as_str().unwrap()), ("tls.key", plain)];
        let read = of(Some(secret(&data)), json!({"secret": "keys"})).await.unwrap().unwrap();
        assert_eq!(read.authorities.as_deref(), Some(plain.as_bytes()));
        assert_eq!(read.identity, Some((plain.as_bytes().to_vec(), plain.as_bytes().to_vec())));
        assert!(of(None, Value::Null).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn what_is_missing_is_told_without_what_is_there() {
        for (there, expected) in [
            (None, "Secret keys not found"),
            (Some(secret(&[])), "expected ca.crt"),
            (Some(secret(&[("ca.crt", "hidden!")])), "ca.crt: expected PEM"),
            (Some(secret(&[("client.crt", "-----BEGIN hidden!")])), "both client.crt and client.key"),
        ] {
            let why = of(there, json!({"secret": "keys"})).await.unwrap_err();
            assert!(why.contains(expected) && !why.contains("hidden"), "{why}");
        }
    }
}
