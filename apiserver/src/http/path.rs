//! A request's path in, what it names out.

/// Longest path that is looked at: no name is longer than 253 characters and no path has more than nine parts.
const PATH_MAX_BYTES: usize = 4096;

/// The resource that a path names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// `/version`, `/healthz`, `/openapi/v3`, … and everything unknown.
    Other(String),
    /// `/api`.
    LegacyVersions,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/v1` and `/apis/GROUP/VERSION`.
    Version { group: String, version: String },
    /// A resource, an object of it, or a subresource.
    Resource(Place),
}

/// A resource's collection, one object or a subresource of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
}

impl Target {
    pub(crate) fn parse(path: &str) -> Self {
        let other = || Self::Other(path.to_owned());
        if path.len() > PATH_MAX_BYTES {
            return other();
        }
        let decoded: Option<Vec<String>> =
            path.split('/').filter(|s| !s.is_empty()).map(super::query::decode).collect();
        let Some(parts) = decoded else { return other() };
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match parts.as_slice() {
            ["api"] => Self::LegacyVersions,
            ["apis"] => Self::Groups,
            ["apis", group] => Self::Group((*group).to_owned()),
            ["api", version] => Self::Version { group: String::new(), version: (*version).to_owned() },
            ["apis", group, version] => {
                Self::Version { group: (*group).to_owned(), version: (*version).to_owned() }
            }
            ["api", version, rest @ ..] => Self::place("", version, rest).unwrap_or_else(other),
            ["apis", group, version, rest @ ..] => Self::place(group, version, rest).unwrap_or_else(other),
            _ => other(),
        }
    }

    fn place(group: &str, version: &str, rest: &[&str]) -> Option<Self> {
        let mut place = Place { group: group.into(), version: version.into(), ..Place::default() };
        let (namespace, rest) = match rest {
            // Namespaces are objects themselves, and their subresources look like resources in them.
            ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => (None, rest),
            ["namespaces", namespace, rest @ ..] => (Some((*namespace).to_owned()), rest),
            _ => (None, rest),
        };
        place.namespace = namespace;
        let (plural, name, subresource) = match rest {
            [plural] => (plural, None, None),
            [plural, name] => (plural, Some(name), None),
            [plural, name, subresource] => (plural, Some(name), Some(subresource)),
            _ => return None,
        };
        place.plural = (*plural).to_owned();
        place.name = name.map(|s| (*s).to_owned());
        place.subresource = subresource.map(|s| (*s).to_owned());
        Some(Self::Resource(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> Place {
        match Target::parse(path) {
            Target::Resource(place) => place,
            other => panic!("{path} names {other:?}"),
        }
    }

    #[test]
    fn namespaces_are_objects_and_places() {
        assert_eq!(place("/api/v1/namespaces/x").name.as_deref(), Some("x"));
        assert_eq!(place("/api/v1/namespaces/x/status").subresource.as_deref(), Some("status"));
        let pods = place("/api/v1/namespaces/x/pods");
        assert_eq!((pods.namespace.as_deref(), pods.plural.as_str(), pods.name), (Some("x"), "pods", None));
    }

    #[test]
    fn groups_and_subresources() {
        let scale = place("/apis/apps/v1/namespaces/x/deployments/a%2eb/scale");
        assert_eq!((scale.group.as_str(), scale.name.as_deref()), ("apps", Some("a.b")));
        assert_eq!(scale.subresource.as_deref(), Some("scale"));
        assert_eq!(Target::parse("/apis/apps"), Target::Group("apps".into()));
        assert_eq!(Target::parse("/healthz"), Target::Other("/healthz".into()));
        assert_eq!(Target::parse("/api/v1/a/b/c/d"), Target::Other("/api/v1/a/b/c/d".into()));
    }
}
