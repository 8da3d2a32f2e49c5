//! A server in the test that plays the API of a Harbor, and the objects that lead to it.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::operator::{GOHARBOR, NAMESPACE};

/// Bytes of a request at most.
const REQUEST_AT_MOST: usize = 64 * 1024;

/// A request as it came: its first line, its login, its body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) login: String,
    pub(crate) body: Value,
}

/// The status and the body of the answer to a request.
pub(crate) type Answers = Arc<dyn Fn(&Asked) -> (&'static str, Value) + Send + Sync>;

/// A server that takes everything and remembers it.
pub(crate) struct Harbor {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Harbor {
    pub(crate) async fn begin() -> Self {
        Self::answering(Arc::new(usual)).await
    }

    /// A server that answers this.
    pub(crate) async fn answering(answers: Answers) -> Self {
        Self::with(None, answers).await
    }

    /// The same over TLS, with a certificate that no authority signed.
    pub(crate) async fn with_own_certificate() -> Self {
        let made = rcgen::generate_simple_self_signed(["harbor.example".to_owned()]).unwrap();
        let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        Self::with(Some(TlsAcceptor::from(Arc::new(config))), Arc::new(usual)).await
    }

    async fn with(tls: Option<TlsAcceptor>, answers: Answers) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let seen = asked.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                match &tls {
                    None => answer(stream, &answers, &seen).await,
                    Some(tls) => match tls.accept(stream).await {
                        Ok(stream) => answer(stream, &answers, &seen).await,
                        Err(_) => None,
                    },
                };
            }
        });
        Self { port, asked }
    }

    /// The requests whose first line begins like this.
    pub(crate) fn asked(&self, beginning: &str) -> Vec<Asked> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|asked| asked.line.starts_with(beginning)).cloned().collect()
    }
}

/// Reads one request and answers it.
async fn answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answers: &Answers,
    seen: &Mutex<Vec<Asked>>,
) -> Option<()> {
    let mut read = Vec::new();
    let (head, length) = loop {
        if read.len() > REQUEST_AT_MOST || stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&read).into_owned();
        let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
        let length = header(head, "content-length").and_then(|text| text.parse().ok()).unwrap_or(0_usize);
        if read.len() >= head.len() + 4 + length {
            break (head.to_owned(), length);
        }
    };
    let body = &read[head.len() + 4..head.len() + 4 + length];
    let login = header(&head, "authorization")?.trim_start_matches("Basic ").to_owned();
    let asked = Asked {
        line: head.lines().next()?.to_owned(),
        login: String::from_utf8(STANDARD.decode(login).ok()?).ok()?,
        body: serde_json::from_slice(body).unwrap_or_default(),
    };
    // Before the answer: a client that has it may look at once.
    seen.lock().unwrap().push(asked.clone());
    let (status, answered) = answers(&asked);
    let answered = answered.to_string();
    let said = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answered}",
        answered.len()
    );
    stream.write_all(said.as_bytes()).await.ok()
}

/// What a Harbor with one robot account answers; parts of the path make it sick or closed.
fn usual(asked: &Asked) -> (&'static str, Value) {
    let line = &asked.line;
    if line.contains("/health ") && line.contains("/sick/") {
        let components =
            json!([{"name": "core", "status": "healthy"}, {"name": "redis", "status": "unhealthy"}]);
        ("200 OK", json!({"status": "unhealthy", "components": components}))
    } else if line.contains("/health ") {
        ("200 OK", json!({"status": "healthy"}))
    } else if line.contains("/users/current ") && line.contains("/closed/") {
        ("401 Unauthorized", json!({"errors": [{"code": "UNAUTHORIZED"}]}))
    } else if line.contains("/users/current ") && line.contains("/robots-only/") {
        ("412 Precondition Failed", json!({"errors": [{"code": "PRECONDITION"}]}))
    } else {
        ("200 OK", json!({"id": 7, "name": "robot$lib+pull"}))
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

pub(crate) fn secret(name: &str, texts: Value) -> Value {
    let metadata = json!({"name": name, "namespace": NAMESPACE});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": texts})
}

pub(crate) fn setting(kind: &str, name: &str, spec: Value) -> Value {
    let metadata = json!({"name": name, "namespace": NAMESPACE});
    json!({"apiVersion": GOHARBOR, "kind": kind, "metadata": metadata, "spec": spec})
}

/// A HarborServerConfiguration of the server of the test at this path.
pub(crate) fn server(harbor: &Harbor, name: &str, path: &str, more: &Value) -> Value {
    // The schema takes no port behind a number, so the address has a path that ends in one.
    let url = format!("http://127.0.0.1:{}/{path}/127.0.0.1", harbor.port);
    let credential = json!({"namespace": NAMESPACE, "accessSecretRef": "access"});
    let mut spec = json!({"serverURL": url, "version": "2.5.1", "accessCredential": credential});
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    json!({"apiVersion": GOHARBOR, "kind": "HarborServerConfiguration", "metadata": {"name": name}, "spec": spec})
}

pub(crate) fn access() -> Value {
    secret("access", json!({"accessKey": "admin", "accessSecret": "pass"}))
}
