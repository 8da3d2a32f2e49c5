//! A view: a CUE text that asks the cluster and says under `status`, or another path, what it found. Pure: it gives one question
//! after the other, as the templates of workflow steps do.

use serde_json::{Map, Value as Json};

use crate::definition::DEFAULT_ERA;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::manifest::scalar;
use crate::steps::{self, Question, Step, StepRun, Stop, wrapped};
use crate::workflow::CALLS_AT_MOST;

/// The path of the result where none is named.
const RESULT: &str = "status";
/// The field of a text that names another path.
const EXPORT: &str = "export";

/// A view with what it is asked: `NAME{key=value, …}.path`.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The name of the view.
    pub view: String,
    /// Its parameters.
    pub parameter: Json,
    /// The path of the result in its value; nothing where the view says it itself.
    pub path: Option<String>,
}

/// A view at work.
pub struct View {
    title: String,
    run: StepRun,
    path: Option<String>,
    has_returns: bool,
    calls: usize,
}

/// How far a view is.
pub enum Progress {
    /// It needs an answer.
    Ask(Question),
    /// Its result.
    Done(Json),
}

impl Query {
    /// Reads `NAME`, `NAME{key=value, …}` and either with `.path` behind. A value in quotes is a text; another one means what it means
    /// in YAML: a number, a boolean or a text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (view, rest) = text.split_at(text.find(['{', '.']).unwrap_or(text.len()));
        let view = view.trim();
        let is_name = view.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        if view.is_empty() || !is_name || view.starts_with('-') || view.ends_with('-') {
            return Err(format!("{view:?} is no name of a view: write NAME{{key=value, …}}.path"));
        }
        let (parameter, path) = match rest.strip_prefix('{') {
            Some(rest) => {
                let mut pairs = Pairs { rest };
                (pairs.read()?, pairs.rest.trim_start())
            }
            None => (Json::Object(Map::new()), rest),
        };
        let path = match path.strip_prefix('.') {
            Some("") => {
                return Err("there is nothing behind the last dot: write a path such as .status".to_owned());
            }
            Some(path) => Some(path.to_owned()),
            None if path.is_empty() => None,
            None => return Err(format!("{path:?} is not expected behind the parameters: write .path")),
        };
        Ok(Self { view: view.to_owned(), parameter, path })
    }
}

/// The parameters of a query, up to the brace that ends them.
struct Pairs<'a> {
    rest: &'a str,
}

impl<'a> Pairs<'a> {
    fn read(&mut self) -> Result<Json, String> {
        let mut all = Map::new();
        loop {
            self.rest = self.rest.trim_start();
            if let Some(rest) = self.rest.strip_prefix('}') {
                self.rest = rest;
                return Ok(Json::Object(all));
            }
            let (key, value) = self.rest.split_once('=').ok_or_else(|| match self.rest {
                "" => "the parameters end without }".to_owned(),
                rest => format!("{rest:?} is no key=value"),
            })?;
            let key = key.trim();
            if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
                return Err(format!("{key:?} is no name of a parameter: write key=value"));
            }
            self.rest = value.trim_start();
            let value = self.value(key)?;
            if all.insert(key.to_owned(), value).is_some() {
                return Err(format!("parameter {key} is there twice"));
            }
            self.rest = self.rest.trim_start();
            if let Some(rest) = self.rest.strip_prefix(',') {
                self.rest = rest;
            } else if !self.rest.starts_with('}') {
                return Err(match self.rest {
                    "" => "the parameters end without }".to_owned(),
                    rest => format!("{rest:?} is not expected behind parameter {key}: write , or }}"),
                });
            }
        }
    }

    fn value(&mut self, key: &str) -> Result<Json, String> {
        if self.rest.starts_with('"') {
            let mut texts = serde_json::Deserializer::from_str(self.rest).into_iter::<String>();
            let text = texts.next().and_then(Result::ok);
            let text = text.ok_or_else(|| {
                format!("the text of parameter {key} does not end, or has an unknown escape")
            })?;
            self.rest = self.rest.get(texts.byte_offset()..).unwrap_or_default();
            return Ok(Json::String(text));
        }
        let end = self.rest.find([',', '}']).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        match text.trim() {
            "" => Err(format!("parameter {key} has no value: write {key}=\"\" for an empty text")),
            text => scalar::plain(text).map_err(|why| format!("parameter {key}: {why}")),
        }
    }
}

impl View {
    /// Judges a text without parameters.
    ///
    /// # Errors
    /// All mistakes of the text.
    pub fn vet(title: &str, text: &str) -> Result<(), Diagnostics> {
        Step::compile(title, text, DEFAULT_ERA).map(drop)
    }

    /// A view with its parameters, at its beginning. `title` is what diagnostics call it.
    ///
    /// # Errors
    /// All mistakes of the text, or all parameters that are missing.
    pub fn begin(
        title: &str,
        text: &str,
        parameter: &Json,
        path: Option<String>,
    ) -> Result<Self, Diagnostics> {
        let step = Step::compile(title, text, DEFAULT_ERA)?;
        let missing = step.missing(parameter);
        if !missing.is_empty() {
            return Err(missing);
        }
        let run = step.run(parameter, &Json::Object(Map::new()));
        Ok(Self { title: title.to_owned(), run, path, has_returns: true, calls: 0 })
    }

