//! Every block of commands and YAML in the guides is run, in the order written, by a user without a cluster.
//!
//! A block `yaml file=NAME` is that file. A block `console` holds commands (`$ …`) and, below each, lines that its
//! output has in this order: words as they are, spaces aside, `…` for anything. `console exit=N` ends with that code.
//! A block `cue` gives the code of CUE that its section is about.
//! A block below the comment `<!-- background -->` is one command that runs until the page is through.

// A page that is wrong ends its test, with its place.
#![allow(clippy::panic)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use vela_testkit::Process;

use crate::{CommandOutput, Person};

/// The pages, all of them below `docs/`.
const PAGES: &[&str] = &[
    "getting-started.md",
    "applications.md",
    "definitions.md",
    "installing.md",
    "troubleshooting.md",
    "workflows.md",
    "appfile.md",
    "queries.md",
    "scripts.md",
];
/// Long enough for a busy machine.
const DEADLINE: Duration = Duration::from_secs(120);
const BACKGROUND: &str = "<!-- background -->";

/// A fenced block.
struct Block {
    /// What stands behind the fence.
    language: String,
    /// `file=`, `exit=`.
    attribute: Option<(String, String)>,
    text: String,
    line: usize,
    background: bool,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = page.lines().enumerate().peekable();
    let mut background = false;
    while let Some((number, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            background = line.trim() == BACKGROUND || background && line.trim().is_empty();
            continue;
        };
        let mut words = info.split_whitespace();
        let language = words.next().unwrap_or_default().to_owned();
        let attribute =
            words.next().and_then(|word| word.split_once('=')).map(|(a, b)| (a.to_owned(), b.to_owned()));
        let text: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| !line.starts_with("```")).collect();
        found.push(Block {
            language,
            attribute,
            text: text.join("\n") + "\n",
            line: number + 1,
            background: std::mem::take(&mut background),
        });
    }
    found
}

/// Commands and what each must say.
fn commands(block: &Block) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for line in block.text.lines() {
        match (line.strip_prefix("$ "), all.last_mut()) {
            (Some(command), _) => all.push((command.to_owned(), Vec::new())),
            (None, Some((_, expected))) if !line.trim().is_empty() => expected.push(squeezed(line)),
            (None, _) => {}
        }
    }
    assert!(!all.is_empty(), "line {}: a console block without a command", block.line);
    all
}

fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether the parts between `…` stand in the line in this order.
fn says(line: &str, expected: &str) -> bool {
    let mut rest = line;
    expected.split('…').all(|part| match rest.find(part.trim()) {
        Some(at) => {
            rest = &rest[at + part.trim().len()..];
            true
        }
        None => false,
    })
}

struct Reader {
    /// First: they end before the folder that they write to is gone.
    background: Vec<Process>,
    person: Person,
    page: &'static str,
}

