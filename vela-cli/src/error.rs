//! What went wrong in a run: its kind, its words, its advice, and the exit code that follows from the kind.

use std::fmt;
use std::process::ExitCode;

use vela_engine::{Code, Diagnostic, Diagnostics, Severity};

/// Whose turn it is to act; each kind has its own exit code, so that scripts can tell them apart.
/// Code 2 is taken: clap uses it for words that it cannot read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The input is wrong, or what it describes does not become healthy.
    User,
    /// The input is right, but vela cannot do yet what it asks for.
    NotSupported,
    /// The configuration of this machine is wrong: kubeconfig, home folder, disk.
    Config,
    /// The cluster cannot be reached or refuses.
    Cluster,
    /// The cluster does not let this user do it.
    Denied,
    /// We are wrong.
    Internal,
    /// The person pressed Ctrl-C.
    Interrupted,
    /// A command in a container ended with this code, which is passed on.
    Command(u8),
}

impl Kind {
    fn code(self) -> u8 {
        match self {
            Self::User => 1,
            Self::Config => 3,
            Self::Cluster | Self::Denied => 4,
            Self::NotSupported => 5,
            Self::Internal => 70, // as in sysexits.h: an error of the software itself
            Self::Command(code) => code,
            Self::Interrupted => 130, // as a shell reports death by SIGINT
        }
    }
}

/// One thing that went wrong.
#[derive(Debug, Clone)]
pub(crate) struct Error {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Error {
    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    pub(crate) fn user(message: impl Into<String>) -> Self {
        Self::new(Kind::User, message)
    }

    pub(crate) fn not_supported(message: impl Into<String>) -> Self {
        Self::new(Kind::NotSupported, message)
    }

    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new(Kind::Config, message)
    }

    pub(crate) fn cluster(message: impl Into<String>) -> Self {
        Self::new(Kind::Cluster, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Kind::Internal, message)
            .hint("this is a fault of vela itself: please report it with the command and its input")
    }

    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self::new(Kind::Interrupted, message)
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  help: {hint}"),
            None => Ok(()),
        }
    }
}

/// Everything that went wrong in one run, told together. Never empty.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    kind: Kind,
    texts: Vec<String>,
}

impl Failure {
    /// All of `errors`; `None` when there are none. The first kind decides the exit code, but what is not supported
    /// decides it only where nothing else is wrong.
    pub(crate) fn all(errors: Vec<Failure>) -> Option<Self> {
        let mut errors = errors.into_iter();
        let mut all = errors.next()?;
        for more in errors {
            if all.kind == Kind::NotSupported {
                all.kind = more.kind;
            }
            all.texts.extend(more.texts);
        }
        Some(all)
    }

    /// The same with the place in the manifest that it is about.
    #[must_use]
    pub(crate) fn at(mut self, place: String) -> Self {
        if let Some(first) = self.texts.first_mut() {
            *first = format!("{place}: {first}");
        }
        self
    }

    /// The same with a closing sentence, such as what was done before it.
    #[must_use]
    pub(crate) fn closing(mut self, sentence: String) -> Self {
        self.texts.push(sentence);
        self
    }

    /// An application that needs what is not supported yet, which `parts` name.
    pub(crate) fn will_not_run(application: &str, parts: Diagnostics) -> Self {
        let parts =
            parts.into_iter().map(|part| Diagnostic { severity: Severity::Error, ..part }.to_string());
        let head = format!("error: {application} will not run: it needs what vela does not support yet");
        let texts = parts.chain([head]).collect();
        Self { kind: Kind::NotSupported, texts }
    }

    /// A command in a container that did not end with 0.
    pub(crate) fn of_command(code: u8) -> Self {
        Error::new(Kind::Command(code), format!("the command ended with exit code {code}")).into()
    }

    /// Did the person stop it?
    pub(crate) fn is_interrupt(&self) -> bool {
        self.kind == Kind::Interrupted
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind.code())
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// All of it as sentences on one line, for an answer that is no screen.
    pub(crate) fn sentences(&self) -> String {
        let plain =
            |text: &String| text.replace("\n  help: ", "; ").replace("error: ", "").replace('\n', "; ");
        self.texts.iter().map(plain).collect::<Vec<_>>().join("; ")
    }

    pub(crate) fn texts(&self) -> &[String] {
        &self.texts
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { kind: error.kind, texts: vec![error.to_string()] }
    }
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        let mut errors = diagnostics.iter().filter(|finding| finding.is_error());
        let kind = match errors.all(|finding| finding.code == Code::NotSupported) {
            true if diagnostics.has_errors() => Kind::NotSupported,
            _ => Kind::User,
        };
        Self { kind, texts: vec![diagnostics.to_string()] }
    }
}

/// The result of every command and of its parts.
pub(crate) type Result<T> = std::result::Result<T, Failure>;
