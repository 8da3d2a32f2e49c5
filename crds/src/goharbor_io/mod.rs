//! goharbor.io: the kinds of the Harbor operator, as tables of their fields.
//!
//! The kinds have several hundred fields, of which many are the same in several kinds. A table
//! says each field once, with its type, its default and its limits; the CRDs are generated from it. `kinds/shared.txt` holds the groups
//! (`@tls`) that the tables name.
//!
//! | sign | meaning |
//! |---|---|
//! | `name*` | must be given |
//! | `name+` | must be given in v1beta1 |
//! | `beta` | only in v1beta1 |
//! | `[]`, `{}` | the items of a list, the values of a map |
//! | `@group` | the fields of a group: as the type of a field, or in the place of fields |

/// API group of every kind here.
pub const GROUP: &str = "goharbor.io";
/// The version that is stored.
pub const VERSION: &str = "v1beta1";
/// The version that is served, too; what it lacks is lost in it.
pub const OLDER_VERSION: &str = "v1alpha3";

/// Fields that several kinds have.
pub(crate) const SHARED: &str = include_str!("kinds/shared.txt");

/// One kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name.
    pub kind: &'static str,
    /// Its name in paths.
    pub plural: &'static str,
    /// The table of its spec.
    pub(crate) fields: &'static str,
    /// The table of its spec in the older version; nothing where that is the same table.
    pub(crate) older_fields: Option<&'static str>,
    /// The table of its status.
    pub(crate) status: &'static str,
    /// Is it served in the older version, too?
    pub(crate) has_older: bool,
    /// Do its objects have namespaces?
    pub(crate) is_namespaced: bool,
    /// A short name in commands.
    pub(crate) short: Option<&'static str>,
}

impl Kind {
    /// A part, or what is made of parts.
    const fn new(kind: &'static str, plural: &'static str, fields: &'static str) -> Self {
        Self {
            kind,
            plural,
            fields,
            older_fields: None,
            status: PART_STATUS,
            has_older: true,
            is_namespaced: true,
            short: None,
        }
    }

    /// What sets up a Harbor that runs.
    const fn setting(
        (kind, plural, short): (&'static str, &'static str, &'static str),
        fields: &'static str,
        status: &'static str,
    ) -> Self {
        Self { status, has_older: false, short: Some(short), ..Self::new(kind, plural, fields) }
    }

    /// The name of the kind in lower case, which is also the name of its controller.
    #[must_use]
    pub fn singular(&self) -> String {
        self.kind.to_lowercase()
    }
}

/// The status of a part.
const PART_STATUS: &str = include_str!("kinds/status.txt");

/// Every kind whose children are a graph, in the order of their names.
pub const KINDS: [Kind; 12] = [
    Kind::new("ChartMuseum", "chartmuseums", include_str!("kinds/chartmuseums.txt")),
    Kind::new("Core", "cores", include_str!("kinds/cores.txt")),
    Kind::new("Exporter", "exporters", include_str!("kinds/exporters.txt")),
    Kind { short: Some("h"), ..Kind::new("Harbor", "harbors", include_str!("kinds/harbors.txt")) },
    Kind {
        older_fields: Some(include_str!("kinds/harborclusters-v1alpha3.txt")),
        status: include_str!("kinds/harborclusters-status.txt"),
        ..Kind::new("HarborCluster", "harborclusters", include_str!("kinds/harborclusters.txt"))
    },
    Kind::new("JobService", "jobservices", include_str!("kinds/jobservices.txt")),
    Kind::new("NotaryServer", "notaryservers", include_str!("kinds/notaryservers.txt")),
    Kind::new("NotarySigner", "notarysigners", include_str!("kinds/notarysigners.txt")),
    Kind::new("Portal", "portals", include_str!("kinds/portals.txt")),
    Kind::new("Registry", "registries", include_str!("kinds/registries.txt")),
    Kind::new("RegistryController", "registrycontrollers", include_str!("kinds/registrycontrollers.txt")),
    Kind::new("Trivy", "trivies", include_str!("kinds/trivies.txt")),
];

/// Every kind that sets up a Harbor which runs; each is served in one version.
pub const SETTINGS: [Kind; 3] = [
    Kind::setting(
        ("HarborConfiguration", "harborconfigurations", "hc"),
        include_str!("kinds/harborconfigurations.txt"),
        include_str!("kinds/harborconfigurations-status.txt"),
    ),
    Kind {
        is_namespaced: false,
        ..Kind::setting(
            ("HarborServerConfiguration", "harborserverconfigurations", "hsc"),
            include_str!("kinds/harborserverconfigurations.txt"),
            include_str!("kinds/harborserverconfigurations-status.txt"),
        )
    },
    Kind::setting(
        ("PullSecretBinding", "pullsecretbindings", "psb"),
        include_str!("kinds/pullsecretbindings.txt"),
        include_str!("kinds/pullsecretbindings-status.txt"),
    ),
];