impl Reader {
    fn shell(&self, command: &str) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_vela")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = self.person.environment(Command::new("sh"), &["-c", command]);
        shell.env("PATH", path);
        shell
    }

    #[track_caller]
    fn follow(&mut self, block: &Block) {
        let all = commands(block);
        if block.background {
            return self.leave_running(block, &all);
        }
        let last = all.len() - 1;
        for (index, (command, expected)) in all.iter().enumerate() {
            let said = CommandOutput::of(&self.shell(command).output().unwrap());
            let wanted = match &block.attribute {
                Some((name, code)) if name == "exit" && index == last => code.parse().unwrap(),
                _ => 0,
            };
            let place = format!("docs/{}:{}: {command}", self.page, block.line);
            assert_eq!(said.code, Some(wanted), "{place}\n{}\n{}", said.out, said.err);
            let output = format!("{}\n{}", said.err, said.out);
            if let Some(missing) = missing(&output, expected) {
                panic!("{place}\nis not said (in this order): {missing}\n{output}");
            }
        }
    }

    /// Starts it, and waits until it has said what is expected.
    #[track_caller]
    fn leave_running(&mut self, block: &Block, all: &[(String, Vec<String>)]) {
        let [(command, expected)] = all else { panic!("line {}: one command", block.line) };
        let log = self.person.path("background.log");
        let file = std::fs::File::create(&log).unwrap();
        let mut shell = self.shell(&format!("exec {command}"));
        shell.stdout(Stdio::null()).stderr(file);
        self.background.push(shell.spawn().unwrap().into());
        let end = Instant::now() + DEADLINE;
        while missing(&std::fs::read_to_string(&log).unwrap(), expected).is_some() {
            assert!(
                Instant::now() < end,
                "{command} does not begin: {}",
                std::fs::read_to_string(&log).unwrap()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The first expected line that does not follow.
fn missing(output: &str, expected: &[String]) -> Option<String> {
    let mut lines = output.lines().map(squeezed);
    expected.iter().find(|wanted| !lines.any(|line| says(&line, wanted))).cloned()
}

/// The text of the block fails with the code in the heading above it, or is a template where no heading names a code.
#[track_caller]
fn gives(page: &str, block: &Block) {
    let source = [vela_cue::Source::new("example.cue", &block.text)];
    let compiled = vela_cue::Template::compile(&source);
    let Some(code) = page.lines().take(block.line).filter_map(code_of).last() else {
        let found = compiled.err().map(|found| found.render(false));
        return assert_eq!(found, None, "line {}", block.line);
    };
    let found = match compiled {
        Ok(template) => template.instantiate(&[]).root().validate(true).unwrap_err(),
        Err(found) => found,
    };
    let rendered = found.render(false);
    assert!(rendered.contains(&format!("error[{code}]: ")), "line {}: {code}\n{rendered}", block.line);
}

/// The code that a heading names.
fn code_of(heading: &str) -> Option<&str> {
    heading.strip_prefix("### `")?.strip_suffix('`')
}

fn read(page: &'static str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let text = std::fs::read_to_string(folder.join(page)).unwrap();
    let mut reader = Reader { person: Person::new(), page, background: Vec::new() };
    let all = blocks(&text);
    assert!(all.iter().any(|block| block.language == "console"), "{page} shows nothing to do");
    for block in &all {
        match (block.language.as_str(), &block.attribute) {
            ("yaml", Some((name, file))) if name == "file" => {
                reader.person.write(file, &block.text);
            }
            ("console", _) => reader.follow(block),
            ("cue", None) => gives(&text, block),
            ("text", None) => {}
            (other, _) => panic!("docs/{page}:{}: nothing runs a block of {other:?}", block.line),
        }
    }
}

#[test]
fn getting_started() {
    read(PAGES[0]);
}

#[test]
fn writing_an_application() {
    read(PAGES[1]);
}

#[test]
fn writing_a_definition() {
    read(PAGES[2]);
}

#[test]
fn installing() {
    read(PAGES[3]);
}

#[test]
fn troubleshooting() {
    read(PAGES[4]);
}

#[test]
fn steering_a_workflow() {
    read(PAGES[5]);
}

#[test]
fn writing_an_appfile() {
    read(PAGES[6]);
}

#[test]
fn asking_the_cluster() {
    read(PAGES[7]);
}

#[test]
fn vela_in_scripts() {
    read(PAGES[8]);
}

/// Who meets a code finds it, with an example that shows it, and finds none that is gone.
#[test]
fn every_code_has_its_section() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let text = std::fs::read_to_string(folder.join(PAGES[4])).unwrap();
    let (_, codes) = text.split_once("\n## Findings by code\n").unwrap();
    let (ours, cue) = codes.split_once("\n## Messages of CUE by code\n").unwrap();
    let named = |part: &str| part.lines().filter_map(code_of).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(named(ours), vela_engine::Code::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>());
    assert_eq!(named(cue), vela_cue::Code::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>());
    for section in ours.split("\n### `").skip(1) {
        let code = section.split('`').next().unwrap();
        assert!(section.contains(&format!("[{code}]: ")), "no example shows {code}");
    }
    for section in cue.split("\n### `").skip(1) {
        assert!(section.contains("\n```cue\n"), "no example: {section}");
    }
}

/// Links between the guides lead somewhere.
#[test]
fn links_lead_to_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    for page in PAGES {
        let text = std::fs::read_to_string(folder.join(page)).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            let file = link.split('#').next().unwrap_or_default();
            let there = link.starts_with("http") || file.is_empty() || folder.join(file).exists();
            assert!(there, "docs/{page} links to {link}");
        }
    }
}
