//! A console for each user who brings a bearer token: all that it reads and writes goes to the API server with that token,
//! and nothing with the account of the console itself.
//!
//! The API server judges a token: it is asked for the name of the user when a token comes first, and again every minute.
//! What is kept of a token is its hash and the client that sends it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, Response, header};
use kube::Client;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::console::{Console, Options, Places};
use super::read::asset;
use super::respond::{is_asset, respond};
use super::send::{BoxError, Sent};
use crate::access::Access;
use crate::answer::Body;
use crate::error::Error;
use crate::find::find;
use crate::identity::{self, Identity};
use crate::route::Endpoint;

/// Users at once: each has a watch of the applications.
const PEOPLE: usize = 32;
/// Tokens that the API server is asked about at once.
const REVIEWS: usize = 16;
/// The API server is asked again whether a token holds.
const REVIEW_EVERY: Duration = Duration::from_secs(60);
/// What was listed with the rights of a user is listed anew after this: rights may have been taken.
const LIST_EVERY: Duration = Duration::from_secs(600);
/// Longer tokens are not meant well.
const TOKEN_AT_MOST: usize = 16 * 1024;

type Key = [u8; 32];

/// Makes the client that sends a token, and has no other account.
type Connect = dyn Fn(&str) -> Result<Client, String> + Send + Sync;

/// A console for each user who brings a token of the cluster.
#[derive(Clone)]
pub struct People {
    shared: Arc<Shared>,
}

struct Shared {
    connect: Box<Connect>,
    options: Options,
    access: Access,
    places: Places,
    reviews: Semaphore,
    known: Mutex<Vec<Person>>,
}

/// A user who was let in.
#[derive(Clone)]
struct Person {
    key: Key,
    console: Console,
    began: Instant,
    reviewed: Instant,
    used: Instant,
}

impl std::fmt::Debug for People {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("People")
    }
}

impl People {
    /// Serves each user by the client that `connect` makes of the token; the client must have no other account.
    pub fn new(
        connect: impl Fn(&str) -> Result<Client, String> + Send + Sync + 'static,
        options: Options,
        access: Access,
    ) -> Self {
        let (places, reviews, known) = (Places::default(), Semaphore::new(REVIEWS), Mutex::default());
        let shared = Shared { connect: Box::new(connect), options, access, places, reviews, known };
        Self { shared: Arc::new(shared) }
    }

    /// Follows the applications no longer.
    pub async fn close(&self) {
        let all = std::mem::take(&mut *self.lock());
        for person in all {
            person.console.close().await;
        }
    }

    pub(super) async fn respond<B: Sent>(&self, parts: &Parts, body: B) -> Response<Body>
    where
        B::Error: Into<BoxError>,
    {
        match self.enter(parts).await {
            Ok(Entered::Asset(answer)) => respond(parts, Ok(answer)),
            Ok(Entered::Console(console)) => console.respond(parts, body).await,
            Err(error) => respond(parts, Err(error)),
        }
    }

    /// Lets in a user whom the API server knows by the token.
    async fn enter(&self, parts: &Parts) -> Result<Entered, Error> {
        self.shared.access.host(&parts.uri, &parts.headers)?;
        let endpoint = find(parts.uri.path()).ok().map(|(route, _)| route.endpoint);
        let is_read = ["GET", "HEAD"].contains(&parts.method.as_str());
        if let Some(endpoint) = endpoint.filter(|endpoint| is_asset(*endpoint) && is_read) {
            return Ok(Entered::Asset(asset(endpoint)));
        }
        if endpoint == Some(Endpoint::Enter) {
            return Err(Error::NotFound("there is no link to this console; send a token instead".to_owned()));
        }
        let token = token(&parts.headers)?;
        self.console(token).await.map(Entered::Console)
    }

    /// The console of the user with this token.
    async fn console(&self, token: &str) -> Result<Console, Error> {
        let (key, now): (Key, _) = (Sha256::digest(token).into(), Instant::now());
        if let Some(console) = self.known(&key, now) {
            return Ok(console);
        }
        let Ok(_place) = self.shared.reviews.try_acquire() else {
            return Err(Error::TooManyPeople(REVIEWS));
        };
        let client = (self.shared.connect)(token)
            .map_err(|why| Error::Unreadable(format!("the token cannot be used: {why}")))?;
        match identity::ask(&client).await {
            Ok(name) => self.admit(key, client, name, now).await,
            Err(error) => {
                // A user whose token is refused is let in no longer; a cluster that is away says nothing about a token.
                if [401, 403].contains(&error.status().as_u16()) {
                    self.forget(&key).await;
                }
                Err(error)
            }
        }
    }

    /// Of a user whose token was judged a moment ago.
    fn known(&self, key: &Key, now: Instant) -> Option<Console> {
        let mut all = self.lock();
        let person = all.iter_mut().find(|person| person.key == *key)?;
        let holds = now < person.reviewed + REVIEW_EVERY && now < person.began + LIST_EVERY;
        holds.then(|| {
            person.used = now;
            person.console.clone()
        })
    }

    /// Keeps the console of a user, in place of that who asked for nothing the longest.
    async fn admit(&self, key: Key, client: Client, name: String, now: Instant) -> Result<Console, Error> {
        let (console, gone) = {
            let mut all = self.lock();
            let gone: Vec<Person> = all.extract_if(.., |person| now >= person.began + LIST_EVERY).collect();
            let console = match all.iter_mut().find(|person| person.key == key) {
                Some(person) => {
                    (person.reviewed, person.used) = (now, now);
                    person.console.clone()
                }
                None => {
                    let Shared { options, access, places, .. } = &*self.shared;
                    let (options, access) = (options.clone(), access.of_user(&key));
                    let user = Identity::known(name);
                    let console = Console::of(client, options, access, user, places.clone());
                    all.push(Person { key, console: console.clone(), began: now, reviewed: now, used: now });
                    console
                }
            };
            let mut gone = gone;
            if all.len() > PEOPLE
                && let Some(last) = all.iter().map(|person| person.used).min()
                && let Some(index) = all.iter().position(|person| person.used == last)
            {
                gone.push(all.swap_remove(index));
            }
            (console, gone)
        };
        for person in gone {
            person.console.close().await;
        }
        Ok(console)
    }

    async fn forget(&self, key: &Key) {
        let gone: Vec<Person> = self.lock().extract_if(.., |person| person.key == *key).collect();
        for person in gone {
            person.console.close().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Person>> {
        self.shared.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a request is let in to.
enum Entered {
    Asset(Response<Body>),
    Console(Console),
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
