//! What the program that starts a console does for it: environments, Appfiles and capability
//! centers, which this room knows no rule of.

use std::fmt;

use futures::future::BoxFuture;
use kube::Client;
use serde_json::Value;

/// A namespace with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// Its name.
    pub name: String,
    /// The namespace.
    pub namespace: String,
}

/// An Appfile as the Application that it stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct FromAppfile {
    /// The Application.
    pub application: Value,
    /// What is doubtful about the Appfile, each with its place.
    pub warnings: Vec<String>,
}

/// A place that has definitions, which the machine of the console knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Center {
    /// Its name.
    pub name: String,
    /// Where its definitions lie.
    pub address: String,
}

/// A center that shall be known.
pub struct NewCenter {
    /// Its name.
    pub name: String,
    /// Where its definitions lie.
    pub address: String,
    /// What the server of the address is shown.
    pub token: Option<String>,
}

/// A definition that a center has.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// The name of the center.
    pub center: String,
    /// The object.
    pub definition: Value,
}

/// Why something was not done, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// What is there does not allow it.
    #[error("{0}")]
    Refused(String),
    /// What was sent is wrong.
    #[error("{0}")]
    Invalid(String),
    /// The user may not.
    #[error("{0}")]
    Forbidden(String),
    /// It is right, and vela cannot do it yet.
    #[error("{0}")]
    NotSupported(String),
    /// The cluster cannot be asked, or fails.
    #[error("{0}")]
    Cluster(String),
    /// The machine of the console cannot: its files, its folders.
    #[error("{0}")]
    Machine(String),
}

/// What a console asks of the program that starts it. The client of each call has the rights of the user who ordered it.
pub trait Commands: fmt::Debug + Send + Sync {
    /// The environment that is current on the machine of the console; none where several users share it.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn current(&self) -> Result<Option<Environment>, Fault>;

    /// Makes an environment that is not there, with its namespace; gives a sentence.
    fn init(&self, client: &Client, wanted: Environment) -> BoxFuture<'static, Result<String, Fault>>;

    /// Gives an environment another namespace.
    fn relocate(&self, client: &Client, wanted: Environment) -> BoxFuture<'static, Result<(), Fault>>;

    /// Makes an environment current on the machine of the console; gives a sentence.
    fn choose(&self, client: &Client, name: String) -> BoxFuture<'static, Result<String, Fault>>;

    /// Deletes an environment, and the namespace that was made for it; gives a sentence.
    fn delete(&self, client: &Client, name: String) -> BoxFuture<'static, Result<String, Fault>>;

    /// The Application that an Appfile stands for, in a namespace, after all that can be known to be wrong with it.
    fn application(
        &self,
        client: &Client,
        namespace: String,
        appfile: String,
    ) -> BoxFuture<'static, Result<FromAppfile, Fault>>;

    /// Do several users share the machine of the console? What lies on it is then neither read nor written for them.
    fn is_shared(&self) -> bool;

    /// The capability centers of the machine of the console; none where several users share it.
    fn centers(&self) -> BoxFuture<'static, Result<Vec<Center>, Fault>>;

    /// What these centers have.
    fn capabilities(&self) -> BoxFuture<'static, Result<Vec<Offer>, Fault>>;

    /// Reads a center and remembers it; gives the messages of that.
    fn configure_center(&self, wanted: NewCenter) -> BoxFuture<'static, Result<String, Fault>>;

    /// Reads a center anew.
    fn sync_center(&self, name: String) -> BoxFuture<'static, Result<String, Fault>>;

    /// Forgets a center.
    fn remove_center(&self, name: String) -> BoxFuture<'static, Result<String, Fault>>;

    /// Applies the definitions of this name that a center has; gives the messages of that.
    fn install(
        &self,
        client: &Client,
        center: String,
        name: String,
    ) -> BoxFuture<'static, Result<String, Fault>>;

    /// Deletes the definitions of this name that a center brought and no application uses.
    fn uninstall(&self, client: &Client, name: String) -> BoxFuture<'static, Result<(), Fault>>;
}
