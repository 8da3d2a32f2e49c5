//! Reads the cases of a folder in the peers' formats; each knows its program, its input and its expected result.

use std::path::{Path, PathBuf};

use super::json::Json;
use super::process::{self, Finished};
use super::session::Session;
use super::{calls, crd, definition, examples, trait_pairs, tree};
use crate::command;

/// Digits of the digest of a text that name it in the lists; enough to tell a few thousand texts apart.
const DIGEST: usize = 12;

/// Where the binaries are that the cases go through.
pub(crate) struct Programs {
    /// `cue-eval`
    pub(crate) cue_eval: PathBuf,
    /// `vela`
    pub(crate) vela: PathBuf,
    /// This program.
    pub(crate) xtask: PathBuf,
}

/// The programs as one worker uses them: processes that stay for many cases.
pub(crate) struct Sessions<'a> {
    vela: &'a Path,
    cue_eval: Session,
    definitions: Session,
}

impl Programs {
    /// Sessions of its own for one worker.
    pub(crate) fn open(&self) -> Sessions<'_> {
        Sessions {
            vela: &self.vela,
            cue_eval: Session::new(&self.cue_eval),
            definitions: Session::new(&self.xtask),
        }
    }
}

/// One case.
pub(crate) struct Case {
    /// Which door and comparison: `cue-export`, `cue-tree`, `cue-parse`, `cue-fmt`, `component`, `trait`, `patch`,
    /// `health`, `step`, `component-calls`, `openapi`, `application`, `example`, `trait-pairs`, `crd`.
    pub(crate) kind: &'static str,
    /// The peers' own word for how widely used the features are.
    pub(crate) scope: String,
    /// Name in the folder.
    pub(crate) name: String,
    /// Name in the lists of passing and failing cases: short and without the words of a source.
    pub(crate) id: String,
    /// Whether the input must be refused.
    pub(crate) must_fail: bool,
    input: Input,
}

enum Input {
    /// A folder, the files given to the evaluator in it.
    Files { folder: PathBuf, arguments: Vec<String> },
    /// One source text and, for `cue-fmt`, its formatted form.
    Text { source: String, formatted: Option<String> },
    /// A folder with a part of a definition, its inputs and `output.json`.
    Definition { folder: PathBuf },
    /// A folder with `app.yaml`, perhaps definitions, and `output.yaml`.
    Application { folder: PathBuf },
    /// A file with an Application, and what lies beside it.
    Example(examples::Input),
    /// Traits on one component.
    TraitPairs(trait_pairs::Input),
    /// Objects against the reference CRDs and ours.
    Crd(crd::Input),
}

/// Every case below `directory`, whatever of the known formats lies there.
pub(crate) fn find(directory: &Path) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for cue in [directory.join("cue"), directory.to_path_buf()] {
        manifest(&cue, &mut cases)?;
        parse(&cue.join("parse/cases.jsonl"), &mut cases)?;
    }
    definitions(&directory.join("definitions"), &mut cases)?;
    applications(&directory.join("applications"), &mut cases);
    for (name, input) in examples::find(directory) {
        let (id, must_fail, input) = (format!("example {name}"), input.must_fail(), Input::Example(input));
        cases.push(Case { kind: "example", scope: String::new(), name, id, must_fail, input });
    }
    for found in trait_pairs::find(&directory.join("trait-pairs"))? {
        let trait_pairs::Found { scope, name, input } = found;
        let (id, must_fail) = (format!("trait-pairs {name}"), input.must_fail());
        let input = Input::TraitPairs(input);
        cases.push(Case { kind: "trait-pairs", scope, name, id, must_fail, input });
    }
    for found in crd::find(directory)? {
        let crd::Found { scope, name, input } = found;
        let (id, input) = (format!("crd {scope} {name}"), Input::Crd(input));
        cases.push(Case { kind: "crd", scope, name, id, must_fail: false, input });
    }
    Ok(cases)
}

fn lines(path: &Path) -> Result<Vec<Json>, String> {
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let line = |(number, line): (usize, &str)| {
        Json::parse(line).map_err(|e| format!("{}:{}: {e}", path.display(), number + 1))
    };
    text.lines().enumerate().map(line).collect()
}

fn text(line: &Json, field: &str) -> Option<String> {
    line.get(field).and_then(Json::as_str).map(str::to_owned)
}

fn manifest(folder: &Path, cases: &mut Vec<Case>) -> Result<(), String> {
    let path = folder.join("manifest.jsonl");
    for line in lines(&path)? {
        // Other folders have a manifest of other cases; those of CUE programs say which files are given.
        let (Some(name), Some(arguments)) = (text(&line, "name"), line.get("args")) else { continue };
        let arguments: Vec<String> =
            arguments.items().iter().filter_map(Json::as_str).map(str::to_owned).collect();
        let scope = text(&line, "scope").unwrap_or_default();
        let case = folder.join("cases").join(&name);
        let must_fail = !case.join("expected.json").is_file();
        for (kind, must_fail) in [("cue-export", must_fail), ("cue-tree", false)] {
            let input = Input::Files { folder: case.clone(), arguments: arguments.clone() };
            let id = format!("{kind} {name}");
            cases.push(Case { kind, scope: scope.clone(), name: name.clone(), id, must_fail, input });
        }
    }
    Ok(())
}

