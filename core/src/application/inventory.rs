//! An application's record of owned objects, as plain data.
//!
//! The record carries the content hash of the application and whether that content was completely applied. It only
//! ever forgets an object after the object is gone. Where it is kept, and in which shape: `tracker`, `records`.

use std::collections::BTreeMap;

use kube::api::DynamicObject;
use vela_engine::ObjectKey;
use vela_engine::application_configuration::{API_VERSION, KIND};
use vela_runtime::Key;

/// Identity of an owned object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Owned {
    /// "" for the cluster that the application is in.
    pub(crate) cluster: String,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) key: Key,
}

impl Owned {
    /// The identity written in an object, which does not say in which cluster it is: the local one.
    pub(crate) fn of(object: &DynamicObject) -> Self {
        let types = object.types.clone().unwrap_or_default();
        let key = Key::of(object);
        Self { cluster: String::new(), api_version: types.api_version, kind: types.kind, key }
    }

    /// The identity as the engine names it.
    pub(crate) fn object_key(&self) -> ObjectKey {
        let Key { namespace, name } = self.key.clone();
        let local = ObjectKey::local(self.api_version.clone(), self.kind.clone(), namespace, name);
        ObjectKey { cluster: self.cluster.clone(), ..local }
    }

    /// Why nothing can be done to it from here; an object of that name in the local cluster is another one.
    pub(crate) fn out_of_reach(&self) -> Option<String> {
        (!self.cluster.is_empty()).then(|| {
            format!(
                "{} is out of reach: this vela-core knows the local cluster only; delete it there, then take it out of the \
                 application's ResourceTracker",
                self.object_key()
            )
        })
    }

    /// Is it of the kinds that an application in the v1alpha2 form is stored as?
    pub(crate) fn is_stored_form(&self) -> bool {
        self.api_version == API_VERSION && (self.kind == KIND || self.kind == "Component")
    }
}

/// The record of one object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Entry {
    pub(crate) hash: Option<String>,
    pub(crate) uid: Option<String>,
    pub(crate) wave: Option<i32>,
    pub(crate) component: Option<String>,
    pub(crate) trait_type: Option<String>,
    /// The last complete set does not name it: it is to be deleted.
    pub(crate) unwanted: bool,
    /// It stays although a newer revision does not name it.
    pub(crate) retained: bool,
    /// Instead of being deleted it only stops being the application's.
    pub(crate) released: bool,
    /// A workflow step made it by a call: no set names it, and it goes with the application.
    pub(crate) by_step: bool,
    /// A policy of the application made it, and no component.
    pub(crate) by_policy: bool,
}

/// The creator of an object that a workflow step made by a call.
pub(super) const STEP: &str = "step";

/// The creator of an object of a policy, in the word of upstream.
pub(super) const POLICY: &str = "policy";

impl Entry {
    /// What made the object, as the record names it.
    pub(super) fn creator(&self) -> &'static str {
        match self {
            Self { by_step: true, .. } => STEP,
            Self { by_policy: true, .. } => POLICY,
            Self { .. } => "workflow",
        }
    }
}

/// Labels of a record beside name and namespace of the application; no decision depends on them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Marks {
    /// Uid of the application.
    pub(crate) uid: Option<String>,
    /// Name of its revision.
    pub(crate) revision: Option<String>,
}

/// The record of one application.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Record {
    pub(crate) identity: Option<String>,
    pub(crate) complete: bool,
    pub(crate) generation: Option<i64>,
    /// Which application it is of, for those who look at the record.
    pub(crate) marks: Marks,
    pub(crate) entries: BTreeMap<Owned, Entry>,
}