    /// Goes on until the view needs an answer or has its result.
    ///
    /// # Errors
    /// The view, its parameters or an answer are wrong; it waits for something, or ends itself.
    pub fn advance(&mut self) -> Result<Progress, Diagnostics> {
        match self.run.advance()? {
            Stop::Ask(question) => {
                self.calls += 1;
                if self.calls > CALLS_AT_MOST {
                    return Err(self.wrong(format!("it makes more than {CALLS_AT_MOST} calls")));
                }
                self.has_returns = question.has_returns;
                Ok(Progress::Ask(question))
            }
            Stop::Done(value) => {
                let path = match &self.path {
                    Some(path) => path.clone(),
                    None => match steps::output(&value, EXPORT) {
                        Ok(Json::String(path)) => path,
                        _ => RESULT.to_owned(),
                    },
                };
                steps::output(&value, &path).map(Progress::Done)
            }
            Stop::Wait { message } => Err(self.wrong(format!("it has no result yet: {message}"))),
            Stop::Fail { message } | Stop::Break { message } => {
                Err(self.wrong(format!("it ends itself: {message}")))
            }
            Stop::Suspend { path, .. } => Err(self.wrong(format!("{path}: a view cannot be suspended"))),
        }
    }

    /// Takes the answer to the question that it stopped at; null is none.
    ///
    /// # Errors
    /// All answers together are too large.
    pub fn answer(&mut self, answer: Json) -> Result<(), Diagnostics> {
        self.run.answer(wrapped(answer, self.has_returns))
    }

    fn wrong(&self, message: String) -> Diagnostics {
        Diagnostic::error(Code::Template, format!("{}: {message}", self.title)).into()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_query_is_a_name_parameters_and_a_path() {
        let parsed =
            Query::parse(r#"pod-view{appName=web, appNs="a, b}", replicas=3, newest = true}.status.podList"#)
                .unwrap();
        assert_eq!(parsed.view, "pod-view");
        assert_eq!(
            parsed.parameter,
            json!({"appName": "web", "appNs": "a, b}", "replicas": 3, "newest": true})
        );
        assert_eq!(parsed.path.as_deref(), Some("status.podList"));
        let bare = Query::parse("pod-view").unwrap();
        assert_eq!((bare.parameter, bare.path), (json!({}), None));
        assert_eq!(Query::parse("pod-view.status").unwrap().path.as_deref(), Some("status"));
    }

    #[test]
    fn a_broken_query_is_refused_with_what_to_write() {
        for (text, part) in [
            ("", "no name of a view"),
            ("Pod{a=b}", "no name of a view"),
            ("pod{a=b", "end without }"),
            ("pod{a}", "is no key=value"),
            ("pod{a=}", "has no value"),
            ("pod{a=b, a=c}", "twice"),
            ("pod{a=\"b}", "does not end"),
            ("pod{a=\"b\" c}", "write , or }"),
            ("pod{a b=c}", "no name of a parameter"),
            ("pod{a=b}x", "write .path"),
            ("pod{a=b}.", "behind the last dot"),
        ] {
            let error = Query::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    const TEXT: &str = r#"
import "vela/ql"
found: ql.#Read & {value: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: parameter.name, namespace: "default"}}}
parameter: name: string
status: found.value.data.key
other: "x"
"#;

    fn result(text: &str, parameter: Json, path: Option<&str>) -> Result<Json, String> {
        let wrong = |found: Diagnostics| found.to_string();
        let mut view = View::begin("view mine", text, &parameter, path.map(str::to_owned)).map_err(wrong)?;
        loop {
            match view.advance().map_err(wrong)? {
                Progress::Done(value) => return Ok(value),
                Progress::Ask(question) => {
                    assert_eq!((question.provider.as_str(), question.function.as_str()), ("ql", "read"));
                    view.answer(
                        json!({"value": {"data": {"key": question.params["value"]["metadata"]["name"]}}}),
                    )
                    .map_err(wrong)?;
                }
            }
        }
    }

    #[test]
    fn a_view_asks_and_gives_what_its_path_says() {
        assert_eq!(result(TEXT, json!({"name": "mine"}), None), Ok(json!("mine")));
        assert_eq!(result(TEXT, json!({"name": "mine"}), Some("other")), Ok(json!("x")));
        let named = format!("{TEXT}export: \"other\"\n");
        assert_eq!(result(&named, json!({"name": "mine"}), None), Ok(json!("x")));
        let error = result(TEXT, json!({"name": "mine"}), Some("missing")).unwrap_err();
        assert!(error.contains("missing"), "{error}");
        let error = result(TEXT, json!({}), None).unwrap_err();
        assert!(error.contains("parameter.name must be given (string)"), "{error}");
        let error = result("status: 1 &", json!({}), None).unwrap_err();
        assert!(error.contains("view mine at 1:11"), "{error}");
    }

    #[test]
    fn a_view_that_waits_or_ends_has_no_result() {
        for (text, part) in [
            ("wait: builtin.#ConditionalWait & {$params: continue: false}", "no result yet"),
            ("fail: builtin.#Fail & {$params: message: \"no\"}", "ends itself: no"),
            ("stop: builtin.#Suspend & {}", "cannot be suspended"),
        ] {
            let error = result(&format!("import \"vela/builtin\"\n{text}\n"), json!({}), None).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