fn parse(path: &Path, cases: &mut Vec<Case>) -> Result<(), String> {
    for line in lines(path)? {
        let (Some(source), Some(name)) = (text(&line, "in"), text(&line, "source")) else { continue };
        let must_fail = !line.get("ok").is_some_and(Json::is_true);
        let scope = text(&line, "kind").unwrap_or_default();
        let scope = scope.split('-').next().unwrap_or_default().to_owned();
        let formatted = text(&line, "fmt").filter(|_| !must_fail);
        let digest: String = text(&line, "sha256").unwrap_or_default().chars().take(DIGEST).collect();
        if formatted.is_some() {
            let input = Input::Text { source: source.clone(), formatted };
            cases.push(Case {
                kind: "cue-fmt",
                scope: scope.clone(),
                name: name.clone(),
                id: format!("cue-fmt {digest}"),
                must_fail: false,
                input,
            });
        }
        let input = Input::Text { source, formatted: None };
        let id = format!("cue-parse {digest}");
        cases.push(Case { kind: "cue-parse", scope, name, id, must_fail, input });
    }
    Ok(())
}

fn definitions(folder: &Path, cases: &mut Vec<Case>) -> Result<(), String> {
    for line in lines(&folder.join("manifest.jsonl"))? {
        let (Some(name), Some(kind), Some(status)) =
            (text(&line, "name"), text(&line, "kind"), text(&line, "status"))
        else {
            continue;
        };
        let known = definition::KINDS.iter().chain(&["openapi"]).find(|known| **known == kind);
        if let Some(kind) = known {
            let input = Input::Definition { folder: folder.join("cases").join(&name) };
            let id = format!("{kind} {name}");
            cases.push(Case { kind, scope: String::new(), name, id, must_fail: status != "ok", input });
        }
    }
    Ok(())
}

fn applications(folder: &Path, cases: &mut Vec<Case>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for folder in entries.flatten().map(|e| e.path()).filter(|p| p.join("app.yaml").is_file()) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let must_fail = !folder.join("output.yaml").is_file();
        cases.push(Case {
            kind: "application",
            scope: String::new(),
            id: format!("application {name}"),
            name,
            must_fail,
            input: Input::Application { folder },
        });
    }
}

impl Case {
    /// Kind and scope: what passed cases are counted by.
    pub(crate) fn group(&self) -> String {
        format!("{} {}", self.kind, self.scope).trim().to_owned()
    }

    /// Runs the case; the error says what came instead.
    pub(crate) fn run(&self, programs: &mut Sessions<'_>) -> Result<(), String> {
        match &self.input {
            Input::Files { folder, arguments } => self.evaluate(programs, folder, arguments),
            Input::Text { source, formatted } => self.read(programs, source, formatted.as_deref()),
            Input::Definition { folder } => self.render(programs, folder),
            Input::Application { folder } => self.dry_run(programs, folder),
            Input::Example(input) => self.example(programs, input),
            Input::TraitPairs(input) => self.patched(programs, input),
            Input::Crd(input) => input.run(),
        }
    }

    fn evaluate(
        &self,
        programs: &mut Sessions<'_>,
        folder: &Path,
        arguments: &[String],
    ) -> Result<(), String> {
        let verb: &[&str] = if self.kind == "cue-tree" { &["tree"] } else { &["export", "--out", "json"] };
        let words: Vec<&str> = verb.iter().copied().chain(arguments.iter().map(String::as_str)).collect();
        let finished = programs.cue_eval.run(&words, folder)?;
        if self.must_fail {
            return refused(&finished);
        }
        let expected =
            read(&folder.join(if self.kind == "cue-tree" { "expected.tree.json" } else { "expected.json" }))?;
        if self.kind == "cue-export" && finished.code != Some(0) {
            return Err(format!("exit {:?}: {}", finished.code, finished.stderr));
        }
        let actual = Json::parse(&finished.stdout).map_err(|e| format!("{e}: {}", finished.stderr))?;
        let expected = Json::parse(&expected)?;
        match self.kind {
            "cue-tree" if tree::same(&actual, &expected) => Ok(()),
            "cue-tree" => Err(tree::difference(&actual, &expected)),
            _ if actual == expected => Ok(()),
            _ => Err("another value".to_owned()),
        }
    }

    fn read(&self, programs: &mut Sessions<'_>, source: &str, formatted: Option<&str>) -> Result<(), String> {
        let folder = scratch()?;
        std::fs::write(folder.join("in.cue"), source).map_err(|e| e.to_string())?;
        let verb = if formatted.is_some() { "fmt" } else { "parse" };
        let finished = programs.cue_eval.run(&[verb, "in.cue"], &folder)?;
        match formatted {
            Some(expected) if finished.stdout == expected => Ok(()),
            Some(_) => Err(format!("formatted otherwise: {}{}", finished.stdout, finished.stderr)),
            None if self.must_fail && finished.refused() => Ok(()),
            None if !self.must_fail && finished.code == Some(0) => Ok(()),
            None => Err(format!("exit {:?}: {}", finished.code, finished.stderr)),
        }
    }

