//! Policy `shared-resource`: which applications share an object, as its annotation lists them.

/// Its type, as applications name it.
pub(super) const TYPE: &str = "shared-resource";

/// A list of sharers after the removal of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remaining {
    /// It was not among them.
    Unchanged,
    /// No other application shares the object.
    Unshared,
    /// The others: their list, and namespace and name of the first.
    Others {
        /// The annotation without it.
        sharers: String,
        /// Namespace of the first of them.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// The list with one sharer more; nothing where it is among them.
pub fn with_sharer(sharers: &str, application: &str) -> Option<String> {
    let mut all: Vec<&str> = list(sharers).collect();
    if all.contains(&application) {
        return None;
    }
    all.push(application);
    Some(all.join(","))
}

/// The list without one sharer.
pub fn without_sharer(sharers: &str, application: &str) -> Remaining {
    let others: Vec<&str> = list(sharers).filter(|sharer| *sharer != application).collect();
    if others.len() == list(sharers).count() {
        return Remaining::Unchanged;
    }
    // A sharer that names no application cannot take the object over.
    match others.iter().find_map(|first| first.split_once('/')) {
        None => Remaining::Unshared,
        Some((namespace, name)) => Remaining::Others {
            sharers: others.join(","),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        },
    }
}

fn list(sharers: &str) -> impl Iterator<Item = &str> {
    sharers.split(',').map(str::trim).filter(|sharer| !sharer.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sharers_join_once_and_leave_in_order() {
        assert_eq!(with_sharer("", "a/x").as_deref(), Some("a/x"));
        assert_eq!(with_sharer("a/x", "b/y").as_deref(), Some("a/x,b/y"));
        assert_eq!(with_sharer("a/x, b/y", "b/y"), None);
        let others =
            Remaining::Others { sharers: "b/y".to_owned(), namespace: "b".to_owned(), name: "y".to_owned() };
        assert_eq!(without_sharer("a/x,b/y", "a/x"), others);
        assert_eq!(without_sharer("a/x", "a/x"), Remaining::Unshared);
        assert_eq!(without_sharer("b/y", "a/x"), Remaining::Unchanged);
        assert_eq!(without_sharer("", "a/x"), Remaining::Unchanged);
        assert_eq!(without_sharer("a/x,other", "a/x"), Remaining::Unshared, "it names no application");
    }
}
