//! A program in; what the real `cue export` and ours say about it out.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::command;
use crate::conformance::{Finished, Json, Session, run_process};

/// The answer of an evaluator.
#[derive(Debug)]
pub(crate) enum Answer {
    /// A concrete value.
    Value {
        /// As a value.
        json: Json,
        /// As it was printed.
        text: String,
    },
    /// The program was refused.
    Error(String),
    /// A crash, or no answer in time.
    None(String),
}

impl Answer {
    fn of(finished: Finished) -> Self {
        if finished.refused() {
            return Self::Error(finished.stderr);
        }
        match (finished.code, Json::parse(&finished.stdout)) {
            (Some(0), Ok(json)) => Self::Value { json, text: finished.stdout },
            (code, _) => Self::None(format!("exit {code:?}: {}", finished.stderr)),
        }
    }

    /// The answer on one line.
    pub(crate) fn line(&self) -> String {
        let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        match self {
            Self::Value { text, .. } => squeeze(text),
            Self::Error(text) => format!("error: {}", squeeze(text)),
            Self::None(text) => format!("no answer: {}", squeeze(text)),
        }
    }
}

/// Whether the answers disagree. Where the real one has none, nothing is known; where ours has none, that is a mistake.
pub(crate) fn differ(real: &Answer, ours: &Answer, order: bool) -> bool {
    match (real, ours) {
        (Answer::None(_), ours) => matches!(ours, Answer::None(_)),
        (Answer::Error(_), Answer::Error(_)) => false,
        (Answer::Value { json: a, text: x }, Answer::Value { json: b, text: y }) => {
            a != b || (order && x != y)
        }
        _ => true,
    }
}

/// Both evaluators, with a folder for the programs and how long each has worked.
pub(crate) struct Peers {
    real: PathBuf,
    ours: Session,
    folder: PathBuf,
    pub(crate) real_time: Duration,
    pub(crate) our_time: Duration,
}

impl Peers {
    /// The real one and ours.
    pub(crate) fn new(real: &Path, ours: &Path, folder: &Path) -> Result<Self, String> {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(Self {
            real: real.to_path_buf(),
            ours: Session::new(ours),
            folder: folder.to_path_buf(),
            real_time: Duration::ZERO,
            our_time: Duration::ZERO,
        })
    }

    /// Both answers for one program.
    pub(crate) fn ask(&mut self, program: &str) -> Result<(Answer, Answer), String> {
        let file = self.folder.join("in.cue");
        std::fs::write(&file, program).map_err(|e| format!("{}: {e}", file.display()))?;
        let started = Instant::now();
        let ours = self.ours.run(&["export", "--out", "json", "in.cue"], &self.folder)?;
        let between = Instant::now();
        let real = run_process(&self.real, &["export", "--out", "json", "in.cue"], &self.folder)?;
        self.our_time += between - started;
        self.real_time += between.elapsed();
        Ok((Answer::of(real), Answer::of(ours)))
    }

    /// Removes the folder.
    pub(crate) fn close(self) {
        // It holds the last program only; a left-over is overwritten by the next run.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Builds our evaluator and says where it is.
pub(crate) fn build() -> Result<PathBuf, String> {
    command::build(&["--quiet", "--package", "vela-cue", "--bin", "cue-eval"])?;
    let me = std::env::current_exe().map_err(|e| e.to_string())?;
    let folder = me.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    Ok(folder.join(format!("cue-eval{}", std::env::consts::EXE_SUFFIX)))
}
