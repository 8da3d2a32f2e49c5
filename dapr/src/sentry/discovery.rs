//! Two documents over HTTPS, by which others verify the JWTs of sidecars: where the issuer's keys are, and the keys.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode, header};
use serde_json::json;
use tokio::sync::watch;
use vela_listen::RequestBody;

use super::authority::Authority;

const CONFIGURATION: &str = "/.well-known/openid-configuration";
const KEYS: &str = "/jwks.json";

/// What is answered.
#[derive(Clone)]
pub(super) struct Discovery {
    /// The issuer that tokens name, without a slash at its end.
    pub(super) issuer: String,
    pub(super) authority: watch::Receiver<Arc<Authority>>,
}

impl Discovery {
    /// Answers at the path alone, and below the path of the issuer.
    pub(super) async fn answer(self, request: Request<RequestBody>) -> Result<Response<String>, Infallible> {
        Ok(self.document(request.method(), request.uri().path()))
    }

    fn document(&self, method: &Method, path: &str) -> Response<String> {
        let below: http::Uri = self.issuer.parse().unwrap_or_default();
        let path = path.strip_prefix(below.path().trim_end_matches('/')).unwrap_or(path);
        let said = |status: StatusCode, text: &str| {
            let mut response = Response::new(text.to_owned());
            *response.status_mut() = status;
            response
        };
        if !matches!(path, CONFIGURATION | KEYS) {
            return said(
                StatusCode::NOT_FOUND,
                "not found; /.well-known/openid-configuration and /jwks.json are here\n",
            );
        }
        if !matches!(*method, Method::GET | Method::HEAD) {
            return said(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered here\n");
        }
        let authority = self.authority.borrow().clone();
        let Some(key) = authority.jwt() else {
            return said(StatusCode::NOT_FOUND, "no tokens are signed here\n");
        };
        let text = match path {
            KEYS => key.keys().to_owned(),
            _ => json!({
                "issuer": self.issuer,
                "jwks_uri": format!("{}{KEYS}", self.issuer),
                "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": [key.algorithm()],
                "scopes_supported": ["openid"],
                "claims_supported": ["sub", "iss", "aud", "exp", "iat", "nbf", "jti", "use"],
            })
            .to_string(),
        };
        let mut response = said(StatusCode::OK, &text);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("public, max-age=3600"));
        response
    }
}
