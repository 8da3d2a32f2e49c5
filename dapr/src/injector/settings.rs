//! What an installation decides for all its sidecars, and who may ask for one.

use serde_json::Value;
use tokio::sync::watch;

use super::words;

/// The service accounts of the controllers that make pods.
const CONTROLLERS: [(&str, &str); 10] = [
    ("kube-system", "replicaset-controller"),
    ("kube-system", "replication-controller"),
    ("kube-system", "deployment-controller"),
    ("kube-system", "cronjob-controller"),
    ("kube-system", "job-controller"),
    ("kube-system", "statefulset-controller"),
    ("kube-system", "daemon-set-controller"),
    ("openshift-operator-lifecycle-manager", "olm-operator-serviceaccount"),
    ("tekton-pipelines", "tekton-pipelines-controller"),
    ("mirrord", "mirrord-operator"),
];
const ADMINISTRATORS: &str = "system:masters";
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
/// Entries of a list of service accounts.
const ACCOUNTS_AT_MOST: usize = 1000;

/// What holds for every sidecar unless its pod says otherwise.
#[derive(Clone, Debug)]
pub struct SidecarSettings {
    /// Namespace of Dapr's control plane.
    pub namespace: String,
    /// Domain of the cluster's Services.
    pub cluster_domain: String,
    /// Trust domain of the control plane.
    pub trust_domain: String,
    /// Who signs the certificates of the control plane, in PEM; it may change at any time.
    pub trust_anchors: watch::Receiver<String>,
    /// Image of sidecars.
    pub image: String,
    /// `Always`, `IfNotPresent` or `Never`.
    pub image_pull_policy: String,
    /// What a sidecar may do on its node.
    pub confinement: Confinement,
    /// Whether a sidecar is told the address of its pod.
    pub pod_ip: bool,
    /// Whether sidecars are init containers that go on running.
    pub native: bool,
    /// Whether sidecars use the scheduler.
    pub scheduler: bool,
    /// Who places actors; `placement` is Dapr's own service.
    pub actors: Option<PeerService>,
    /// Who keeps reminders, where Dapr does not.
    pub reminders: Option<PeerService>,
    /// Pods with one of these tolerations run on nodes that ignore the entrypoint of an image.
    pub ignore_entrypoint_tolerations: Vec<Value>,
    /// Who may ask for sidecars.
    pub accounts: AllowedAccounts,
}

/// The security context of sidecars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// Not as root.
    pub non_root: bool,
    /// As this user.
    pub user: Option<i64>,
    /// As this group.
    pub group: Option<i64>,
    /// Without writing to the image's files.
    pub read_only_root: bool,
    /// Without any capability.
    pub drop_capabilities: bool,
}

/// A service of the control plane that sidecars are led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerService {
    /// Its kind.
    pub name: String,
    /// Its Service and port: `name:port`, in the namespace of the control plane.
    pub address: String,
}

impl PeerService {
    /// What sidecars use to place actors, if nothing else is said.
    #[must_use]
    pub fn placement() -> Self {
        Self { name: "placement".to_owned(), address: "dapr-placement-server:50005".to_owned() }
    }

    pub(super) fn is_placement(&self) -> bool {
        self.name == "placement"
    }
}

impl SidecarSettings {
    /// What Dapr's chart installs.
    #[must_use]
    pub fn new(namespace: &str, image: &str, trust_anchors: watch::Receiver<String>) -> Self {
        Self {
            namespace: namespace.to_owned(),
            cluster_domain: "cluster.local".to_owned(),
            trust_domain: "cluster.local".to_owned(),
            trust_anchors,
            image: image.to_owned(),
            image_pull_policy: "IfNotPresent".to_owned(),
            confinement: Confinement {
                non_root: true,
                user: None,
                group: None,
                read_only_root: true,
                drop_capabilities: false,
            },
            pod_ip: false,
            native: false,
            scheduler: true,
            actors: Some(PeerService::placement()),
            reminders: None,
            ignore_entrypoint_tolerations: Vec::new(),
            accounts: AllowedAccounts::default(),
        }
    }

    /// The full address of `service:port` in the namespace of the control plane.
    pub(super) fn address(&self, address: &str) -> String {
        let (service, port) = address.split_once(':').unwrap_or((address, "443"));
        format!("{service}.{}.svc.{}:{port}", self.namespace, self.cluster_domain)
    }
}

/// Who may ask for sidecars beside the cluster's own controllers: patterns of namespaces and names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedAccounts(Vec<[Vec<char>; 2]>);

/// A list of service accounts cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccountsError {
    /// Not one colon.
    #[error("{0:?} is no service account; expected NAMESPACE:NAME, where both may have *, ? and [a-z]")]
    Entry(String),
    /// Longer than any real list.
    #[error("there are more than {ACCOUNTS_AT_MOST} service accounts; use patterns such as team-*:deployer")]
    TooMany,
}

impl AllowedAccounts {
    /// Reads `namespace:name,namespace:name`.
    ///
    /// # Errors
    /// An entry has no colon, or more than one, or there are too many.
    pub fn read(text: &str) -> Result<Self, AccountsError> {
        let mut accounts = Vec::new();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            if accounts.len() == ACCOUNTS_AT_MOST {
                return Err(AccountsError::TooMany);
            }
            match entry.split(':').map(str::trim).collect::<Vec<_>>()[..] {
                [namespace, name] if !namespace.is_empty() && !name.is_empty() => {
                    accounts.push([namespace, name].map(|part| part.chars().collect()));
                }
                _ => return Err(AccountsError::Entry(entry.to_owned())),
            }
        }
        Ok(Self(accounts))
    }

    /// Whether the user of a request may ask for a sidecar.
    pub(super) fn permit(&self, user: &Value) -> bool {
        let groups = user["groups"].as_array();
        if groups.is_some_and(|groups| groups.iter().any(|group| group == ADMINISTRATORS)) {
            return true;
        }
        let name = user["username"].as_str().and_then(|name| name.strip_prefix(SERVICE_ACCOUNT));
        let Some((namespace, name)) = name.and_then(|name| name.split_once(':')) else { return false };
        if CONTROLLERS.contains(&(namespace, name)) {
            return true;
        }
        let [namespace, name] = [namespace, name].map(|part| part.chars().collect::<Vec<_>>());
        self.0.iter().any(|[space, account]| words::fits(space, &namespace) && words::fits(account, &name))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn controllers_administrators_and_listed_accounts_ask() {
        let accounts = AllowedAccounts::read("ops-*:deployer, ci:*").unwrap();
        let user = |name: &str| json!({"username": name});
        for good in ["kube-system:job-controller", "ops-eu:deployer", "ci:a"] {
            assert!(accounts.permit(&user(&format!("system:serviceaccount:{good}"))), "{good}");
        }
        assert!(accounts.permit(&json!({"username": "jane", "groups": ["system:masters"]})));
        for bad in ["jane", "system:serviceaccount:ops:deployer", "system:serviceaccount:ci", "ci:a"] {
            assert!(!accounts.permit(&user(bad)), "{bad}");
        }
        assert!(!AllowedAccounts::default().permit(&user("system:serviceaccount:ci:a")));
    }

    #[test]
    fn an_entry_has_one_colon() {
        for bad in ["a", "a:b:c", "a:", ":b"] {
            assert_eq!(AllowedAccounts::read(bad), Err(AccountsError::Entry(bad.to_owned())));
        }
        assert_eq!(AllowedAccounts::read(" , "), Ok(AllowedAccounts::default()));
        assert_eq!(AllowedAccounts::read(&"a:b,".repeat(1001)), Err(AccountsError::TooMany));
    }
}
