//! Draws `docs/pictures/*.svg` from what `vela` prints in a terminal, or keeps what it draws itself, and proves the committed pictures current.
//!
//! ```text
//! command ─printed─▶ text with colours ─lines─▶ spans ─steady─▶ spans without times ─svg─▶ picture
//! ```

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::command;

/// Where the pictures are.
const FOLDER: &str = "docs/pictures";

/// The pictures in the order in which their commands run, all in one sandbox: a file, and the words behind `vela`.
const PICTURES: [(&str, &[&str]); 2] =
    [("up.svg", &["up", "-f", "examples/first-app.yaml"]), ("status.svg", &["status", "first-app"])];

/// What commands draw themselves, after those; `docs/console.md` shows it.
const DRAWN: [(&str, &[&str]); 1] = [("graph.svg", &["status", "first-app", "--graph", "svg"])];

/// More output than this is no picture.
const BYTES: u64 = 64 * 1024;
/// Lines and columns of a picture that fits a page.
const MOST_LINES: usize = 40;
const MOST_COLUMNS: usize = 100;

/// Pixels: the letters, and the distances from one to the next and from the edge.
const FONT: usize = 15;
const COLUMN: usize = 9;
const LINE: usize = 21;
const EDGE: usize = 18;

/// The words of `cargo xtask pictures`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only compares the committed pictures with what `vela` prints now
    #[arg(long)]
    check: bool,
}

/// Draws every picture, or compares it with the committed one.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    command::build(&["--package", "vela-cli", "--bin", "vela"])?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| command::root().join("target"), PathBuf::from);
    let vela = target.join("debug").join(format!("vela{}", std::env::consts::EXE_SUFFIX));
    let home = Home::new()?;
    let folder = command::root().join(FOLDER);
    let mut outdated = Vec::new();
    let all = PICTURES.map(|(file, words)| (file, words, false)).into_iter();
    for (file, words, is_drawn) in all.chain(DRAWN.map(|(file, words)| (file, words, true))) {
        let printed = printed(&vela, &home.0, words)?;
        let picture = if is_drawn { printed } else { picture(words, &printed, &home.0)? };
        let path = folder.join(file);
        if !options.check {
            std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
            std::fs::write(&path, picture).map_err(|e| format!("{}: {e}", path.display()))?;
            println!("{FOLDER}/{file}: drawn");
        } else if std::fs::read_to_string(&path).ok().as_deref() != Some(picture.as_str()) {
            outdated.push(format!("{FOLDER}/{file}"));
        }
    }
    match outdated.is_empty() {
        true if options.check => println!("pictures: {} are current", PICTURES.len() + DRAWN.len()),
        true => {}
        false => {
            return Err(format!(
                "not what `vela` prints now: {}; run `cargo xtask pictures` and look at the result",
                outdated.join(", ")
            ));
        }
    }
    Ok(())
}

/// A folder for the sandbox, removed at the end.
struct Home(PathBuf);

impl Home {
    fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("vela-pictures-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // What cannot be removed from the folder for temporary files is left to the system.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What the command prints, results and messages in the order in which a terminal would show them.
fn printed(vela: &Path, home: &Path, words: &[&str]) -> Result<String, String> {
    let failed = |why: &dyn std::fmt::Display| format!("`vela {}` failed: {why}", words.join(" "));
    let (reader, writer) = std::io::pipe().map_err(|e| failed(&e))?;
    let errors = writer.try_clone().map_err(|e| failed(&e))?;
    let mut command = Command::new(vela);
    // A person without a cluster need not write `--sandbox`; here a cluster may be configured.
    command
        .arg("--sandbox")
        .args(words)
        .current_dir(command::root())
        .env("HOME", home)
        .env("VELA_HOME", home)
        .env("CLICOLOR_FORCE", "1")
        .env_remove("NO_COLOR")
        .env_remove("KUBECONFIG")
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(errors);
    let mut child = command.spawn().map_err(|e| failed(&e))?;
    // It holds the ends of the pipe that are ours; the output ends when the program has closed its own.
    drop(command);
    let mut text = String::new();
    let read = reader.take(BYTES).read_to_string(&mut text);
    let status = child.wait().map_err(|e| failed(&e))?;
    read.map_err(|e| failed(&e))?;
    match status.success() {
        true => Ok(text),
        false => Err(failed(&format!("{status}\n{text}"))),
    }
}

/// How text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Look {
    bold: bool,
    dim: bool,
    /// The class of its colour.
    colour: Option<&'static str>,
}

/// Text of one look.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    look: Look,
    text: String,
}

