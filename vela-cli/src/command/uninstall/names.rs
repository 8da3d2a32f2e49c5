//! Names of many objects → one line.

/// Objects that are named one by one; of more only the number is told.
const NAMED_AT_MOST: usize = 20;

/// The first names, and how many more there are.
pub(super) fn named(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(NAMED_AT_MOST);
    let mut shown = names.take(NAMED_AT_MOST).collect::<Vec<_>>().join(", ");
    if more > 0 {
        shown.push_str(&format!(" and {more} more"));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_names_the_number_is_told() {
        let names: Vec<String> = (0..23).map(|number| format!("a{number}")).collect();
        let text = named(names.into_iter());
        assert!(text.starts_with("a0, a1, ") && text.ends_with("a19 and 3 more"), "{text}");
    }
}
