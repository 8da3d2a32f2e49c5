//! One child of an object: what is wanted, and what has to be ready before.

use std::fmt;

use serde_json::{Value, json};

/// Which child; all are in the namespace of their owner.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    /// Group and version.
    pub api_version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Name.
    pub name: String,
}

impl Id {
    /// A child of a kind that this operator writes.
    #[must_use]
    pub fn new((api_version, kind): (&'static str, &'static str), name: impl Into<String>) -> Self {
        Self { api_version, kind, name: name.into() }
    }

    /// Kind and group, as conditions name what they wait for.
    #[must_use]
    pub fn group_kind(&self) -> String {
        match self.api_version.split_once('/') {
            Some((group, _)) => format!("{}.{group}", self.kind),
            None => self.kind.to_owned(),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.group_kind(), self.name)
    }
}

/// The kinds of children.
pub mod kinds {
    /// Group, version and kind.
    pub type Kind = (&'static str, &'static str);
    /// Service.
    pub const SERVICE: Kind = ("v1", "Service");
    /// ConfigMap.
    pub const CONFIG_MAP: Kind = ("v1", "ConfigMap");
    /// Secret.
    pub const SECRET: Kind = ("v1", "Secret");
    /// Deployment.
    pub const DEPLOYMENT: Kind = ("apps/v1", "Deployment");
    /// NetworkPolicy.
    pub const NETWORK_POLICY: Kind = ("networking.k8s.io/v1", "NetworkPolicy");
    /// Ingress.
    pub const INGRESS: Kind = ("networking.k8s.io/v1", "Ingress");
    /// Certificate of cert-manager.
    pub const CERTIFICATE: Kind = ("cert-manager.io/v1", "Certificate");
    /// Issuer of cert-manager.
    pub const ISSUER: Kind = ("cert-manager.io/v1", "Issuer");

    /// StatefulSet.
    pub const STATEFUL_SET: Kind = ("apps/v1", "StatefulSet");
    /// Job.
    pub const JOB: Kind = ("batch/v1", "Job");
    /// Redis with sentinels, of the operator of spotahome.
    pub const REDIS_FAILOVER: Kind = ("databases.spotahome.com/v1", "RedisFailover");
    /// PostgreSQL, of the operator of Zalando.
    pub const POSTGRESQL: Kind = ("acid.zalan.do/v1", "postgresql");
    /// MinIO, of its own operator.
    pub const TENANT: Kind = ("minio.min.io/v2", "Tenant");

    /// A kind of goharbor.io.
    #[must_use]
    pub const fn goharbor(kind: &'static str) -> Kind {
        ("goharbor.io/v1beta1", kind)
    }
}

/// A value that is made by chance, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Password {
    /// Characters.
    pub length: usize,
    /// Digits among them.
    pub digits: usize,
    /// Characters among them that are neither letters nor digits.
    pub specials: usize,
}

/// One key of a secret that is made once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Generated {
    /// Always this.
    Fixed(String),
    /// By chance.
    Password(Password),
    /// By chance, in quotes where YAML needs them.
    Yaml(Password),
    /// The value of another key, which stands before.
    Same(&'static str),
    /// A line of a password file for this user and the password of another key.
    Htpasswd {
        /// The account of the login.
        user: String,
        /// The key of the password.
        password: &'static str,
    },
}

/// One key of a secret, whose value stands in another secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The key.
    pub key: &'static str,
    /// The other secret.
    pub from: Id,
    /// The key there.
    pub from_key: &'static str,
}

/// The wish for a child.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// This object.
    Object(Value),
    /// This secret with these keys, unless it has them already.
    Secret(Value, Vec<(&'static str, Generated)>),
    /// This secret, whose keys hold values of secrets that it waits for.
    Copied(Value, Vec<Copied>),
    /// It belongs to others and only has to exist; the field that names it.
    Required(String),
    /// Another operator makes it; it has to exist and do its work.
    Awaited,
}

/// One child.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Which.
    pub id: Id,
    /// The wanted object.
    pub content: Content,
    /// The objects that have to be ready before.
    pub needs: Vec<Id>,
    /// Does the object say of which release it is?
    pub versioned: bool,
    /// Is it a file made from a template?
    pub template: bool,
    /// Whether others wait until it does its work, and not only until it is there.
    pub checked: bool,
    /// The condition of its owner that tells of it, beside those of all children.
    pub condition: Option<&'static str>,
    /// What to do where the cluster does not have its kind.
    pub remedy: Option<&'static str>,
}

impl Node {
    /// A child that waits for nothing.
    #[must_use]
    pub fn new(kind: kinds::Kind, name: impl Into<String>, mut object: Value) -> Self {
        let id = Id::new(kind, name);
        object["apiVersion"] = json!(id.api_version);
        object["kind"] = json!(id.kind);
        object["metadata"]["name"] = json!(id.name);
        Self::of(id, Content::Object(object))
    }

    /// An object of others, which has to exist.
    #[must_use]
    pub fn required(kind: kinds::Kind, name: impl Into<String>, field: impl Into<String>) -> Self {
        Self::of(Id::new(kind, name), Content::Required(field.into()))
    }

    /// A secret whose keys are made once.
    #[must_use]
    pub fn secret(name: impl Into<String>, object: Value, keys: Vec<(&'static str, Generated)>) -> Self {
        let mut node = Self::new(kinds::SECRET, name, object);
        if let Content::Object(object) = node.content {
            node.content = Content::Secret(object, keys);
        }
        node
    }

    /// A secret with values of others, for which it waits.
    #[must_use]
    pub fn copied(name: impl Into<String>, keys: Vec<Copied>) -> Self {
        let mut node = Self::new(kinds::SECRET, name, json!({}));
        node.needs = keys.iter().map(|key| key.from.clone()).collect();
        node.needs.dedup();
        if let Content::Object(object) = node.content {
            node.content = Content::Copied(object, keys);
        }
        node
    }

    /// An object that another operator makes.
    #[must_use]
    pub fn awaited(kind: kinds::Kind, name: impl Into<String>) -> Self {
        Self::of(Id::new(kind, name), Content::Awaited)
    }

    fn of(id: Id, content: Content) -> Self {
        Self {
            id,
            content,
            needs: Vec::new(),
            versioned: false,
            template: false,
            checked: true,
            condition: None,
            remedy: None,
        }
    }

    /// It waits for these.
    #[must_use]
    pub fn needs(mut self, needs: impl IntoIterator<Item = Id>) -> Self {
        self.needs.extend(needs);
        self
    }

    /// It says of which release it is.
    #[must_use]
    pub fn versioned(mut self) -> Self {
        self.versioned = true;
        self
    }

    /// It is a file made from a template.
    #[must_use]
    pub fn template(mut self) -> Self {
        self.template = true;
        self
    }

    /// No owner waits for its work: it has no status.
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        self.checked = false;
        self
    }

    /// This condition of its owner tells of it.
    #[must_use]
    pub fn told_by(mut self, condition: &'static str) -> Self {
        self.condition = Some(condition);
        self
    }

    /// What to do where the cluster does not have its kind.
    #[must_use]
    pub fn remedy(mut self, remedy: &'static str) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// The wanted object, where it is ours.
    #[must_use]
    pub fn object(&self) -> Option<&Value> {
        match &self.content {
            Content::Object(object) | Content::Secret(object, _) | Content::Copied(object, _) => Some(object),
            Content::Required(_) | Content::Awaited => None,
        }
    }
}
