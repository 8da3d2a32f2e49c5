//! What the person sees: results on standard output, everything said about the run on standard error.

mod full;
mod neutral;
mod style;

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use anstyle::Style;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr};

#[cfg(test)]
pub(crate) use self::full::paint;
pub(crate) use self::full::{FullScreen, Input, Key, Lines};
pub(crate) use self::style::{BAD, BOLD, BUSY, DIM, GOOD};

use crate::args::Format;
use crate::error::{Error, Failure, Result};

/// `text` in `style`; anstream removes the codes where colours are not wanted (pipes, `NO_COLOR`).
pub(crate) fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Bytes that a screen records.
const RECORDED_AT_MOST: usize = 64 * 1024;
/// Terminals that say they are narrower are taken to be as wide as this.
const NARROWEST: usize = 20;

/// How many columns of a terminal the text takes; colour codes take none, characters of wide scripts two.
pub(crate) fn text_width(text: &str) -> usize {
    anstream::adapter::strip_str(text).map(UnicodeWidthStr::width).sum()
}

/// The first `width` columns of a line; colour codes take no column and are all kept, so that none stays open.
pub(crate) fn cut(line: &str, width: usize) -> String {
    if text_width(line) <= width {
        return line.to_owned();
    }
    let (mut out, mut shown, mut in_code, mut is_cut) = (String::new(), 0, false, false);
    for c in line.chars() {
        let starts = c == '\u{1b}';
        if starts || in_code {
            in_code = starts || !c.is_ascii_alphabetic();
            out.push(c);
            continue;
        }
        shown += c.width().unwrap_or(0);
        if shown < width {
            out.push(c);
        } else if !is_cut && width > 0 {
            out.push('…');
            is_cut = true;
        }
    }
    out
}

/// The line on as many lines as it takes at this width, broken between words and set in below its beginning.
pub(crate) fn wrapped(line: &str, width: usize) -> String {
    let start = line.len() - line.trim_start().len();
    let margin = " ".repeat(start + 2);
    let mut out = line[..start].to_owned();
    let mut column = start;
    for (index, word) in line[start..].split(' ').enumerate() {
        let length = text_width(word);
        let is_over = column + 1 + length > width && column > margin.len();
        match index {
            0 => {}
            _ if is_over => {
                out.push('\n');
                out.push_str(&margin);
                column = margin.len();
            }
            _ => {
                out.push(' ');
                column += 1;
            }
        }
        out.push_str(word);
        column += length;
    }
    out
}

/// The line with the head of an error in its style: `error:`, or `error[code]:` of a diagnostic.
fn painted(line: &str) -> String {
    let head = line.match_indices("error").find_map(|(start, word)| {
        let rest = &line[start + word.len()..];
        let code = rest.strip_prefix('[').and_then(|rest| rest.split_once("]:")).map(|(code, _)| code);
        let is_code = |code: &&str| code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        match code.filter(is_code) {
            Some(code) => Some(start..start + word.len() + code.len() + "[]:".len()),
            None => rest.starts_with(':').then(|| start..start + word.len() + 1),
        }
    });
    match head {
        Some(head) => {
            format!("{}{}{}", &line[..head.start], styled(BAD, &line[head.clone()]), &line[head.end..])
        }
        None => line.to_owned(),
    }
}

/// Where what a command in a container writes goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    Out,
    Err,
}

/// What a screen recorded.
#[derive(Clone, Default)]
pub(crate) struct Recorded(Arc<Mutex<Vec<u8>>>);

impl Recorded {
    /// It as a text, without any style.
    pub(crate) fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&bytes);
        anstream::adapter::strip_str(text.trim_end()).to_string()
    }
}