    fn render(&self, programs: &mut Sessions<'_>, folder: &Path) -> Result<(), String> {
        let path = folder.to_string_lossy();
        let finished = match self.kind {
            "openapi" => programs.cue_eval.run(&["openapi", "template.cue"], folder)?,
            kind => programs.definitions.run(&[kind, &path], folder)?,
        };
        if self.must_fail {
            return refused(&finished);
        }
        if finished.code != Some(0) {
            return Err(format!("exit {:?}: {}", finished.code, finished.stderr));
        }
        let calls = matches!(self.kind, "step" | "component-calls");
        let result = if calls { "calls.json" } else { "output.json" };
        let (actual, expected) = (Json::parse(&finished.stdout)?, Json::parse(&read(&folder.join(result))?)?);
        if calls {
            return calls::compare(&actual, &expected);
        }
        let same = match (self.kind, &expected) {
            // The real recorder leaves out what a status text does not define.
            ("health", Json::Object(fields)) => {
                fields.iter().all(|(name, value)| actual.get(name) == Some(value))
            }
            _ => actual == expected,
        };
        if same { Ok(()) } else { Err("another value".to_owned()) }
    }

    fn patched(&self, programs: &mut Sessions<'_>, input: &trait_pairs::Input) -> Result<(), String> {
        let folder = scratch()?;
        let path = input.write(&folder)?;
        let words = ["dry-run", "--offline", "-o", "json", "-f", &path.to_string_lossy()];
        let finished = process::run(programs.vela, &words, &folder)?;
        if self.must_fail {
            return refused(&finished);
        }
        if finished.code != Some(0) {
            return Err(format!("exit {:?}: {}", finished.code, finished.stderr));
        }
        input.compare(&finished.stdout)
    }

    /// It renders, or needs what is not supported yet and says so with a code of its own.
    fn example(&self, programs: &mut Sessions<'_>, input: &examples::Input) -> Result<(), String> {
        let words = input.words();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let finished = process::run(programs.vela, &words, &command::root())?;
        match finished.code {
            Some(0 | WILL_NOT_RUN) if !self.must_fail => Ok(()),
            Some(REFUSED) if self.must_fail => Ok(()),
            code => Err(format!("exit {code:?}: {}", finished.stderr)),
        }
    }

    fn dry_run(&self, programs: &mut Sessions<'_>, folder: &Path) -> Result<(), String> {
        // As the peer's dry run: it accepts undeclared parameters, and applications may reach everywhere. The recorded
        // autoscalers are v2beta2: the peer assumes an old Kubernetes when it asks no cluster.
        let mut words = vec!["dry-run", "--offline", "--kubernetes-version", "1.18"];
        words.extend(["--strict=false", "-f", "app.yaml"]);
        words.extend(["--allow-cross-namespace", "--allow-granting-rights"]);
        if folder.join("defs").is_dir() {
            words.extend(["-d", "defs"]);
        }
        let finished = process::run(programs.vela, &words, folder)?;
        if self.must_fail {
            return refused(&finished);
        }
        // What will not run here yet (policies, steps) is rendered all the same, with a code of its own.
        if !matches!(finished.code, Some(0 | WILL_NOT_RUN)) {
            return Err(format!("exit {:?}: {}", finished.code, finished.stderr));
        }
        let expected = objects(&read(&folder.join("output.yaml"))?)?;
        let actual = objects(&finished.stdout)?;
        if actual == expected {
            return Ok(());
        }
        let first = actual.iter().zip(&expected).find(|(a, e)| a != e);
        Err(format!("{} objects, {} expected; first difference {first:?}", actual.len(), expected.len()))
    }
}

/// The exit code of `vela` for an error of its user.
const REFUSED: i32 = 1;

/// The exit code of `vela` for an application that needs what is not supported yet (docs/exit-codes.md).
const WILL_NOT_RUN: i32 = 5;

/// A folder of this worker's own for what it writes.
fn scratch() -> Result<PathBuf, String> {
    let folder =
        command::root().join("target/conformance").join(format!("{:?}", std::thread::current().id()));
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    Ok(folder)
}

fn refused(finished: &Finished) -> Result<(), String> {
    if finished.refused() { Ok(()) } else { Err(format!("exit {:?}, not an error", finished.code)) }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// The objects of a stream of YAML documents, in an order of their own.
fn objects(text: &str) -> Result<Vec<Json>, String> {
    let documents: Vec<serde_json::Value> =
        serde_saphyr::from_multiple(text).map_err(|e| format!("not YAML: {e}"))?;
    let mut objects = Vec::new();
    for document in documents.into_iter().filter(|d| !d.is_null()) {
        objects.push(Json::parse(&document.to_string())?);
    }
    objects.sort();
    Ok(objects)
}
