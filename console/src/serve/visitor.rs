//! How a user of a console for many proves who it is: by a bearer token, or by a proxy that names it. Gives the client that
//! asks with the rights of that user, and no others.

use http::{HeaderMap, header};
use kube::Client;
use sha2::{Digest as _, Sha256};
use vela_runtime::impersonation::{Identity, ImpersonatingClients};

use crate::error::Error;
use crate::identity;
use crate::proxy::{Named, Proxy};

/// Longer tokens are not meant well.
const TOKEN_AT_MOST: usize = 16 * 1024;

pub(super) type Key = [u8; 32];

/// Makes the client that sends a token, and has no other account.
pub(super) type Connect = dyn Fn(&str) -> Result<Client, String> + Send + Sync;

/// How users prove who they are.
pub(super) enum Way {
    /// By a token of the cluster.
    Token(Box<Connect>),
    /// By a proxy; the console asks in the name of the user.
    Proxy(Box<Proxy>, ImpersonatingClients),
}

/// A user who asks, and whom the API server has not judged yet.
pub(super) struct Visitor<'a> {
    /// Tells users apart.
    pub(super) key: Key,
    who: Who<'a>,
}

enum Who<'a> {
    Token(&'a str),
    Named(Identity),
}

impl Way {
    /// Who sent a request.
    pub(super) fn visitor<'a>(&self, headers: &'a HeaderMap) -> Result<Visitor<'a>, Error> {
        match self {
            Self::Token(_) => {
                let token = token(headers)?;
                Ok(Visitor { key: Sha256::digest(token).into(), who: Who::Token(token) })
            }
            Self::Proxy(proxy, _) => {
                let Named { identity, key } = proxy.named(headers)?;
                Ok(Visitor { key, who: Who::Named(identity) })
            }
        }
    }

    /// What to do instead of opening a link.
    pub(super) fn instead_of_link(&self) -> &'static str {
        match self {
            Self::Token(_) => "send a token instead",
            Self::Proxy(..) => "open the address of its proxy instead",
        }
    }

    /// The client that asks with the rights of this user, and the name by which the API server knows it.
    pub(super) async fn client(&self, visitor: &Visitor<'_>) -> Result<(Client, String), Error> {
        match (self, &visitor.who) {
            (Self::Token(connect), Who::Token(token)) => {
                let client = connect(token)
                    .map_err(|why| Error::Unreadable(format!("the token cannot be used: {why}")))?;
                let name = identity::ask(&client).await?;
                Ok((client, name))
            }
            (Self::Proxy(_, clients), Who::Named(user)) => {
                let client = clients.of(user);
                let name = impersonated(&client, user).await?;
                Ok((client, name))
            }
            // A visitor is read by the way that it comes by.
            (Self::Token(_), Who::Named(_)) => Err(Error::NoToken),
            (Self::Proxy(..), Who::Token(_)) => Err(Error::NotFromProxy),
        }
    }
}

/// Makes sure that the API server takes what this client asks as asked by the user: where something between drops the
/// headers, everybody would have the rights of the console.
async fn impersonated(client: &Client, user: &Identity) -> Result<String, Error> {
    match identity::ask(client).await {
        Ok(name) if name == user.user() => Ok(name),
        Ok(taken) => Err(Error::NotImpersonated { user: user.user().to_owned(), taken }),
        Err(error) if [401, 403].contains(&error.status().as_u16()) => {
            Err(Error::MayNotActFor { user: user.user().to_owned(), said: error.to_string() })
        }
        Err(error) => Err(error),
    }
}

/// The bearer token of a request.
fn token(headers: &HeaderMap) -> Result<&str, Error> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (given.next(), given.next()) else { return Err(Error::NoToken) };
    let value = value.to_str().map_err(|_| Error::NoToken)?;
    let (scheme, token) = value.split_once(' ').ok_or(Error::NoToken)?;
    let is_plain = token.bytes().all(|byte| byte.is_ascii_graphic());
    let is_token = scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && is_plain;
    if is_token && token.len() <= TOKEN_AT_MOST { Ok(token) } else { Err(Error::NoToken) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_from_one_bearer_header() {
        let of = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, value.parse().unwrap());
            }
            token(&headers).map(str::to_owned).ok()
        };
        assert_eq!(of(&["Bearer abc"]).as_deref(), Some("abc"));
        assert_eq!(of(&["bearer abc"]).as_deref(), Some("abc"));
        let long = format!("Bearer {}", "a".repeat(TOKEN_AT_MOST + 1));
        for wrong in [
            &[][..],
            &["Bearer"],
            &["Bearer "],
            &["Basic abc"],
            &["Bearer a b"],
            &[&long],
            &["Bearer a", "Bearer b"],
        ] {
            assert_eq!(of(wrong), None, "{wrong:?}");
        }
    }
}
