//! A URL that a user typed in place of a file → its bytes, through the egress guard.

use std::time::Duration;

use http::{Request, StatusCode, header};
use vela_runtime::egress::{self, Answer, EgressClient, EgressPolicy, Limits};

use crate::error::{Error, Result};
use crate::session::block_on;

/// How long a server may take to be there.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a whole manifest may take.
const TOTAL: Duration = Duration::from_secs(60);

/// Is it a URL rather than a path?
pub(crate) fn is_url(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

/// What messages show of a URL: its query and what follows may hold what is confidential.
pub(crate) fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}

/// What is asked for.
#[derive(Default)]
pub(crate) struct Wanted<'a> {
    pub(crate) url: &'a str,
    /// Bytes of the answer.
    pub(crate) at_most: usize,
    /// What the server of the URL is shown, and no other server that it redirects to: `Bearer TOKEN`.
    pub(crate) authorization: Option<&'a str>,
    /// The media types of the answer; nothing for any.
    pub(crate) accept: Option<&'a str>,
    /// What to do with a file that was downloaded otherwise.
    pub(crate) instead: &'a str,
}

/// The bytes that a URL answers with, at most this many.
pub(crate) fn read(url: &str, at_most: usize) -> Result<Vec<u8>> {
    let instead = "give the file with -f, or - for standard input";
    ask(&Wanted { url, at_most, instead, ..Wanted::default() })
}

/// The same, with more to say about it.
pub(crate) fn ask(wanted: &Wanted<'_>) -> Result<Vec<u8>> {
    let name = without_query(wanted.url);
    match answer(wanted)? {
        answer if answer.status == StatusCode::OK => body(answer, name),
        answer => {
            let error = unreadable(name, &format!("the server answers {}", answer.status));
            Err(error.hint("check the address, also in a browser").into())
        }
    }
}

/// What a server answers in the end, whatever its status: redirects are followed.
pub(crate) fn answer(wanted: &Wanted<'_>) -> Result<Answer> {
    let limits = Limits { connect: CONNECT, total: TOTAL, answer_bytes: wanted.at_most };
    block_on(async {
        // The person at this machine asks, and may well serve the file there.
        let client = EgressClient::new(EgressPolicy::ServicesAndLoopback, limits)
            .map_err(|error| Error::config(format!("nothing can be downloaded: {error}")))?;
        follow(&client, wanted).await
    })
}

async fn follow(client: &EgressClient, wanted: &Wanted<'_>) -> Result<Answer> {
    let name = without_query(wanted.url);
    let mut request = Request::get(wanted.url).header(header::USER_AGENT, "vela");
    if let Some(authorization) = wanted.authorization {
        request = request.header(header::AUTHORIZATION, authorization);
    }
    if let Some(accept) = wanted.accept {
        request = request.header(header::ACCEPT, accept);
    }
    let request = request.body(()).map_err(|error| unreadable(name, &error.to_string()))?;
    Ok(client.follow(request).await.map_err(|error| refused(name, &error, wanted.instead))?)
}

fn body(answer: Answer, name: &str) -> Result<Vec<u8>> {
    let kind =
        answer.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if kind.starts_with("text/html") {
        let error = unreadable(name, "it is a web page, not a manifest");
        return Err(error
            .hint("give the address of the file itself, which sites of code call \"raw\"")
            .into());
    }
    Ok(answer.body.to_vec())
}

fn refused(name: &str, error: &egress::Error, instead: &str) -> Error {
    let failed = unreadable(name, &error.to_string());
    match error {
        egress::Error::Forbidden(_) | egress::Error::Url(_) => {
            failed.hint(format!("download it yourself and {instead}"))
        }
        egress::Error::Redirect(_) => {
            failed.hint("ask for the address that it redirects to, if that is what you want")
        }
        egress::Error::Long(_) => failed.hint("a manifest is smaller: check the address"),
        _ => failed.hint(format!("check the address and the network, or download it and {instead}")),
    }
}

fn unreadable(name: &str, why: &str) -> Error {
    Error::user(format!("{name} cannot be read: {why}"))
}
