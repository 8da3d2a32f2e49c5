//! A question that changes nothing → the answer behind its redirects, each of which is judged like the first address.

use http::{Request, Uri, header};

use super::{Answer, EgressClient, Error};

/// Redirects of one question: more lead in a circle.
pub const REDIRECTS_AT_MOST: usize = 5;
/// Why more are not followed; it has the number in it.
const CIRCLE: &str = "it redirects more than 5 times";
const _: () = assert!(REDIRECTS_AT_MOST == 5, "the message has the number in it");

impl EgressClient {
    /// What a URL answers in the end, whatever its status.
    ///
    /// # Errors
    /// It is no URL, it may not be asked, it redirects to where it may not, or there is no answer within the limits.
    pub async fn read(&self, url: &str) -> Result<Answer, Error> {
        let url: Uri = url.parse().map_err(|_| Error::Url("this is no URL"))?;
        let first = Request::get(url).header(header::USER_AGENT, "vela");
        self.follow(first.body(()).map_err(|_| Error::Url("this cannot be asked"))?).await
    }

    /// What a question answers in the end, whatever its status. All redirects together take no longer than one answer may. An
    /// `Authorization` is shown to the server of the first URL, and to no other that it leads to.
    ///
    /// # Errors
    /// As with `read`.
    pub async fn follow(&self, first: Request<()>) -> Result<Answer, Error> {
        let total = self.limits.total;
        tokio::time::timeout(total, self.followed(&first)).await.unwrap_or(Err(Error::Slow(total)))
    }

    async fn followed(&self, first: &Request<()>) -> Result<Answer, Error> {
        let server = |uri: &Uri| (uri.scheme().cloned(), uri.authority().cloned());
        let mut at = first.uri().clone();
        for _ in 0..=REDIRECTS_AT_MOST {
            let mut request = Request::new(Vec::new());
            request.headers_mut().clone_from(first.headers());
            if server(&at) != server(first.uri()) {
                request.headers_mut().remove(header::AUTHORIZATION);
            }
            request.uri_mut().clone_from(&at);
            let answer = self.ask(request).await?;
            match answer.status.is_redirection() {
                true => at = redirected(&at, &answer)?,
                false => return Ok(answer),
            }
        }
        Err(Error::Redirect(CIRCLE))
    }
}

/// Where an answer leads.
fn redirected(from: &Uri, answer: &Answer) -> Result<Uri, Error> {
    let place =
        answer.headers.get(header::LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let authority = from.authority().map_or("", http::uri::Authority::as_str);
    let scheme = from.scheme_str().unwrap_or("https");
    let whole = match place.strip_prefix("//") {
        Some(rest) => format!("{scheme}://{rest}"),
        None if place.starts_with('/') => format!("{scheme}://{authority}{place}"),
        None => place.to_owned(),
    };
    if !whole.starts_with("https://") && !whole.starts_with("http://") {
        return Err(Error::Redirect("it redirects to no URL"));
    }
    if scheme == "https" && !whole.starts_with("https://") {
        return Err(Error::Redirect(
            "it redirects from https to http, which anybody on the way could change",
        ));
    }
    whole.parse().map_err(|_| Error::Redirect("it redirects to no URL"))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, StatusCode};

    use super::*;

    fn led(from: &str, to: &str) -> Result<String, String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::LOCATION, to.parse().unwrap());
        let answer = Answer { status: StatusCode::FOUND, headers, body: Bytes::new() };
        let led = redirected(&from.parse().unwrap(), &answer);
        led.map(|uri| uri.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_redirect_leads_to_a_url() {
        assert_eq!(led("https://a/x", "/y").as_deref(), Ok("https://a/y"));
        assert_eq!(led("http://a:8/x", "//b/y").as_deref(), Ok("http://b/y"));
        assert_eq!(led("http://a/x", "https://b/y").as_deref(), Ok("https://b/y"));
        assert!(led("https://a/x", "http://a/y").unwrap_err().contains("from https to http"));
        for wrong in ["file:///etc/passwd", "y", ""] {
            assert!(led("https://a/x", wrong).unwrap_err().contains("to no URL"), "{wrong}");
        }
    }
}