impl Write for Recorded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What is beyond is not missed: no command says that much.
        let room = RECORDED_AT_MOST.saturating_sub(recorded.len()).min(bytes.len());
        recorded.extend_from_slice(&bytes[..room]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The two streams, and the lines of progress that are being rewritten.
pub(crate) struct Screen {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    /// Standard error is a terminal, so progress may rewrite its lines.
    live: bool,
    /// How many lines of progress stand above the cursor.
    standing: usize,
    /// The progress told last, so that a pipe gets only what is new.
    reported: Vec<String>,
    /// Where the command works was said.
    has_target: bool,
}

impl Screen {
    pub(crate) fn new() -> Self {
        let (out, err) = (Box::new(anstream::stdout()), Box::new(anstream::stderr()));
        Self::of(out, err, std::io::stderr().is_terminal())
    }

    /// Adds lines of progress below the others from now on, instead of rewriting them.
    pub(crate) fn append(&mut self) {
        self.live = false;
    }

    /// A screen that only records what is said and printed, for an answer that is no terminal.
    pub(crate) fn recorded(recorded: &Recorded) -> Self {
        Self::of(Box::new(recorded.clone()), Box::new(recorded.clone()), false)
    }

    fn of(out: Box<dyn Write + Send>, err: Box<dyn Write + Send>, live: bool) -> Self {
        Self { out, err, live, standing: 0, reported: Vec::new(), has_target: false }
    }

    /// How wide results may be; nothing where they do not go to a terminal.
    pub(crate) fn width(&self) -> Option<usize> {
        std::io::stdout().is_terminal().then(|| columns(std::io::stdout()))
    }

    /// Says where the command works: for people, who see it once. In a pipe it would be noise in every log.
    pub(crate) fn target(&mut self, text: &str) {
        if self.live && !std::mem::replace(&mut self.has_target, true) {
            self.say(&styled(DIM, &format!("Target: {text}")));
        }
    }

    /// Prints a result for people.
    pub(crate) fn print(&mut self, text: &str) -> Result<()> {
        self.line(text).map(drop)
    }

    /// The same for one of many results that follow each other; says whether there is a reader yet.
    pub(crate) fn line(&mut self, text: &str) -> Result<bool> {
        self.write(&neutral::text(text))
    }

    /// Prints a document for programs: as it is, unless a terminal would obey what stands in it.
    pub(crate) fn document(&mut self, text: &str) -> Result<()> {
        match std::io::stdout().is_terminal() {
            true => self.print(text),
            false => self.write(text).map(drop),
        }
    }

    /// Prints a value for programs. What a template makes gets no line end that it does not write, as from `kubectl`,
    /// except on a terminal.
    pub(crate) fn data(&mut self, format: Format, value: &serde_json::Value) -> Result<()> {
        let text = data(format, value)?;
        match format {
            Format::JsonPath(_) if !std::io::stdout().is_terminal() => self.out(&text, "").map(drop),
            _ => self.document(&text),
        }
    }

    /// Passes on what a command in a container writes, byte by byte: it has this terminal, as over ssh. Says whether there
    /// is a reader yet.
    pub(crate) fn pass(&mut self, bytes: &[u8], to: Passed) -> Result<bool> {
        self.settle();
        let written = match to {
            Passed::Out => {
                let mut out = std::io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
            Passed::Err => std::io::stderr().lock().write_all(bytes),
        };
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Error::config(format!("the output cannot be written: {error}")).into()),
        }
    }

    fn write(&mut self, text: &str) -> Result<bool> {
        self.out(text.trim_end_matches('\n'), "\n")
    }

    fn out(&mut self, text: &str, end: &str) -> Result<bool> {
        match write!(self.out, "{text}{end}").and_then(|()| self.out.flush()) {
            Ok(()) => Ok(true),
            // The reader (`head`, a pager) has seen enough: that is no failure of ours.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Error::config(format!("standard output cannot be written: {error}")).into()),
        }
    }

    /// Says something about the run. A lost message must not stop the run, so errors are dropped.
    pub(crate) fn say(&mut self, text: &str) {
        self.settle();
        let _ = writeln!(self.err, "{}", neutral::text(text));
    }

    /// Shows how far the run is: one line per thing. On a terminal the lines are rewritten, in a pipe only those
    /// that have changed are added.
    pub(crate) fn progress(&mut self, lines: Vec<String>) {
        // A line end within a line would count as one line and stand on two.
        let lines: Vec<String> = lines.iter().map(|line| neutral::text(line).replace('\n', " ")).collect();
        if self.live {
            let _ = match self.standing {
                0 => Ok(()),
                up => write!(self.err, "\x1b[{up}A\x1b[J"),
            };
            // A line that wraps would stand on two, and the next rewriting would leave half of it.
            let width = columns(std::io::stderr());
            for line in &lines {
                let _ = writeln!(self.err, "{}", cut(line, width));
            }
            let _ = self.err.flush();
            self.standing = lines.len();
        } else {
            for line in lines.iter().filter(|line| !self.reported.contains(line)) {
                let _ = writeln!(self.err, "{line}");
            }
        }
        self.reported = lines;
    }

    /// Leaves the progress shown last where it is and goes on below it.
    pub(crate) fn settle(&mut self) {
        self.standing = 0;
    }

    /// Tells everything that went wrong.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        for text in failure.texts() {
            let width = if self.live { columns(std::io::stderr()) } else { usize::MAX };
            let painted =
                text.lines().map(|line| painted(&wrapped(line, width))).collect::<Vec<_>>().join("\n");
            self.say(&painted);
        }
    }
}

