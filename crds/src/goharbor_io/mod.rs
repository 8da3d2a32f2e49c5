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
}

impl Kind {
    /// The name of the kind in lower case, which is also the name of its controller.
    #[must_use]
    pub fn singular(&self) -> String {
        self.kind.to_lowercase()
    }
}

/// Every kind, in the order of their names.
pub const KINDS: [Kind; 11] = [
    Kind { kind: "ChartMuseum", plural: "chartmuseums", fields: include_str!("kinds/chartmuseums.txt") },
    Kind { kind: "Core", plural: "cores", fields: include_str!("kinds/cores.txt") },
    Kind { kind: "Exporter", plural: "exporters", fields: include_str!("kinds/exporters.txt") },
    Kind { kind: "Harbor", plural: "harbors", fields: include_str!("kinds/harbors.txt") },
    Kind { kind: "JobService", plural: "jobservices", fields: include_str!("kinds/jobservices.txt") },
    Kind { kind: "NotaryServer", plural: "notaryservers", fields: include_str!("kinds/notaryservers.txt") },
    Kind { kind: "NotarySigner", plural: "notarysigners", fields: include_str!("kinds/notarysigners.txt") },
    Kind { kind: "Portal", plural: "portals", fields: include_str!("kinds/portals.txt") },
    Kind { kind: "Registry", plural: "registries", fields: include_str!("kinds/registries.txt") },
    Kind {
        kind: "RegistryController",
        plural: "registrycontrollers",
        fields: include_str!("kinds/registrycontrollers.txt"),
    },
    Kind { kind: "Trivy", plural: "trivies", fields: include_str!("kinds/trivies.txt") },
];