/// The command and its output as an SVG.
fn picture(words: &[&str], printed: &str, home: &Path) -> Result<String, String> {
    let title = format!("vela {}", words.join(" "));
    let prompt = Span { look: Look { dim: true, ..Look::default() }, text: "$ ".to_owned() };
    let typed = Span { look: Look { bold: true, ..Look::default() }, text: title.clone() };
    let mut all = vec![vec![prompt, typed]];
    for mut line in lines(printed)? {
        // A terminal shows such a line only until the next one replaces it.
        let is_progress =
            line.iter().find(|span| !span.text.is_empty()).is_some_and(|s| s.text.starts_with('…'));
        if !is_progress {
            line.iter_mut().for_each(|span| span.text = steady(&span.text, home));
            all.push(line);
        }
    }
    svg(&title, &all)
}

/// Lines of text with the colours of a terminal. An unknown sequence is an error, so that no look is lost silently.
fn lines(text: &str) -> Result<Vec<Vec<Span>>, String> {
    let mut look = Look::default();
    let mut all = Vec::new();
    for line in text.lines() {
        let mut spans = Vec::new();
        let mut parts = line.split('\u{1b}');
        let mut push = |look: Look, text: &str| {
            if !text.is_empty() {
                spans.push(Span { look, text: text.to_owned() });
            }
        };
        push(look, parts.next().unwrap_or_default());
        for part in parts {
            let sequence = part.strip_prefix('[').and_then(|rest| rest.split_once('m'));
            let unknown = || format!("pictures do not know this sequence of a terminal: ESC{part:?}");
            let (codes, rest) = sequence.ok_or_else(unknown)?;
            for code in codes.split(';') {
                look = looks(look, code).ok_or_else(unknown)?;
            }
            push(look, rest);
        }
        all.push(spans);
    }
    Ok(all)
}

/// The look after a code of a terminal (SGR).
fn looks(before: Look, code: &str) -> Option<Look> {
    Some(match code {
        "" | "0" => Look::default(),
        "1" => Look { bold: true, ..before },
        "2" => Look { dim: true, ..before },
        "22" => Look { bold: false, dim: false, ..before },
        "31" => Look { colour: Some("red"), ..before },
        "32" => Look { colour: Some("green"), ..before },
        "33" => Look { colour: Some("yellow"), ..before },
        "39" => Look { colour: None, ..before },
        _ => return None,
    })
}

/// The text with one time, age, port and folder for all, so that equal output gives an equal picture.
fn steady(text: &str, home: &Path) -> String {
    let text = text.replace(&*home.to_string_lossy(), "~");
    let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-' | '.');
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let end = rest.find(|c: char| !in_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        match word.rsplit_once(':') {
            _ if is_time(word) => out.push_str("2026-01-01T12:00:00Z"),
            _ if is_age(word) => out.push_str("1s"),
            Some((host @ ("127.0.0.1" | "localhost"), port)) if is_number(port) => {
                out.push_str(host);
                out.push_str(":8443");
            }
            _ => out.push_str(word),
        }
        let next = after.find(in_word).unwrap_or(after.len());
        let (between, after) = after.split_at(next);
        out.push_str(between);
        rest = after;
    }
    out
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// `2026-11-27T03:35:01Z`
fn is_time(word: &str) -> bool {
    let form = "dddd-dd-ddTdd:dd:ddZ";
    let fits = |(c, form): (char, char)| if form == 'd' { c.is_ascii_digit() } else { c == form };
    word.len() == form.len() && word.chars().zip(form.chars()).all(fits)
}

/// `12s`, `3m12s`, `450ms`
fn is_age(word: &str) -> bool {
    let mut rest = word;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = rest.split_at(digits);
        let after = ["ms", "s", "m", "h", "d"].iter().find_map(|known| unit.strip_prefix(known));
        match after {
            Some(after) if is_number(number) => rest = after,
            _ => return false,
        }
    }
    !word.is_empty()
}

