//! One layout of modules: a module with children is `x/mod.rs`, never `x.rs` beside a folder `x`.

use super::code::Source;

/// The rule for all files; `known` are those that broke it before.
pub(super) fn check(sources: &[Source], known: &[String], wrong: &mut Vec<String>) {
    let beside: Vec<&str> =
        sources.iter().map(|s| s.name.as_str()).filter(|name| has_a_folder(name, sources)).collect();
    for name in &beside {
        if !known.iter().any(|k| k == name) {
            let folder = name.trim_end_matches(".rs");
            wrong.push(format!(
                "{name}: a module with children is a folder with `mod.rs`; move it to {folder}/mod.rs"
            ));
        }
    }
    for name in known.iter().filter(|name| !beside.contains(&name.as_str())) {
        wrong.push(format!("xtask/tidy.toml: {name} stands beside no folder any more; take it off the list"));
    }
}

fn has_a_folder(name: &str, sources: &[Source]) -> bool {
    let Some(stem) = name.strip_suffix(".rs") else { return false };
    let Some((directory, last)) = stem.rsplit_once('/') else { return false };
    let begins_a_crate =
        ["/tests", "/benches", "/src/bin", "/examples"].iter().any(|end| directory.ends_with(end));
    let folder = format!("{stem}/");
    !begins_a_crate && last != "mod" && sources.iter().any(|source| source.name.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_with_children_is_a_folder() {
        let names = [
            "cue/src/a.rs",
            "cue/src/a/b.rs",
            "cue/src/c/mod.rs",
            "cue/src/c/d.rs",
            "cue/tests/a.rs",
            "cue/tests/a/b.rs",
        ];
        let sources = names.map(|name| Source { name: name.to_owned(), text: String::new() });
        let mut wrong = Vec::new();
        check(&sources, &[], &mut wrong);
        assert_eq!(
            wrong,
            ["cue/src/a.rs: a module with children is a folder with `mod.rs`; move it to cue/src/a/mod.rs"]
        );
        wrong.clear();
        check(&sources, &["cue/src/a.rs".to_owned(), "cue/src/c.rs".to_owned()], &mut wrong);
        assert_eq!(
            wrong,
            ["xtask/tidy.toml: cue/src/c.rs stands beside no folder any more; take it off the list"]
        );
    }
}
