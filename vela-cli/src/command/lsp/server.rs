//! Messages of an editor in, answers and findings out: which documents are open, which are checked next, and when all ends.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lsp_server::{ErrorCode, Message, Notification, Request, Response};
use lsp_types::{
    CompletionParams, DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    HoverParams, PublishDiagnosticsParams, TextDocumentPositionParams, Uri,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use vela_engine::{Document, Snapshot};

use super::answer;
use super::check::{self, Judged, Language};
use super::library::{self, Library};
use super::text::{self, Refused};
use super::uri;
use crate::error::{Error, Result};
use crate::offline::{self, DEFINITION_KINDS};
use crate::session::block_on;

/// Checks begin when so much time has passed since the last change.
const CALM: Duration = Duration::from_millis(150);
/// More documents at once are not looked at.
const OPEN_LIMIT: usize = 1_000;
/// Folders of a workspace that definitions are looked for in.
const FOLDERS_LIMIT: usize = 16;

/// What the editor wants of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    GoOn,
    /// To end; in order where it has said `shutdown` before.
    End,
}

/// A document of the editor.
struct Open {
    uri: Uri,
    name: String,
    path: Option<PathBuf>,
    language: Language,
    version: i32,
    /// Nothing where it is too large to be kept, or where changes did not fit it.
    text: Option<String>,
    is_dirty: bool,
}

impl Open {
    /// Definitions that other documents may use.
    fn definitions(&self) -> Vec<Document> {
        let text = self.text.as_ref().filter(|text| text.len() <= check::SIZE_LIMIT);
        text.map(|text| library::of_text(&self.name, text.clone())).unwrap_or_default()
    }
}

/// One editor.
pub(super) struct Server<W> {
    send: W,
    judged: Judged,
    open: BTreeMap<String, Open>,
    library: Library,
    /// The types for hovering and proposals, until a definition changes.
    types: Option<Snapshot>,
    due: Option<Instant>,
    is_initialized: bool,
    watches: bool,
    pub(super) is_shut_down: bool,
    has_told: Option<String>,
}

impl<W: FnMut(Value) -> Result<()>> Server<W> {
    pub(super) fn new(send: W, judged: Judged) -> Self {
        Self {
            send,
            judged,
            open: BTreeMap::new(),
            library: Library::default(),
            types: None,
            due: None,
            is_initialized: false,
            watches: false,
            is_shut_down: false,
            has_told: None,
        }
    }

