//! Where rustc looks for the file of a module: beside its parent, in a folder of its own, or where `#[path = "…"]` says.
//! Names of files only; reads none.

use super::tokens::Token;

/// The folders in which the modules of one module are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folders {
    /// Where a `#[path]` begins.
    beside: String,
    /// Where modules without one are.
    below: String,
}

impl Folders {
    /// Those of a file that stands for its folder: the root of a crate, a `mod.rs`, or what a `#[path]` names.
    pub(super) fn of_owner(file: &str) -> Self {
        let folder = folder_of(file).to_owned();
        Self { beside: folder.clone(), below: folder }
    }

    /// The files that a module in a file of its own may have, and the folders of each.
    pub(super) fn files(&self, name: &str, path: Option<&str>) -> Vec<(String, Self)> {
        if let Some(path) = path {
            let file = from_folder(&self.beside, path);
            let folders = Self::of_owner(&file);
            return vec![(file, folders)];
        }
        let below = join(&self.below, name);
        let leaf = Self { beside: self.below.clone(), below: below.clone() };
        let owner = Self { beside: below.clone(), below: below.clone() };
        vec![(format!("{below}.rs"), leaf), (format!("{below}/mod.rs"), owner)]
    }

    /// Those of a module that is written inside; its `#[path]` names a folder.
    pub(super) fn of_inline(&self, name: &str, path: Option<&str>) -> Self {
        let folder = path.map_or_else(|| join(&self.below, name), |path| from_folder(&self.beside, path));
        Self { beside: folder.clone(), below: folder }
    }
}

/// What `#[path = "…"]` names, if the tokens begin with one.
pub(super) fn path_attribute(tokens: &[Token]) -> Option<&str> {
    match tokens {
        [
            Token::Mark('#'),
            Token::Open('['),
            path,
            Token::Mark('='),
            Token::Literal(text),
            Token::Close(']'),
            ..,
        ] if path.is("path") => text.split('"').nth(1),
        _ => None,
    }
}

/// The file that a path names where it begins beside this file.
pub(super) fn from_file(file: &str, path: &str) -> String {
    from_folder(folder_of(file), path)
}

fn folder_of(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn from_folder(folder: &str, path: &str) -> String {
    let mut way: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    for step in path.split(['/', '\\']) {
        match step {
            "" | "." => {}
            ".." => {
                way.pop();
            }
            step => way.push(step),
        }
    }
    way.join("/")
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folders: &Folders, name: &str, path: Option<&str>) -> Vec<String> {
        folders.files(name, path).into_iter().map(|(file, _)| file).collect()
    }

    #[test]
    fn modules_without_a_path_have_two_places() {
        let root = Folders::of_owner("cue/src/lib.rs");
        assert_eq!(names(&root, "a", None), ["cue/src/a.rs", "cue/src/a/mod.rs"]);
        let (_, leaf) = root.files("a", None).remove(0);
        assert_eq!(names(&leaf, "b", None), ["cue/src/a/b.rs", "cue/src/a/b/mod.rs"]);
    }

    #[test]
    fn a_path_begins_beside_the_file_that_names_it() {
        let root = Folders::of_owner("cue/src/lib.rs");
        for (_, folders) in root.files("a", None) {
            let expected = if folders == Folders::of_owner("cue/src/a/mod.rs") {
                "cue/src/a/x/y.rs"
            } else {
                "cue/src/x/y.rs"
            };
            assert_eq!(names(&folders, "z", Some("x/y.rs")), [expected]);
        }
        let far = names(&Folders::of_owner("xtask/src/fuzz/t.rs"), "t", Some("../../../cue/fuzz/t.rs"));
        assert_eq!(far, ["cue/fuzz/t.rs"]);
        let (_, named) = root.files("a", Some("x/y.rs")).remove(0);
        assert_eq!(names(&named, "z", None), ["cue/src/x/z.rs", "cue/src/x/z/mod.rs"]);
    }

    #[test]
    fn a_path_inside_an_inline_module_begins_in_its_folder() {
        let (_, leaf) = Folders::of_owner("cue/src/lib.rs").files("a", None).remove(0);
        let inline = leaf.of_inline("b", None);
        assert_eq!(names(&inline, "c", Some("d.rs")), ["cue/src/a/b/d.rs"]);
        let moved = leaf.of_inline("b", Some("e"));
        assert_eq!(names(&moved, "c", None), ["cue/src/e/c.rs", "cue/src/e/c/mod.rs"]);
    }

    #[test]
    fn the_attribute_is_read_in_any_form_of_text() {
        for text in
            ["#[path = \"a/b.rs\"] mod x;", "#[path = r\"a/b.rs\"] mod x;", "#[path = r#\"a/b.rs\"#] mod x;"]
        {
            let tokens = super::super::tokens::all(text).unwrap();
            assert_eq!(path_attribute(&tokens), Some("a/b.rs"), "{text}");
        }
        let tokens = super::super::tokens::all("#[cfg(unix)] mod x;").unwrap();
        assert_eq!(path_attribute(&tokens), None);
    }
}
