//! A name that a user typed and the names that exist → the existing name most likely meant.

/// Names longer than this are not compared: the distance costs the product of both lengths.
const LENGTH_LIMIT: usize = 128;

/// The known name nearest to `typed`, if one is near enough to be worth suggesting.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (typed.chars().count() / 3).max(1);
    known
        .into_iter()
        .filter(|name| name.len() <= LENGTH_LIMIT && typed.len() <= LENGTH_LIMIT)
        .map(|name| (strsim::osa_distance(&typed.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= limit || (typed.len() >= 3 && name.starts_with(typed)))
        .min()
        .map(|(_, name)| name)
}

/// “did you mean …?”, or nothing.
pub fn did_you_mean<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(typed, known).map(|name| format!("did you mean {name:?}?"))
}

/// Advice for an unknown name: the nearest one, or the list of those that exist.
pub fn advice<'a>(
    typed: &str,
    what: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<String> {
    const LISTED: usize = 20;
    did_you_mean(typed, known.clone()).or_else(|| {
        let names: Vec<_> = known.into_iter().collect();
        match names.len() {
            0 => None,
            count if count <= LISTED => Some(format!("known {what}: {}", names.join(", "))),
            count => Some(format!("known {what}: {}, … ({count} in all)", names[..LISTED].join(", "))),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_of_the_finger_is_found() {
        let known = ["webservice", "worker", "task"];
        assert_eq!(nearest("webservise", known), Some("webservice"));
        assert_eq!(nearest("wroker", known), Some("worker"));
        assert_eq!(nearest("database", known), None);
    }
}
