//! Checks that the pages which people read first stay short: lines, words, and the words of one entry.

use std::path::Path;

use crate::command;

/// The front page: a stranger reads it in two minutes.
const FRONT_PAGE: &str = "README.md";
const FRONT_PAGE_LINES: usize = 110;
const FRONT_PAGE_WORDS: usize = 700;
/// Characters of its longest line.
const FRONT_PAGE_COLUMNS: usize = 160;

/// The page of working features: a line of it is read at one glance.
const STATUS: &str = "docs/status.md";
const STATUS_WORDS: usize = 30;

/// Where vela differs on purpose, a page for each topic.
const DIFFERENCES: &str = "docs/differences";
/// Words of an entry: of what stands below its heading, or of a row in a table.
const DIFFERENCE_WORDS: usize = 80;

/// Limits of the pages at `root`.
pub(super) fn check(wrong: &mut Vec<String>) {
    check_at(&command::root(), wrong);
}

fn check_at(root: &Path, wrong: &mut Vec<String>) {
    for (name, rule) in [(FRONT_PAGE, front_page as fn(&str, &mut Vec<String>)), (STATUS, status)] {
        match std::fs::read_to_string(root.join(name)) {
            Ok(text) => rule(&text, wrong),
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    let entries = std::fs::read_dir(root.join(DIFFERENCES)).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    if names.is_empty() {
        wrong.push(format!("{DIFFERENCES}: has no page"));
    }
    for name in names {
        let name = format!("{DIFFERENCES}/{name}");
        match std::fs::read_to_string(root.join(&name)) {
            Ok(text) => difference(&name, &text, wrong),
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
}

fn front_page(text: &str, wrong: &mut Vec<String>) {
    let lines = text.lines().count();
    if lines > FRONT_PAGE_LINES {
        wrong.push(format!(
            "{FRONT_PAGE}: {lines} lines, at most {FRONT_PAGE_LINES}; move details to a page in docs/"
        ));
    }
    let words = words(text);
    if words > FRONT_PAGE_WORDS {
        wrong.push(format!(
            "{FRONT_PAGE}: {words} words, at most {FRONT_PAGE_WORDS}; move details to a page in docs/"
        ));
    }
    for (number, line) in text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > FRONT_PAGE_COLUMNS {
            wrong.push(format!(
                "{FRONT_PAGE}:{}: {columns} characters, at most {FRONT_PAGE_COLUMNS}; break the line",
                number + 1
            ));
        }
    }
}

fn status(text: &str, wrong: &mut Vec<String>) {
    for (number, line) in text.lines().enumerate() {
        let words = words(line);
        if words > STATUS_WORDS {
            wrong.push(format!(
                "{STATUS}:{}: {words} words, at most {STATUS_WORDS}; make two features of it",
                number + 1
            ));
        }
    }
}

fn difference(name: &str, text: &str, wrong: &mut Vec<String>) {
    let (mut line_of_entry, mut in_entry) = (1, 0);
    for (number, line) in text.lines().enumerate() {
        let starts_entry = line.starts_with('#') || line.starts_with('|');
        if starts_entry {
            (line_of_entry, in_entry) = (number + 1, 0);
        }
        if !line.starts_with('#') {
            let before = in_entry;
            in_entry += words(line);
            if before <= DIFFERENCE_WORDS && in_entry > DIFFERENCE_WORDS {
                wrong.push(format!(
                    "{name}:{line_of_entry}: an entry of more than {DIFFERENCE_WORDS} words; make two of it"
                ));
            }
        }
    }
}

/// As `wc -w` counts them, without the bars of tables.
fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| *word != "|").count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(rule: fn(&str, &mut Vec<String>), text: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        rule(text, &mut wrong);
        wrong
    }

    #[test]
    fn a_front_page_within_its_limits_passes() {
        let line = format!("{}\n", ["word"; 6].join(" "));
        assert_eq!(violations(front_page, &line.repeat(110)), Vec::<String>::new());
    }

    #[test]
    fn a_long_front_page_is_found() {
        let too_many_lines = violations(front_page, &"word\n".repeat(111));
        assert_eq!(too_many_lines, ["README.md: 111 lines, at most 110; move details to a page in docs/"]);
        let line = format!("{}\n", ["of"; 50].join(" "));
        let too_many_words = violations(front_page, &format!("{}| one |\n", line.repeat(14)));
        assert_eq!(too_many_words, ["README.md: 701 words, at most 700; move details to a page in docs/"]);
        let wide = violations(front_page, &format!("# vela\n{}\n", "ä".repeat(161)));
        assert_eq!(wide, ["README.md:2: 161 characters, at most 160; break the line"]);
    }

    #[test]
    fn a_long_line_of_the_status_is_found() {
        let row = |words: usize| format!("| {} | works |\n", vec!["word"; words].join(" "));
        let found = violations(status, &format!("# What works\n{}{}", row(29), row(30)));
        assert_eq!(found, ["docs/status.md:3: 31 words, at most 30; make two features of it"]);
    }

    #[test]
    fn a_long_entry_of_the_differences_is_found() {
        let found = |text: &str| {
            let mut wrong = Vec::new();
            difference("a.md", text, &mut wrong);
            wrong
        };
        let entry =
            |words: usize| format!("### Title\n\n{}\n{}\n", "word\n".repeat(40), "word ".repeat(words));
        let two = format!("{}{}", entry(40), entry(41));
        assert_eq!(found(&entry(40)), Vec::<String>::new());
        assert_eq!(found(&two), ["a.md:45: an entry of more than 80 words; make two of it"]);
        let rows = format!("| {} |\n", "word ".repeat(60)).repeat(2);
        assert_eq!(found(&rows), Vec::<String>::new());
    }

    #[test]
    fn a_missing_page_is_an_error() {
        let mut wrong = Vec::new();
        check_at(Path::new("nowhere"), &mut wrong);
        assert_eq!(wrong.len(), 3, "{wrong:?}");
    }
}
