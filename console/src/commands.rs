//! What the program that starts a console does for it: environments and Appfiles, which this room knows no rule of.

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
}
