//! Resolves a method and a path to the view that is asked for.

use http::Method;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The page.
    Page,
    /// Applications, of one namespace or of all.
    Applications {
        /// The namespace.
        namespace: Option<String>,
    },
    /// One application.
    Application {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Something that changes things.
    NotAllowed,
    /// Nothing known.
    NotFound,
}

impl Route {
    /// Reads method and path. Names are DNS names, so nothing in a path needs decoding.
    pub(crate) fn of(method: &Method, path: &str) -> Self {
        if method != Method::GET && method != Method::HEAD {
            return Self::NotAllowed;
        }
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match parts.as_slice() {
            [] => Self::Page,
            ["api", "applications"] => Self::Applications { namespace: None },
            ["api", "namespaces", namespace, "applications"] if is_name(namespace) => {
                Self::Applications { namespace: Some((*namespace).to_owned()) }
            }
            ["api", "namespaces", namespace, "applications", name] if is_name(namespace) && is_name(name) => {
                Self::Application { namespace: (*namespace).to_owned(), name: (*name).to_owned() }
            }
            _ => Self::NotFound,
        }
    }
}

/// Whether a text can be the name of an object: what cannot be one never reaches the API server.
fn is_name(text: &str) -> bool {
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

    #[test]
    fn paths() {
        let get = |path| Route::of(&Method::GET, path);
        assert_eq!(get("/"), Route::Page);
        assert_eq!(get("/api/applications"), Route::Applications { namespace: None });
        assert_eq!(
            get("/api/namespaces/a/applications/b"),
            Route::Application { namespace: "a".into(), name: "b".into() }
        );
        assert_eq!(get("/api/namespaces/%2e%2e/applications/b"), Route::NotFound);
        assert_eq!(get("/api/namespaces/../applications"), Route::NotFound);
        assert_eq!(Route::of(&Method::DELETE, "/api/applications"), Route::NotAllowed);
    }
}
