//! Reads and writes the `-- name --` format, which keeps the named files of a small test program in one text.

/// A comment and the files that follow it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Archive {
    /// Text before the first file.
    pub comment: String,
    /// The files in the order they stand.
    pub files: Vec<ArchiveFile>,
}

/// One file of an [`Archive`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveFile {
    /// Name between the dashes.
    pub name: String,
    /// Text up to the next marker, with its final newline.
    pub text: String,
}

impl Archive {
    /// Splits `text` at its `-- name --` lines. Every text is an archive, perhaps one without files.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut archive = Self::default();
        for line in text.split_inclusive('\n') {
            let marker = line
                .trim_end()
                .strip_prefix("-- ")
                .and_then(|rest| rest.strip_suffix(" --"))
                .map(str::trim)
                .filter(|name| !name.is_empty());
            match (marker, archive.files.last_mut()) {
                (Some(name), _) => {
                    archive.files.push(ArchiveFile { name: name.to_owned(), text: String::new() });
                }
                (None, Some(file)) => file.text.push_str(line),
                (None, None) => archive.comment.push_str(line),
            }
        }
        archive
    }

    /// The text of the file called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.files.iter().find(|f| f.name == name).map(|f| f.text.as_str())
    }

    /// Replaces (or appends) the file called `name`.
    pub fn set(&mut self, name: &str, text: impl Into<String>) {
        let text = text.into();
        match self.files.iter_mut().find(|f| f.name == name) {
            Some(file) => file.text = text,
            None => self.files.push(ArchiveFile { name: name.to_owned(), text }),
        }
    }
}

impl std::fmt::Display for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.comment)?;
        for file in &self.files {
            writeln!(f, "-- {} --", file.name)?;
            f.write_str(&file.text)?;
            if !file.text.is_empty() && !file.text.ends_with('\n') {
                f.write_str("\n")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_survives_reading_and_writing() {
        let text = "why\n-- in.cue --\na: 1\n-- out.json --\n{\"a\": 1}\n";
        let archive = Archive::parse(text);
        assert_eq!(archive.comment, "why\n");
        assert_eq!(archive.get("in.cue"), Some("a: 1\n"));
        assert_eq!(archive.to_string(), text);
    }

    #[test]
    fn dashes_inside_a_line_are_text() {
        let archive = Archive::parse("-- a --\nx -- y --\n-- --\n");
        assert_eq!(archive.files.len(), 1);
        assert_eq!(archive.get("a"), Some("x -- y --\n-- --\n"));
    }
}
