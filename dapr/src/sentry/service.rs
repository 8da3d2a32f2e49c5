//! The one call of the protocol: a request in, a certificate or a status out.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tonic::{Request, Response, Status};
use vela_runtime::clock;

use super::authority::{Authority, Lifetime, Subject};
use super::csr::key_of;
use super::error::AuthorityError;
use super::jwt::{Claims, Jwts};
use super::requester::Requesters;
use crate::metrics::SentryMetrics;
use crate::protocol::sentry::ca_server::Ca;
use crate::protocol::sentry::{Jwt, Moment, SignCertificateRequest, SignCertificateResponse, TokenValidator};

/// A sidecar waits longer for its certificate, and then asks again.
const ANSWERED_WITHIN: Duration = Duration::from_secs(20);

/// Audiences that a sidecar may ask for, and the bytes of each.
const AUDIENCES_AT_MOST: usize = 16;
const AUDIENCE_AT_MOST: usize = 512;

/// Answers sidecars.
#[derive(Clone)]
pub(super) struct Service {
    pub(super) authority: watch::Receiver<Arc<Authority>>,
    pub(super) requesters: Requesters,
    pub(super) lifetime: Lifetime,
    pub(super) jwts: Option<Jwts>,
    pub(super) counts: SentryMetrics,
}

#[tonic::async_trait]
impl Ca for Service {
    async fn sign_certificate(
        &self,
        request: Request<SignCertificateRequest>,
    ) -> Result<Response<SignCertificateResponse>, Status> {
        self.counts.received();
        let signed = match tokio::time::timeout(ANSWERED_WITHIN, self.sign(request.get_ref())).await {
            Ok(signed) => signed,
            Err(_) => Err(Status::unavailable("the API server does not answer in time; try again")),
        };
        match &signed {
            Ok(_) => self.counts.signed(),
            Err(status) => {
                let SignCertificateRequest { namespace, id, .. } = request.get_ref();
                tracing::warn!(?namespace, ?id, code = ?status.code(), why = status.message(), "no certificate is issued");
                self.counts.refused(status.code());
            }
        }
        signed.map(Response::new)
    }
}

impl Service {
    async fn sign(&self, request: &SignCertificateRequest) -> Result<SignCertificateResponse, Status> {
        match request.token_validator() {
            TokenValidator::Unknown | TokenValidator::Kubernetes => {}
            other => {
                return Err(Status::invalid_argument(format!(
                    "token validator {} is not offered here; expected KUBERNETES",
                    other.as_str_name()
                )));
            }
        }
        // Before the API server is asked: it costs nothing.
        let key = key_of(&request.certificate_signing_request)
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        let audiences = audiences(request)?;
        let subject = self.requesters.identify(request).await?;
        let authority = self.authority.borrow().clone();
        let signed = authority.sign(&key, &subject, self.lifetime, clock::now()).map_err(|error| {
            tracing::error!(%error, uri = subject.uri, "a certificate cannot be signed");
            Status::internal("the certificate cannot be signed")
        })?;
        let jwt = self.token(&authority, &subject, audiences).map_err(|error| {
            tracing::error!(%error, uri = subject.uri, "a token cannot be signed");
            Status::internal("the token cannot be signed")
        })?;
        tracing::info!(uri = subject.uri, until = %signed.validity.until, "issued a certificate");
        Ok(SignCertificateResponse {
            workload_certificate: Bytes::from(signed.pem),
            trust_chain_certificates: vec![Bytes::from(authority.texts().anchors.clone())],
            valid_until: Some(Moment { seconds: signed.validity.until.as_second(), nanos: 0 }),
            jwt: jwt.map(|value| Jwt { value }),
        })
    }

    /// A token of the same identity, where tokens are signed.
    fn token(
        &self,
        authority: &Authority,
        subject: &Subject,
        asked: Vec<String>,
    ) -> Result<Option<String>, AuthorityError> {
        let (Some(jwts), Some(key)) = (&self.jwts, authority.jwt()) else { return Ok(None) };
        let now = clock::now();
        let lifetime = Lifetime { life: jwts.life, ..self.lifetime };
        let trust_domain = subject.uri.trim_start_matches("spiffe://").split('/').next().unwrap_or_default();
        let mut audiences = vec![trust_domain.to_owned()];
        audiences.extend(asked.into_iter().filter(|one| one != trust_domain));
        let claims = Claims {
            subject: &subject.uri,
            audiences: &audiences,
            issuer: jwts.issuer.as_deref(),
            validity: lifetime.validity(now)?,
            now,
        };
        key.sign(claims).map(Some)
    }
}

/// The audiences that a sidecar asks for, each once.
fn audiences(request: &SignCertificateRequest) -> Result<Vec<String>, Status> {
    let asked = &request.jwt_audiences;
    if asked.len() > AUDIENCES_AT_MOST
        || asked.iter().any(|one| one.is_empty() || one.len() > AUDIENCE_AT_MOST)
    {
        return Err(Status::invalid_argument(format!(
            "jwt_audiences has {} entries; expected at most {AUDIENCES_AT_MOST}, each of 1 to {AUDIENCE_AT_MOST} bytes",
            asked.len()
        )));
    }
    let mut once: Vec<String> = Vec::with_capacity(asked.len());
    asked.iter().for_each(|one| {
        if !once.contains(one) {
            once.push(one.clone());
        }
    });
    Ok(once)
}
