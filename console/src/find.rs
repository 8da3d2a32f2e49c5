//! Finds the route that a path stands for, and the names in it.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::route::{ROUTES, Route};
use crate::routes_2021::ROUTES_2021;

/// The names in a path.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<&'static str, String>);

impl Names {
    /// The name at `{part}`; empty where the path has no such part.
    pub(crate) fn get(&self, part: &str) -> &str {
        self.0.get(part).map_or("", String::as_str)
    }
}

/// The route of a path. Names are DNS names, so nothing in a path needs decoding.
pub(crate) fn find(path: &str) -> Result<(&'static Route, Names), Error> {
    // Clients of early 2021 wrote lists with a `/` at the end.
    let old = path.strip_suffix('/').unwrap_or(path);
    let of_2021 = ROUTES_2021.iter().map(|route| (route, old));
    for (route, path) in ROUTES.iter().map(|route| (route, path)).chain(of_2021) {
        if let Some(names) = matched(route.path, path) {
            return match names.0.iter().find(|(_, name)| !is_name(name)) {
                None => Ok((route, names)),
                Some((part, name)) => {
                    let name: String = name.chars().take(100).collect();
                    Err(Error::NotFound(format!(
                        "{name:?} cannot be a {part}: names have a-z, 0-9, '-' and '.'"
                    )))
                }
            };
        }
    }
    Err(Error::NotFound("there is nothing at this path; see / and /api/openapi.json".to_owned()))
}

fn matched(template: &'static str, path: &str) -> Option<Names> {
    let mut names = Names::default();
    let mut parts = path.split('/');
    for wanted in template.split('/') {
        let part = parts.next()?;
        match wanted.strip_prefix('{').and_then(|wanted| wanted.strip_suffix('}')) {
            Some(name) => {
                names.0.insert(name, part.to_owned());
            }
            None if wanted == part => {}
            None => return None,
        }
    }
    parts.next().is_none().then_some(names)
}

/// Whether a text can be the name of an object: what cannot be one never reaches the API server.
pub(crate) fn is_name(text: &str) -> bool {
    const LONGEST: usize = 253;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    !text.is_empty()
        && text.len() <= LONGEST
        && text.chars().all(plain)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::{Endpoint, Of2021};

    #[test]
    fn paths_stand_for_endpoints() {
        let endpoint = |path| find(path).ok().map(|(route, _)| route.endpoint);
        assert_eq!(endpoint("/"), Some(Endpoint::OverviewPage));
        assert_eq!(endpoint("/api/v1/applications"), Some(Endpoint::Applications));
        for path in ["/api/envs", "/api/envs/"] {
            assert_eq!(endpoint(path), Some(Endpoint::Of2021(Of2021::Environments)), "{path}");
        }
        let (route, names) = find("/api/v1/namespaces/a/applications/b/tree").unwrap();
        assert_eq!((route.endpoint, names.get("namespace"), names.get("name")), (Endpoint::Tree, "a", "b"));
        for path in ["", "//", "/api", "/api/v1/applications/", "/assets/../enter", "/assets/console.css/x"] {
            assert_eq!(endpoint(path), None, "{path}");
        }
    }

    #[test]
    fn what_cannot_be_a_name_is_not_asked_for() {
        for name in vela_testkit::hostile::NAMES.into_iter().chain(["", "<script>", "A"]) {
            let found = find(&format!("/api/v1/namespaces/default/applications/{name}"));
            assert!(matches!(found, Err(Error::NotFound(_))), "{name:?}");
        }
    }
}
