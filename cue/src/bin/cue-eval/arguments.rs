//! The words of a command line in, what they ask for out.

use vela_cue::era::UnknownEra;
use vela_cue::{Budget, Era};

/// The text of `help`.
pub(crate) const USAGE: &str = "usage: cue-eval COMMAND [OPTION]... [INPUT]...
commands:
  export   the concrete value, as JSON by default
  eval     the value as CUE, incomplete parts included
  def      the value as CUE with definitions, hidden and optional fields and constraints
  vet      check the inputs and tell all that is wrong (--json: as JSON); data files are checked one by one against the
           CUE files and must be complete; without them -c asks for completeness and -c=false for none
  explain  every value with the places that made it
  fmt      print the formatted text; --check and --diff only tell
  tree     everything known about every node, as JSON
  openapi  the OpenAPI schema of a field (-e FIELD, `parameter` by default), described by `+usage=` in comments
  parse    check the syntax only
  modernize  rewrite a file written for an older release (--era, 0.9 by default) for the newest one, and prove that both
           give the same on samples (--sample FILE.json, or made from `parameter`); -w overwrites the file
  batch    commands from standard input, one JSON object a line, answered the same way
options:
  --out FORMAT         json, yaml, cue or text
  -e, --expression E   print this expression instead of the whole value; may be repeated
  -c, --concrete       the value must be concrete
  -a, --all            show hidden and optional fields (eval)
  -H, --show-hidden    show hidden fields (eval)
  -O, --show-optional  show optional fields (eval)
  -A, --show-attributes  show attributes (eval)
  -i, --ignore         print errors as values (eval)
  -t, --inject K=V     set the field marked @tag(K); may be repeated
  -s, --simplify       print the short form (eval, def, fmt)
  -d, --diff           show what fmt would change; the code tells whether anything (fmt)
  --check              list the files that are not formatted; the code tells whether any (fmt)
  -w, --write          write the new text back to the files (fmt, modernize)
  --memory SIZE        bytes that an evaluation may take, as 64MB or 1GB (1GB by default)
  --steps N            operations that an evaluation may take (10000000 by default)
  --era RELEASE        what the inputs were written for: 0.2, 0.9 or 0.17
  --diagnostics FORMAT text or json
inputs:
  .cue, .json, .yaml, .yml and .toml files, - for standard input; `cue:`, `json:`, `yaml:` or `toml:` before files says
  how they are written, whatever their names; or a folder with the files of one package (DIR or DIR:NAME), whose fields
  may ask for files below it by @embed(file=…) and @embed(glob=…); without any input the folder at hand";

/// A command line.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Arguments {
    pub(crate) command: String,
    pub(crate) out: Option<String>,
    pub(crate) expressions: Vec<String>,
    pub(crate) tags: Vec<String>,
    /// `-c`, `-c=false` or neither.
    pub(crate) concrete: Option<bool>,
    pub(crate) hidden: bool,
    pub(crate) optional: bool,
    pub(crate) attributes: bool,
    pub(crate) ignore: bool,
    pub(crate) simplify: bool,
    pub(crate) diff: bool,
    pub(crate) check: bool,
    pub(crate) write: bool,
    pub(crate) era: Option<Era>,
    pub(crate) budget: Budget,
    pub(crate) samples: Vec<String>,
    pub(crate) json_diagnostics: bool,
    pub(crate) inputs: Vec<String>,
}

const COMMANDS: [&str; 10] =
    ["export", "eval", "def", "vet", "fmt", "tree", "openapi", "parse", "modernize", "explain"];

/// A size as people write it: bytes, or a number with KB, MB or GB.
fn bytes(text: &str) -> Result<usize, String> {
    let units = [("KB", 10), ("MB", 20), ("GB", 30), ("B", 0), ("", 0)];
    let found = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let number =
        found.and_then(|(number, shift)| number.trim().parse::<usize>().ok()?.checked_mul(1 << shift));
    number
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| format!("--memory takes a size such as 64MB, not {text:?}"))
}

impl Arguments {
    /// Reads the words behind the program's name.
    pub(crate) fn read(given: Vec<String>) -> Result<Self, String> {
        let mut words = given.into_iter();
        let command = words.next().ok_or("no command given")?;
        if !COMMANDS.contains(&command.as_str()) {
            return Err(format!("unknown command {command:?}"));
        }
        let mut arguments = Self { command, ..Self::default() };
        while let Some(word) = words.next() {
            // `--out=json` is `--out json`.
            let (option, attached) = match word.split_once('=') {
                Some((option, value)) if option.starts_with("--") => {
                    (option.to_owned(), Some(value.to_owned()))
                }
                _ => (word, None),
            };
            if attached.is_some() && arguments.flag(&option).is_some() {
                return Err(format!("{option} takes no value"));
            }
            if let Some(flag) = arguments.flag(&option) {
                *flag = true;
                continue;
            }
            let mut value =
                || attached.clone().or_else(|| words.next()).ok_or_else(|| format!("{option} needs a value"));
            match option.as_str() {
                "-c" | "-c=true" | "--concrete" if attached.as_deref() != Some("false") => {
                    arguments.concrete = Some(true);
                }
                "-c=false" | "--concrete" => arguments.concrete = Some(false),
                "--json" => arguments.json_diagnostics = true,
                "--diagnostics" => match value()?.as_str() {
                    "json" => arguments.json_diagnostics = true,
                    "text" => arguments.json_diagnostics = false,
                    other => return Err(format!("--diagnostics takes text or json, not {other:?}")),
                },
                "--out" => match value()? {
                    out if matches!(out.as_str(), "json" | "yaml" | "cue" | "text") => {
                        arguments.out = Some(out)
                    }
                    other => return Err(format!("--out takes json, yaml, cue or text, not {other:?}")),
                },
                "-e" | "--expression" => arguments.expressions.push(value()?),
                "--sample" => arguments.samples.push(value()?),
                "--era" => {
                    arguments.era = Some(value()?.parse().map_err(|e: UnknownEra| e.to_string())?);
                }
                "--memory" => arguments.budget.memory = bytes(&value()?)?,
                "--steps" => {
                    let steps = value()?;
                    let number = steps.parse().ok().filter(|steps| *steps > 0);
                    arguments.budget.steps =
                        number.ok_or_else(|| format!("--steps takes a number from 1, not {steps:?}"))?;
                }
                "-t" | "--inject" => arguments.tags.push(value()?),
                unknown if unknown.starts_with('-') && unknown.len() > 1 => {
                    return Err(format!("unknown option {unknown}"));
                }
                _ => arguments.inputs.push(option),
            }
        }
        if arguments.inputs.is_empty() {
            arguments.inputs.push(".".into());
        }
        Ok(arguments)
    }

    fn flag(&mut self, option: &str) -> Option<&mut bool> {
        if matches!(option, "-a" | "--all") {
            self.hidden = true;
            return Some(&mut self.optional);
        }
        Some(match option {
            "-H" | "--show-hidden" => &mut self.hidden,
            "-O" | "--show-optional" => &mut self.optional,
            "-A" | "--show-attributes" => &mut self.attributes,
            "-i" | "--ignore" => &mut self.ignore,
            "-s" | "--simplify" => &mut self.simplify,
            "-d" | "--diff" => &mut self.diff,
            "--check" => &mut self.check,
            "-w" | "--write" => &mut self.write,
            _ => return None,
        })
    }
}