fn svg(title: &str, lines: &[Vec<Span>]) -> Result<String, String> {
    let length = |line: &Vec<Span>| line.iter().map(|span| span.text.chars().count()).sum::<usize>();
    let columns = lines.iter().map(length).max().unwrap_or_default();
    if lines.len() > MOST_LINES || columns > MOST_COLUMNS {
        return Err(format!(
            "`{title}` prints {} lines of up to {columns} columns; a picture has at most {MOST_LINES} and {MOST_COLUMNS}",
            lines.len()
        ));
    }
    let (width, height) = (columns * COLUMN + 2 * EDGE, lines.len() * LINE + 2 * EDGE);
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <!-- Made by `cargo xtask pictures`. -->\n\
         <title>{}</title>\n\
         <style>\n\
         text {{ font: {FONT}px ui-monospace, Menlo, Consolas, \"DejaVu Sans Mono\", monospace; fill: #e6edf3; \
         white-space: pre; }}\n\
         .bold {{ font-weight: bold; }} .dim {{ fill-opacity: 0.6; }}\n\
         .red {{ fill: #ff7b72; }} .green {{ fill: #3fb950; }} .yellow {{ fill: #d29922; }}\n\
         </style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#161b22\"/>\n",
        escaped(title)
    );
    for (row, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let _ = write!(out, "<text y=\"{}\" xml:space=\"preserve\">", EDGE + row * LINE + FONT);
        let mut column = 0;
        for span in line {
            let Look { bold, dim, colour } = span.look;
            let classes = [bold.then_some("bold"), dim.then_some("dim"), colour];
            let classes: Vec<&str> = classes.into_iter().flatten().collect();
            let class = match classes.is_empty() {
                true => String::new(),
                false => format!(" class=\"{}\"", classes.join(" ")),
            };
            // Each span says where it begins, so that columns stay in line in any font.
            let x = EDGE + column * COLUMN;
            let _ = write!(out, "<tspan x=\"{x}\"{class}>{}</tspan>", escaped(&span.text));
            column += span.text.chars().count();
        }
        out.push_str("</text>\n");
    }
    out.push_str("</svg>\n");
    Ok(out)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: &str = "\u{1b}[33m…\u{1b}[0m web: waiting\n\u{1b}[32m✓\u{1b}[0m web: <running>\n";

    #[test]
    fn colours_become_classes_and_progress_is_left_out() {
        let svg = picture(&["up"], UP, Path::new("/home/a")).unwrap();
        assert!(svg.contains("<tspan x=\"36\" class=\"bold\">vela up</tspan>"), "{svg}");
        assert!(
            svg.contains(
                "<text y=\"54\" xml:space=\"preserve\"><tspan x=\"18\" class=\"green\">✓</tspan>\
                 <tspan x=\"27\"> web: &lt;running&gt;</tspan></text>"
            ),
            "{svg}"
        );
        assert!(!svg.contains("waiting"), "{svg}");
    }

    #[test]
    fn an_unknown_sequence_is_an_error() {
        for text in ["\u{1b}[35mviolet", "\u{1b}[2K", "\u{1b}]0;title"] {
            let error = lines(text).unwrap_err();
            assert!(error.starts_with("pictures do not know this sequence"), "{error}");
        }
    }

    #[test]
    fn times_ages_ports_and_folders_are_the_same_in_every_run() {
        let text =
            "made 2026-11-27T03:35:01Z (3m12s, 450ms ago) on https://127.0.0.1:40123 in /tmp/x-1/sandbox";
        let expected = "made 2026-01-01T12:00:00Z (1s, 1s ago) on https://127.0.0.1:8443 in ~/sandbox";
        assert_eq!(steady(text, Path::new("/tmp/x-1")), expected);
        let unchanged = "Ready:2/2 first-app-v1 nginx:1.27 web (5 pods)";
        assert_eq!(steady(unchanged, Path::new("/tmp/x-1")), unchanged);
    }

    #[test]
    fn output_that_fits_no_page_is_an_error() {
        let error = picture(&["up"], &"line\n".repeat(MOST_LINES), Path::new("/a")).unwrap_err();
        assert!(error.contains("prints 41 lines"), "{error}");
    }

    #[test]
    fn pages_show_every_picture() {
        let shown = |page: &str, folder: &str, pictures: &[(&str, &[&str])]| {
            let text = std::fs::read_to_string(command::root().join(page)).unwrap();
            for (file, _) in pictures {
                assert!(text.contains(&format!("({folder}/{file})")), "{page} does not show {folder}/{file}");
                assert!(command::root().join(FOLDER).join(file).is_file(), "{FOLDER}/{file}");
            }
        };
        shown("README.md", FOLDER, &PICTURES);
        shown("docs/console.md", "pictures", &DRAWN);
    }
}
