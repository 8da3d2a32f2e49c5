//! Clients that act on behalf of the author stamped on an object, with the author's rights and no others.
//!
//! The controllers do so only where the operator asks for it (`--authenticate-application`), because only then
//! admission writes every stamp. Every create, update, delete and read *for* an application goes through [`Actor`];
//! bookkeeping (status, revisions, records, finalizers, events, watches) stays with the account of the controllers.
//! Where the author is unknown, nothing is executed and nothing deleted.

use kube::api::DynamicObject;
use vela_runtime::apply as runtime_apply;
use vela_runtime::impersonation::{Identity, refusing_client};
use vela_runtime::{Applier, Key};
use vela_webhooks::identity::{Author, AuthorError};

use crate::access;
use crate::authors::Authors;
use crate::context::Context;

/// The author on whose behalf one reconcile acts, and the client for it.
#[derive(Clone, Debug)]
pub(crate) struct Actor {
    client: Client,
    applier: Applier,
    rights: Rights,
}

/// The rights that an [`Actor`] uses.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Rights {
    /// The controllers' own account.
    Own,
    /// The author of this name.
    Author(String),
    /// No rights.
    None,
}

/// `kube::Client` has no useful `Debug` output.
#[derive(Clone)]
struct Client(kube::Client);

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

/// The author on whose behalf the controllers would act for an object is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UnknownAuthor(String);

impl Actor {
    /// With the account of the controllers.
    pub(crate) fn own(context: &Context) -> Self {
        Self::through(context, context.client.clone(), Rights::Own)
    }

    /// The author that is stamped on the object; the controllers' own account where they do not act for authors.
    pub(crate) fn for_author(context: &Context, object: &DynamicObject) -> Result<Self, UnknownAuthor> {
        let Some(authors) = &context.authors else { return Ok(Self::own(context)) };
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let author = Author::stamped(object.metadata.annotations.as_ref(), namespace);
        let author = author.map_err(|unknown| UnknownAuthor::of(object, &unknown))?;
        Self::of(context, authors, object, author)
    }

    /// The same for an object that the controllers may have written for an Application: where the object is stamped with
    /// their own name, the actor is that Application's author.
    pub(crate) async fn for_object(
        context: &Context,
        configuration: &DynamicObject,
        application: impl FnOnce() -> Option<std::sync::Arc<DynamicObject>>,
    ) -> Result<Result<Self, UnknownAuthor>, kube::Error> {
        let Some(authors) = &context.authors else { return Ok(Ok(Self::own(context))) };
        let namespace = configuration.metadata.namespace.as_deref().unwrap_or_default();
        let author = match Author::stamped(configuration.metadata.annotations.as_ref(), namespace) {
            Ok(author) => author,
            Err(unknown) => return Ok(Err(UnknownAuthor::of(configuration, &unknown))),
        };
        if author.user != *authors.own.of(&context.client).await? {
            return Ok(Self::of(context, authors, configuration, author));
        }
        Ok(match application() {
            Some(application) => Self::for_author(context, &application),
            None => Err(UnknownAuthor::without_application(configuration)),
        })
    }

    /// An actor without rights: the client answers every request as refused, so existing objects stay, and a deleted
    /// one is seen to be gone.
    pub(crate) fn without_author(context: &Context, unknown: &UnknownAuthor) -> Self {
        Self::through(context, refusing_client(&unknown.0), Rights::None)
    }

    fn of(
        context: &Context,
        authors: &Authors,
        object: &DynamicObject,
        author: Author,
    ) -> Result<Self, UnknownAuthor> {
        let identity = Identity::new(author.user, author.groups)
            .map_err(|error| UnknownAuthor::of(object, &AuthorError::Refused(error.to_string())))?;
        let rights = Rights::Author(identity.user().to_owned());
        Ok(Self::through(context, authors.clients.of(&identity), rights))
    }

    fn through(context: &Context, client: kube::Client, rights: Rights) -> Self {
        Self { applier: context.applier.through(client.clone()), client: Client(client), rights }
    }

    /// The client for reads and writes of objects that the application asks for.
    pub(crate) fn client(&self) -> kube::Client {
        self.client.0.clone()
    }

    /// The applier for applies and deletes.
    pub(crate) fn applier(&self) -> &Applier {
        &self.applier
    }

    /// The applier for the record of an application and its neighbours: no author needs rights on them. Where the author
    /// is unknown, the record stays as well, for the running objects would go with it.
    pub(crate) fn for_record(&self, context: &Context) -> Self {
        if self.rights == Rights::None { self.clone() } else { Self::own(context) }
    }

    /// The author, if the reconcile acts for one.
    pub(crate) fn user(&self) -> Option<&str> {
        if let Rights::Author(user) = &self.rights { Some(user) } else { None }
    }

    /// The message of an error, with the right to ask for where one is missing.
    pub(crate) fn explain_apply(&self, error: &runtime_apply::Error) -> String {
        match error {
            runtime_apply::Error::Client { source, .. } => format!("{error}{}", self.hint(source)),
            error => error.to_string(),
        }
    }

    /// The same for an error of the client; the attempted action stands before it.
    pub(crate) fn explain(&self, error: &kube::Error) -> String {
        format!("{}{}", runtime_apply::explain(error), self.hint(error))
    }

    fn hint(&self, error: &kube::Error) -> String {
        match (error, &self.rights) {
            (kube::Error::Api(status), Rights::Own | Rights::Author(_)) if status.code == 403 => {
                access::hint(&status.message, self.user())
            }
            _ => String::new(),
        }
    }
}

/// Did the controllers write this record themselves? The check reads the stamp where controllers act for authors, and is
/// always true elsewhere: there a user who can forge a record can write an Application that does the same.
pub(crate) async fn is_own_record(context: &Context, record: &DynamicObject) -> Result<bool, kube::Error> {
    let Some(authors) = &context.authors else { return Ok(true) };
    let namespace = record.metadata.namespace.as_deref().unwrap_or_default();
    let Ok(author) = Author::stamped(record.metadata.annotations.as_ref(), namespace) else {
        return Ok(false);
    };
    Ok(author.user == *authors.own.of(&context.client).await?)
}

impl UnknownAuthor {
    fn of(object: &DynamicObject, unknown: &AuthorError) -> Self {
        let (key, kind) = (Key::of(object), kind_of(object));
        Self(format!(
            "{kind} {key} is not executed, and nothing of it is deleted: {unknown}. A user whose rights it may use writes it \
             while the webhooks of vela-core are registered, for example: {}",
            touch(&kind, &key)
        ))
    }

    fn without_application(configuration: &DynamicObject) -> Self {
        let (key, kind) = (Key::of(configuration), kind_of(configuration));
        Self(format!(
            "{kind} {key} is not executed, and nothing of it is deleted: vela-core wrote it for an Application that is not \
             there. To keep it, a user whose rights it may use writes it, for example: {}",
            touch(&kind, &key)
        ))
    }
}

fn kind_of(object: &DynamicObject) -> String {
    object.types.as_ref().map_or_else(|| "object".to_owned(), |types| types.kind.clone())
}

/// A write that changes nothing of the wanted content, and makes the writer the author.
pub(crate) fn touch(kind: &str, key: &Key) -> String {
    format!(
        "kubectl annotate {} {} -n {} authored=\"$(date)\" --overwrite",
        kind.to_lowercase(),
        key.name,
        key.namespace
    )
}