    /// How long there is nothing to do but to listen; for ever where it is nothing.
    pub(super) fn patience(&self) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(Instant::now()))
    }

    /// Answers a message that is none.
    pub(super) fn wrong(&mut self, code: i32, message: &str) -> Result<()> {
        (self.send)(json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}}))
    }

    pub(super) fn message(&mut self, message: Message) -> Result<Next> {
        match message {
            Message::Request(request) => {
                let response = self.request(request);
                self.respond(response)?;
            }
            Message::Notification(notification) if notification.method == "exit" => return Ok(Next::End),
            Message::Notification(notification) => self.notification(notification)?,
            // To our own requests, on which nothing depends.
            Message::Response(_) => {}
        }
        Ok(Next::GoOn)
    }

    fn respond(&mut self, response: Response) -> Result<()> {
        let value = serde_json::to_value(Message::Response(response));
        let mut value =
            value.map_err(|error| Error::internal(format!("an answer cannot be written: {error}")))?;
        value["jsonrpc"] = json!("2.0");
        (self.send)(value)
    }

    fn notify(&mut self, method: &str, params: Value) -> Result<()> {
        (self.send)(json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    fn request(&mut self, request: Request) -> Response {
        let Request { id, method, params } = request;
        let refuse = |code: ErrorCode, words: String| Response::new_err(id.clone(), code as i32, words);
        if self.is_shut_down {
            return refuse(ErrorCode::InvalidRequest, "after `shutdown` only `exit` may come".to_owned());
        }
        if !self.is_initialized && method != "initialize" {
            return refuse(
                ErrorCode::ServerNotInitialized,
                format!("`initialize` must come before `{method}`"),
            );
        }
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(&method, params)));
        match answer {
            Ok(Ok(result)) => Response::new_ok(id, result),
            Ok(Err((code, words))) => refuse(code, words),
            Err(_) => {
                let words = format!("a fault of vela itself, please report it: `{method}` panicked");
                refuse(ErrorCode::InternalError, words)
            }
        }
    }

    fn answer(&mut self, method: &str, params: Value) -> std::result::Result<Value, (ErrorCode, String)> {
        match method {
            "initialize" if self.is_initialized => {
                Err((ErrorCode::InvalidRequest, "`initialize` may come only once".to_owned()))
            }
            "initialize" => Ok(self.initialize(&params)),
            "shutdown" => {
                self.is_shut_down = true;
                self.due = None;
                Ok(Value::Null)
            }
            "textDocument/hover" => {
                let at = parsed::<HoverParams>(method, params)?.text_document_position_params;
                Ok(json!(self.at(&at, |text, types| answer::hover(text, at.position, types)).flatten()))
            }
            "textDocument/completion" => {
                let at = parsed::<CompletionParams>(method, params)?.text_document_position;
                let found = self.at(&at, |text, types| answer::complete(text, at.position, types));
                Ok(json!(found.unwrap_or_default()))
            }
            other => Err((ErrorCode::MethodNotFound, format!("`vela lsp` has no `{other}`"))),
        }
    }

    fn initialize(&mut self, params: &Value) -> Value {
        self.is_initialized = true;
        let text = |value: &Value| value.as_str().and_then(uri::path);
        let listed = params["workspaceFolders"].as_array().into_iter().flatten();
        let mut folders: Vec<PathBuf> =
            listed.filter_map(|one| text(&one["uri"])).take(FOLDERS_LIMIT).collect();
        if folders.is_empty() {
            folders
                .extend(text(&params["rootUri"]).or_else(|| params["rootPath"].as_str().map(PathBuf::from)));
        }
        self.library = Library::of(folders);
        let watching = "/capabilities/workspace/didChangeWatchedFiles/dynamicRegistration";
        self.watches = params.pointer(watching) == Some(&Value::Bool(true));
        json!({
            "capabilities": {
                "positionEncoding": "utf-16",
                "textDocumentSync": {"openClose": true, "change": 2, "save": {"includeText": false}},
                "hoverProvider": true,
                "completionProvider": {"triggerCharacters": [" "]},
            },
            "serverInfo": {"name": "vela", "version": env!("CARGO_PKG_VERSION")},
        })
    }

    /// What `work` makes of the open YAML text and the types.
    fn at<T>(
        &mut self,
        at: &TextDocumentPositionParams,
        work: impl FnOnce(&str, &Snapshot) -> T,
    ) -> Option<T> {
        if self.types.is_none() {
            self.library.refresh();
            self.types = self.known_types().ok();
        }
        let open =
            self.open.get(at.text_document.uri.as_str()).filter(|open| open.language == Language::Yaml)?;
        let text = open.text.as_ref().filter(|text| text.len() <= check::SIZE_LIMIT)?;
        Some(work(text, self.types.as_ref()?))
    }

    fn known_types(&self) -> Result<Snapshot> {
        let all = self.definitions(None);
        let all: Vec<&Document> = all.iter().collect();
        let reader = offline::built_in(self.judged.version.clone(), &all)?;
        block_on(async {
            let found = reader.all_definitions(&self.judged.namespace, &DEFINITION_KINDS).await;
            found.map_err(|error| Error::internal(error.to_string()).into())
        })
    }

    /// The definitions of files and of open documents other than this one.
    fn definitions(&self, other_than: Option<&str>) -> Vec<Document> {
        let open: Vec<PathBuf> = self.open.values().filter_map(|open| open.path.clone()).collect();
        let mut all: Vec<Document> = self.library.without(&open).cloned().collect();
        let others = self.open.iter().filter(|(key, _)| other_than != Some(key.as_str()));
        all.extend(others.flat_map(|(_, open)| open.definitions()));
        all
    }

    fn notification(&mut self, notification: Notification) -> Result<()> {
        let Notification { method, params } = notification;
        if !self.is_initialized || self.is_shut_down {
            return Ok(());
        }
        let done = catch_unwind(AssertUnwindSafe(|| self.noted(&method, params)));
        match done {
            Ok(Ok(())) => Ok(()),
            Ok(Err(Refusal::Words(words))) => self.log(&words),
            Ok(Err(Refusal::Failed(failure))) => Err(failure),
            Err(_) => self.log(&format!("a fault of vela itself, please report it: `{method}` panicked")),
        }
    }

    fn log(&mut self, words: &str) -> Result<()> {
        self.notify("window/logMessage", json!({"type": 2, "message": words}))
    }

    fn noted(&mut self, method: &str, params: Value) -> std::result::Result<(), Refusal> {
        match method {
            "initialized" if self.watches => {
                let watchers = json!([{"globPattern": "**/*.{yaml,yml,json,cue}"}]);
                let registration = json!({"id": "files", "method": "workspace/didChangeWatchedFiles",
                    "registerOptions": {"watchers": watchers}});
                let params = json!({"registrations": [registration]});
                (self.send)(
                    json!({"jsonrpc": "2.0", "id": "files", "method": "client/registerCapability", "params": params}),
                )?;
            }
            "textDocument/didOpen" => {
                let document = parsed::<DidOpenTextDocumentParams>(method, params)?.text_document;
                self.opened(document)?;
            }
            "textDocument/didChange" => self.changed(parsed(method, params)?)?,
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => self.all_dirty(),
            "textDocument/didClose" => {
                let uri = parsed::<DidCloseTextDocumentParams>(method, params)?.text_document.uri;
                if let Some(closed) = self.open.remove(uri.as_str()) {
                    self.publish(closed.uri, None, Vec::new())?;
                    // What stands in the file counts again.
                    self.all_dirty();
                }
            }
            // Of others nothing depends on an answer.
            _ => {}
        }
        Ok(())
    }

    fn opened(&mut self, document: lsp_types::TextDocumentItem) -> std::result::Result<(), Refusal> {
        let lsp_types::TextDocumentItem { uri, language_id, version, text } = document;
        let end = uri.path().as_str().rsplit('.').next().unwrap_or_default().to_lowercase();
        let language = match (end.as_str(), language_id.as_str()) {
            ("cue", _) | (_, "cue") => Language::Cue,
            ("yaml" | "yml" | "json", _) | (_, "yaml" | "json") => Language::Yaml,
            _ => return Ok(()),
        };
        if self.open.len() >= OPEN_LIMIT {
            let words = format!("{} is not checked: {OPEN_LIMIT} documents are open", uri.as_str());
            return Err(Refusal::Words(words));
        }
        let path = uri::path(uri.as_str());
        let name = path.as_ref().map_or_else(|| uri.as_str().to_owned(), |path| path.display().to_string());
        let key = uri.as_str().to_owned();
        let open = Open { uri, name, path, language, version, text: Some(text), is_dirty: true };
        self.dirty_beside(open.definitions().is_empty());
        self.open.insert(key, open);
        Ok(())
    }

    fn changed(&mut self, params: DidChangeTextDocumentParams) -> std::result::Result<(), Refusal> {
        let DidChangeTextDocumentParams { text_document, content_changes } = params;
        let Some(open) = self.open.get_mut(text_document.uri.as_str()) else { return Ok(()) };
        let had_definitions = !open.definitions().is_empty();
        open.version = text_document.version;
        open.is_dirty = true;
        let mut refused = None;
        for change in content_changes {
            // A whole text ends what was wrong before.
            let is_whole = change.range.is_none();
            if is_whole {
                open.text = Some(String::new());
            }
            let Some(text) = open.text.as_mut() else { continue };
            if let Err(why) = text::change(text, change) {
                open.text = None;
                refused = Some(why);
            }
        }
        let has_definitions = !open.definitions().is_empty();
        self.dirty_beside(!had_definitions && !has_definitions);
        match refused {
            None => Ok(()),
            Some(why) => {
                let why = match why {
                    Refused::Backwards => "a change ends before it starts",
                    Refused::TooLarge => "it is larger than any manifest",
                };
                let words =
                    format!("{} is not followed any more: {why}; open it again", text_document.uri.as_str());
                Err(Refusal::Words(words))
            }
        }
    }

    /// A document changed; where definitions may have changed with it, all others have to be looked at again.
    fn dirty_beside(&mut self, is_alone: bool) {
        match is_alone {
            true => self.due = Some(Instant::now() + CALM),
            false => self.all_dirty(),
        }
    }

    fn all_dirty(&mut self) {
        self.types = None;
        self.open.values_mut().for_each(|open| open.is_dirty = true);
        self.due = Some(Instant::now() + CALM);
    }

    /// Checks one document that has changed, if the time has come. Messages that have arrived meanwhile go before the next.
    pub(super) fn check_next(&mut self) -> Result<()> {
        let key = self.open.iter().find(|(_, open)| open.is_dirty).map(|(key, _)| key.clone());
        let Some(key) = key else {
            self.due = None;
            return Ok(());
        };
        if self.library.refresh() {
            self.all_dirty();
        }
        self.due = Some(Instant::now());
        if let Some(words) = self.library.cut_off.clone()
            && self.has_told.as_ref() != Some(&words)
        {
            self.log(&words)?;
            self.has_told = Some(words);
        }
        let definitions = self.definitions(Some(&key));
        let Some(open) = self.open.get_mut(&key) else { return Ok(()) };
        open.is_dirty = false;
        let (uri, version) = (open.uri.clone(), open.version);
        let (name, language) = (open.name.clone(), open.language);
        let text = open.text.take();
        let found = catch_unwind(AssertUnwindSafe(|| {
            let definitions: Vec<&Document> = definitions.iter().collect();
            let text = text.as_deref().unwrap_or_default();
            check::check((&name, text), language, &definitions, &self.judged)
        }));
        if let Some(open) = self.open.get_mut(&key) {
            open.text = text;
        }
        let found = match found {
            Ok(found) => found,
            Err(_) => {
                self.log(&format!("a fault of vela itself, please report it: the check of {name} panicked"))?;
                Vec::new()
            }
        };
        self.publish(uri, Some(version), found)
    }

    fn publish(
        &mut self,
        uri: Uri,
        version: Option<i32>,
        diagnostics: Vec<lsp_types::Diagnostic>,
    ) -> Result<()> {
        let params = PublishDiagnosticsParams { uri, diagnostics, version };
        self.notify("textDocument/publishDiagnostics", json!(params))
    }
}

/// Why a notification was not followed.
enum Refusal {
    Words(String),
    Failed(crate::error::Failure),
}

impl From<crate::error::Failure> for Refusal {
    fn from(failure: crate::error::Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<(ErrorCode, String)> for Refusal {
    fn from((_, words): (ErrorCode, String)) -> Self {
        Self::Words(words)
    }
}

fn parsed<T: DeserializeOwned>(method: &str, params: Value) -> std::result::Result<T, (ErrorCode, String)> {
    serde_json::from_value(params).map_err(|error| {
        (ErrorCode::InvalidParams, format!("the parameters of `{method}` cannot be read: {error}"))
    })
}
