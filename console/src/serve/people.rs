//! A console for each user who brings a bearer token, or whom a proxy names: all that it reads and writes goes to the API
//! server with that token or in that name, and nothing with the rights of the console itself.
//!
//! The API server judges a user: it is asked for the name when one comes first, and again every minute. What is kept of a
//! token is its hash and the client that sends it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Response;
use http::request::Parts;
use kube::Client;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use vela_runtime::impersonation::ImpersonatingClients;

use super::console::{Console, Options, Places};
use super::read::asset;
use super::respond::{is_asset, respond};
use super::send::{BoxError, Sent};
use super::visitor::{Key, Visitor, Way};
use crate::access::Access;
use crate::answer::Body;
use crate::error::Error;
use crate::find::find;
use crate::identity::Identity;
use crate::proxy::Proxy;
use crate::route::Endpoint;

/// Users at once: each has a watch of the applications.
const PEOPLE: usize = 32;
/// Users that the API server is asked about at once.
const REVIEWS: usize = 16;
/// The API server is asked again whether a user is let in.
const REVIEW_EVERY: Duration = Duration::from_secs(60);
/// What was listed with the rights of a user is listed anew after this: rights may have been taken.
const LIST_EVERY: Duration = Duration::from_secs(600);

/// A console for each user who brings a token of the cluster, or whom a proxy names.
#[derive(Clone)]
pub struct People {
    shared: Arc<Shared>,
}

struct Shared {
    way: Way,
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
        Self::by(Way::Token(Box::new(connect)), options, access)
    }

    /// Serves each user whom the proxy names, by requests in the name of that user that go through `client`. The account of
    /// the client needs only the right to impersonate these users and groups; it must not act for another one itself.
    pub fn behind(proxy: Proxy, client: Client, options: Options, access: Access) -> Self {
        let clients = ImpersonatingClients::new(client, PEOPLE);
        Self::by(Way::Proxy(Box::new(proxy), clients), options, access)
    }

    fn by(way: Way, options: Options, access: Access) -> Self {
        let (places, reviews, known) = (Places::default(), Semaphore::new(REVIEWS), Mutex::default());
        let shared = Shared { way, options, access, places, reviews, known };
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

    /// Lets in a user whom the API server knows.
    async fn enter(&self, parts: &Parts) -> Result<Entered, Error> {
        self.shared.access.host(&parts.uri, &parts.headers)?;
        let endpoint = find(parts.uri.path()).ok().map(|(route, _)| route.endpoint);
        let is_read = ["GET", "HEAD"].contains(&parts.method.as_str());
        if let Some(endpoint) = endpoint.filter(|endpoint| is_asset(*endpoint) && is_read) {
            return Ok(Entered::Asset(asset(endpoint)));
        }
        if endpoint == Some(Endpoint::Enter) {
            let instead = self.shared.way.instead_of_link();
            return Err(Error::NotFound(format!("there is no link to this console; {instead}")));
        }
        let visitor = self.shared.way.visitor(&parts.headers)?;
        self.console(&visitor).await.map(Entered::Console)
    }

    /// The console of this user.
    async fn console(&self, visitor: &Visitor<'_>) -> Result<Console, Error> {
        let (key, now) = (visitor.key, Instant::now());
        if let Some(console) = self.known(&key, now) {
            return Ok(console);
        }
        let Ok(_place) = self.shared.reviews.try_acquire() else {
            return Err(Error::TooManyPeople(REVIEWS));
        };
        match self.shared.way.client(visitor).await {
            Ok((client, name)) => self.admit(key, client, name, now).await,
            Err(error) => {
                // A user who is refused is let in no longer; a cluster that is away says nothing about a user.
                if error.is_refusal() {
                    self.forget(&key).await;
                }
                Err(error)
            }
        }
    }

    /// Of a user who was judged a moment ago.
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
