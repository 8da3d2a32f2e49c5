//! Runs a dry run of each of the peer's files that hold an Application, with the definitions that lie beside it: it
//! renders, or says that it needs what is not supported yet, or is refused for a reason written here.

use std::path::{Path, PathBuf};

use super::files;

/// What is refused, and why that is right: the end of the file's path, and the reason.
const REFUSED: [(&str, &str); 26] = [
    ("example__template/app.yaml", "it makes a Namespace, which --allow-cross-namespace allows"),
    ("mock-addon__template/app.yaml", "it makes a Namespace, which --allow-cross-namespace allows"),
    ("test-addon__template/app.yaml", "it makes a Namespace, which --allow-cross-namespace allows"),
    ("ex__advanced-cue__app2/app.yaml", "`expose` declares no `http`"),
    ("ex__app-with-status__app/app.yaml", "`worker` declares neither `lives` nor `enemies`: `nworker` does"),
    ("ex__enduser__sample/app.yaml", "`cpuscaler` declares no `cpuPercent`"),
    ("app-with-control-plane-only-usecase/app.yaml", "`webservice` declares no `mem`"),
    ("diff-input-app-multichanges/app.yaml", UNDECLARED),
    ("testdata__dryrun-app/app.yaml", UNDECLARED),
    ("testdata/dryrun-app.yaml", UNDECLARED),
    ("testdata/diff-input-app-multichanges.yaml", UNDECLARED),
    ("testdata/diff-input-app-nochange.yaml", UNDECLARED),
    ("testdata/diff-input-app-onlyadd.yaml", UNDECLARED),
    ("testdata/diff-input-app-onlymodif.yaml", UNDECLARED),
    ("testdata/diff-input-app-onlyremove.yaml", UNDECLARED),
    ("testdata__app__app8/app.yaml", "two components have one name"),
    ("app-with-volumes__app-worker-volumes/app.yaml", "two kinds of volumes in one, as the API server says"),
    ("testdata__app__app_component_depends_on_fail/app.yaml", "an empty image, as the API server says"),
    ("testdata/diff-apprevision.yaml", "an ApplicationRevision, no Application"),
    ("cue/component.md.L105.yaml", "its type `stateless` is made by a part of the page that is no object"),
    ("helm/trait.md.L125.yaml", "its type `webapp-chart` is made by another page"),
    ("scopes/health.md.L42.yaml", "a fragment without a spec"),
    ("end-user/debug.md.L175.yaml", COMMANDS),
    ("debug-test-cue.md.L809.yaml", COMMANDS),
    ("application/Demo.md.L17.yaml", COMMANDS),
    ("application/Demo.md.L71.yaml", COMMANDS),
];
const UNDECLARED: &str = "`myworker` declares neither `lives` nor `enemies`";
const COMMANDS: &str = "commands and what they print, no manifest";

/// What a policy places in another namespace: a vela-core with this flag makes it, and refuses it otherwise.
const ELSEWHERE: [&str; 4] = [
    "ex__envbinding__deploy-and-share-cloud-resource/app.yaml",
    "ex__envbinding__envpatch-with-wild-match/app.yaml",
    "appfile__dryrun__testdata__testing-dry-run-1/app.yaml",
    "test-data__dry-run__testing-dry-run-7/app.yaml",
];

/// A file with an Application.
pub(super) struct Input {
    file: PathBuf,
    definitions: Vec<PathBuf>,
    refused: bool,
    elsewhere: bool,
}

/// The cases beside and below the folder of recorded cases, with their names.
pub(super) fn find(directory: &Path) -> Vec<(String, Input)> {
    let root = directory.parent().unwrap_or(directory);
    let folders = [root.join("examples"), directory.join("applications")];
    let files = folders.iter().flat_map(|folder| files::below(folder, &["yaml", "yml"]));
    files.filter_map(|file| found(root, file)).collect()
}

fn found(root: &Path, file: PathBuf) -> Option<(String, Input)> {
    let text = std::fs::read_to_string(&file).ok()?;
    if file.ends_with("output.yaml") || !text.contains("core.oam.dev/") || !has_kind(&text, "Application") {
        return None;
    }
    let folder = file.parent()?;
    let definitions = match folder.join("defs") {
        defs if defs.is_dir() => vec![defs],
        _ => files::below(folder, &["yaml", "yml"])
            .into_iter()
            .filter(|other| other.parent() == Some(folder) && *other != file && is_definition(other))
            .collect(),
    };
    let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
    let refused = REFUSED.iter().any(|(end, _)| name.ends_with(end));
    let elsewhere = ELSEWHERE.iter().any(|end| name.ends_with(end));
    Some((name, Input { file, definitions, refused, elsewhere }))
}

fn is_definition(file: &Path) -> bool {
    let of_a_type = ["Component", "Trait", "Workload", "Policy", "WorkflowStep"];
    std::fs::read_to_string(file)
        .is_ok_and(|text| of_a_type.iter().any(|type_| has_kind(&text, &format!("{type_}Definition"))))
}

fn has_kind(text: &str, kind: &str) -> bool {
    text.lines().any(|line| line.trim().strip_prefix("kind: ") == Some(kind))
}

impl Input {
    /// Whether the file is refused, and rightly.
    pub(super) fn must_fail(&self) -> bool {
        self.refused
    }

    /// What to type.
    pub(super) fn words(&self) -> Vec<String> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let mut words: Vec<String> = ["dry-run", "--offline", "-f"].map(str::to_owned).to_vec();
        words.push(path(&self.file));
        words.extend(self.elsewhere.then(|| "--allow-cross-namespace".to_owned()));
        words.extend(self.definitions.iter().flat_map(|file| ["-d".to_owned(), path(file)]));
        words
    }
}