/// How wide a terminal is.
fn columns(terminal: impl std::os::fd::AsFd) -> usize {
    rustix::termios::tcgetwinsize(terminal).map_or(usize::MAX, |size| match size.ws_col {
        // It does not say.
        0 => usize::MAX,
        columns => usize::from(columns).max(NARROWEST),
    })
}

/// The text as it will be shown, for those who count its columns.
pub(crate) fn shown(text: &str) -> std::borrow::Cow<'_, str> {
    neutral::text(text)
}

/// The text on one line and without any style, its own or ours.
pub(crate) fn plain(text: &str) -> String {
    let text = anstream::adapter::strip_str(text).to_string();
    neutral::text(&text).replace('\n', " ").replace('\t', "    ")
}

/// `value` as one line of JSON, with nothing in it that a terminal would obey.
pub(crate) fn data_line(value: &serde_json::Value) -> String {
    neutral::json(value.to_string())
}

/// `value` as JSON or YAML, with nothing in it that a terminal would obey; a table is the command's own business and
/// falls back to YAML.
pub(crate) fn data(format: Format, value: &serde_json::Value) -> Result<String> {
    let json = || serde_json::to_string_pretty(value).map(neutral::json).map_err(|error| error.to_string());
    match format {
        Format::JsonPath(template) => {
            return template.text(value).map_err(|why| Error::user(format!("--output: {why}")).into());
        }
        Format::Json => json(),
        Format::Yaml | Format::Table => match serde_saphyr::to_string(value) {
            // YAML that a person may look at without harm; every JSON text is YAML, too.
            Ok(text) if text.contains(neutral::commands) => json(),
            text => text.map_err(|error| error.to_string()),
        },
    }
    .map_err(|error| Error::internal(format!("the result cannot be written: {error}")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_line_keeps_its_codes_and_its_width() {
        let line = format!("{} rest of it", styled(GOOD, "✓ fine"));
        let short = cut(&line, 8);
        assert_eq!(anstream::adapter::strip_str(&short).to_string(), "✓ fine …");
        assert_eq!(short.matches('\u{1b}').count(), line.matches('\u{1b}').count());
        assert_eq!(cut("short", 8), "short");
        assert_eq!(
            (cut("中文字", 6), cut("中文字", 5), cut("中文字", 4)),
            ("中文字".into(), "中文…".into(), "中…".into())
        );
    }

    #[test]
    fn the_head_of_an_error_is_painted_with_its_code() {
        let head = |text| styled(BAD, text);
        for (line, expected) in [
            ("error: no file", format!("{} no file", head("error:"))),
            (
                "a.yaml:1:2: error[unknown_field]: b",
                format!("a.yaml:1:2: {} b", head("error[unknown_field]:")),
            ),
            ("  field: spec.error[0]", "  field: spec.error[0]".to_owned()),
            ("  help: an error[0]: or not", "  help: an error[0]: or not".to_owned()),
        ] {
            assert_eq!(painted(line), expected);
        }
    }

    #[test]
    fn a_long_line_is_wrapped_between_words_and_loses_none() {
        let line = "  help: write one two three four";
        assert_eq!(wrapped(line, 16), "  help: write\n    one two\n    three four");
        assert_eq!(wrapped(line, 80), line);
        assert_eq!(wrapped("    int  | string", 80), "    int  | string");
        assert_eq!(wrapped("unbreakable words", 5), "unbreakable\n  words");
    }
}
