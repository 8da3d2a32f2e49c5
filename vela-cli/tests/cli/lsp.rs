//! `vela lsp`, driven as an editor drives it: frames in, frames out, each awaited for a bounded time.

#![allow(clippy::panic)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{PAGE, Person};

/// Longer than any answer takes; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// An application of a built-in type, with a mistake behind umlauts and emoji.
const WEB: &str = "\
apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: {name: web}
spec:
  components:
    - name: web
      type: webservice
      properties:
        image: nginx
        cmd: [\"grüße🚀🚀\", 1]
        cpuu: \"1\"
";

struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
    last: i32,
}

impl Drop for Editor {
    fn drop(&mut self) {
        // One that has ended already cannot be ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Editor {
    /// A server that is initialized for the home folder of a person.
    fn of(person: &Person) -> Self {
        let mut editor = Self::started(person);
        let root = format!("file://{}", person.home.path().display());
        let answer = editor.ask("initialize", json!({"rootUri": root, "capabilities": {}}));
        assert_eq!(answer["result"]["capabilities"]["positionEncoding"], "utf-16");
        editor.notify("initialized", json!({}));
        editor
    }

    fn started(person: &Person) -> Self {
        let mut command = person.command(&["lsp", "--stdio"]);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = spawned.unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let mut from = BufReader::new(output);
            loop {
                let mut head = String::new();
                let Ok(1..) = from.read_line(&mut head) else { return };
                let length = head.trim().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
                from.read_line(&mut head).unwrap();
                let mut body = vec![0; length];
                from.read_exact(&mut body).unwrap();
                if sender.send(serde_json::from_slice(&body).unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { child, input, output: receiver, last: 0 }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).and_then(|()| input.flush()).unwrap();
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.bytes(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    #[track_caller]
    fn next(&mut self) -> Value {
        self.output.recv_timeout(PATIENCE).unwrap()
    }

    #[track_caller]
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}));
        loop {
            let message = self.next();
            if message["id"] == self.last {
                return message;
            }
        }
    }

    fn open(&mut self, uri: &str, text: &str) {
        let document = json!({"uri": uri, "languageId": "yaml", "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
    }

    fn change(&mut self, uri: &str, version: i32, changes: Value) {
        let document = json!({"uri": uri, "version": version});
        self.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": changes}));
    }

    /// The findings of a version of a document, each as `line:from-to severity code: message`.
    #[track_caller]
    fn findings(&mut self, uri: &str, version: i32) -> Vec<String> {
        loop {
            let message = self.next();
            let params = &message["params"];
            if message["method"] == "textDocument/publishDiagnostics"
                && params["uri"] == uri
                && params["version"] == version
            {
                return params["diagnostics"].as_array().unwrap().iter().map(shown).collect();
            }
        }
    }

    /// Waits until the server says something for the log.
    #[track_caller]
    fn logged(&mut self) {
        while self.next()["method"] != "window/logMessage" {}
    }

    #[track_caller]
    fn ends(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < deadline, "the server does not end");
            std::thread::yield_now();
        }
    }
}

fn shown(finding: &Value) -> String {
    let (start, end) = (&finding["range"]["start"], &finding["range"]["end"]);
    assert_eq!((start["line"].clone(), &finding["source"]), (end["line"].clone(), &json!("vela")));
    format!(
        "{}:{}-{} {} {}: {}",
        start["line"],
        start["character"],
        end["character"],
        finding["severity"],
        finding["code"].as_str().unwrap(),
        finding["message"].as_str().unwrap()
    )
}

#[track_caller]
fn all_begin(found: &[String], expected: &[&str]) {
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found:?} does not begin with {expected:?}");
    }
}

/// Position of the first place of a text behind this mark.
#[track_caller]
fn behind(text: &str, mark: &str) -> Value {
    let at = text.find(mark).unwrap() + mark.len();
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    json!({"line": text[..at].matches('\n').count(), "character": text[start..at].encode_utf16().count()})
}

fn at(uri: &str, position: Value) -> Value {
    json!({"textDocument": {"uri": uri}, "position": position})
}

#[test]
fn mistakes_follow_the_text_with_their_exact_ranges() {
    let person = Person::new();
    let mut editor = Editor::of(&person);
    let uri = "file:///elsewhere/web.yaml";
    editor.open(uri, WEB);
    let found = editor.findings(uri, 1);
    all_begin(&found, &["9:27-28 1 parameter: ", "10:8-12 1 unknown_parameter: "]);
    assert!(found[1].contains("\nhelp: ") && found[1].contains("cpu"), "{found:?}");
    // Behind two emoji, the value gets quotes, and the name its right spelling.
    let range = |line: u32, from: u32, to: u32| json!({"start": {"line": line, "character": from}, "end": {"line": line, "character": to}});
    let changes = json!([
        {"range": range(9, 27, 28), "text": "\"1\""},
        {"range": range(10, 8, 12), "text": "cpu"},
    ]);
    editor.change(uri, 2, changes);
    assert_eq!(editor.findings(uri, 2), [""; 0]);
    // Several documents; what is none of ours is left alone.
    let several = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: [wrong]\n---\n{}---\n{}",
        WEB.replace("image: nginx", "image: 1").replace(", 1]", ", c]").replace("cpuu", "cpu"),
        WEB.replace("webservice", "webservise").replace(", 1]", ", c]"),
    );
    editor.change(uri, 3, json!([{"text": several}]));
    all_begin(
        &editor.findings(uri, 3),
        &[
            "12:15-16 1 parameter: ",
            "22:12-22 2 unknown_definition: unknown component type \"webservise\" here: it is neither built in nor defined in the opened folder\nhelp: ",
        ],
    );
    editor.change(uri, 4, json!([{"text": "a: [\n"}]));
    assert_eq!(editor.findings(uri, 4), [""; 0]);
    editor.change(uri, 5, json!([{"text": "apiVersion: core.oam.dev/v1beta1\nkind: [\n"}]));
    let found = editor.findings(uri, 5);
    assert!(found.len() == 1 && found[0].contains(" 1 syntax: "), "{found:?}");
    editor.change(uri, 6, json!([{"text": format!("# {}\n{WEB}", "x".repeat(1 << 20))}]));
    all_begin(&editor.findings(uri, 6), &["0:0-"]);
    editor.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    let cleared = editor.next();
    assert_eq!((&cleared["params"]["uri"], &cleared["params"]["diagnostics"]), (&json!(uri), &json!([])));
}

#[test]
fn definitions_of_the_folder_are_known_and_followed() {
    let person = Person::new();
    let page = person.write("definitions/page.yaml", PAGE);
    let mut editor = Editor::of(&person);
    let uri = "file:///elsewhere/site.yaml";
    let site = crate::site(false);
    editor.open(uri, &site);
    assert_eq!(editor.findings(uri, 1), [""; 0]);
    std::fs::remove_file(&page).unwrap();
    let changed = json!({"changes": [{"uri": format!("file://{page}"), "type": 3}]});
    editor.notify("workspace/didChangeWatchedFiles", changed);
    all_begin(&editor.findings(uri, 1), &["7:12-16 2 unknown_definition: "]);
    // One that is being written counts before it is saved.
    let cue = format!("file://{}", person.path("page.cue").display());
    let text = "page: {\n\ttype: \"component\"\n\tattributes: workload: definition: {apiVersion: \"v1\", kind: \"ConfigMap\"}\n}\ntemplate: {\n\toutput: {apiVersion: \"v1\", kind: \"ConfigMap\", data: a: parameter.image}\n\tparameter: {image: string, replicas: int, paused: bool}\n}\n";
    editor.open(&cue, text);
    assert_eq!(editor.findings(uri, 1), [""; 0]);
    editor.change(&cue, 2, json!([{"text": text.replace("parameter.image", "parametr.image")}]));
    let found = editor.findings(&cue, 2);
    assert!(found.iter().any(|one| one.starts_with("5:") && one.contains("parametr")), "{found:?}");
    editor.change(&cue, 3, json!([{"text": "a: 1\n"}]));
    assert_eq!(editor.findings(&cue, 3), [""; 0]);
}

#[test]
fn configurations_and_components_are_checked() {
    let person = Person::new();
    let mut editor = Editor::of(&person);
    let component = "apiVersion: core.oam.dev/v1alpha2\nkind: Component\nmetadata: {name: front}\nspec:\n  workload: {apiVersion: v1, kind: ConfigMap}\n";
    let configuration = "apiVersion: core.oam.dev/v1alpha2\nkind: ApplicationConfiguration\nmetadata: {name: site}\nspec:\n  components:\n    - componentName: front\n";
    let uri = "file:///elsewhere/site.yaml";
    editor.open(uri, &format!("{component}---\n{configuration}"));
    assert_eq!(editor.findings(uri, 1), [""; 0]);
    let broken = component.replace(", kind: ConfigMap", "");
    editor.change(
        uri,
        2,
        json!([{"text": format!("{broken}---\n{configuration}    - componentName: back\n")}]),
    );
    let found = editor.findings(uri, 2);
    assert!(found.iter().any(|one| one.contains(" 1 missing_field: ")), "{found:?}");
    assert!(
        found.iter().any(|one| one.starts_with("12:") && one.contains(" 2 ") && one.contains("back")),
        "{found:?}"
    );
}

#[test]
fn wrong_messages_end_nothing_and_the_end_is_in_order() {
    let person = Person::new();
    let mut editor = Editor::started(&person);
    assert_eq!(editor.ask("textDocument/hover", json!({}))["error"]["code"], -32002);
    for (bytes, code) in [
        ("nonsense\r\n\r\n", -32700),
        ("Content-Length: 1\r\n\r\n{", -32700),
        ("Content-Length: 2\r\n\r\n[]", -32600),
    ] {
        editor.bytes(bytes.as_bytes());
        let answer = editor.next();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &Value::Null));
    }
    assert!(editor.ask("initialize", json!({"capabilities": {}}))["result"].is_object());
    assert_eq!(editor.ask("initialize", json!({}))["error"]["code"], -32600);
    assert_eq!(editor.ask("textDocument/rename", json!({}))["error"]["code"], -32601);
    assert_eq!(editor.ask("textDocument/hover", json!({"position": 1}))["error"]["code"], -32602);
    editor.notify("$/unknown", json!({}));
    editor.notify("textDocument/didOpen", json!({"textDocument": 1}));
    editor.logged();
    let uri = "file:///a.yaml";
    editor.open(uri, WEB);
    let backwards = json!({"start": {"line": 1, "character": 0}, "end": {"line": 0, "character": 0}});
    editor.change(uri, 2, json!([{"range": backwards, "text": ""}]));
    editor.logged();
    assert_eq!(editor.ask("shutdown", Value::Null)["result"], Value::Null);
    assert_eq!(editor.ask("textDocument/hover", json!({}))["error"]["code"], -32600);
    editor.notify("exit", Value::Null);
    assert_eq!(editor.ends(), Some(0));
    let mut cut_off = Editor::of(&person);
    cut_off.input = None;
    assert_eq!(cut_off.ends(), Some(1));
}

#[test]
fn types_and_parameters_are_described_where_they_stand() {
    let person = Person::new();
    let mut editor = Editor::of(&person);
    let uri = "file:///a.yaml";
    let text = format!(
        "a: [\n---\n{WEB}      traits:\n        - type: scaler\n          properties: {{replicas: 2}}\n"
    );
    editor.open(uri, &text);
    let mut hover = |mark: &str| {
        let answer = editor.ask("textDocument/hover", at(uri, behind(&text, mark)));
        answer["result"]["contents"]["value"].as_str().unwrap_or_default().to_owned()
    };
    let webservice = hover("type: webs");
    assert!(
        webservice.starts_with("## component `webservice`\n") && webservice.contains("| `image`"),
        "{webservice}"
    );
    assert!(hover("type: sc").starts_with("## trait `scaler`\n"));
    let replicas = hover("{repl");
    assert!(replicas.starts_with("**replicas**: `int") && replicas.contains("default 1"), "{replicas}");
    assert!(hover("    ima").starts_with("**image**: `string, required`\n"));
    assert_eq!((hover("cpu"), hover("apiV"), hover("a: [")), Default::default());
}

#[test]
fn what_fits_is_proposed() {
    let person = Person::new();
    let mut editor = Editor::of(&person);
    let uri = "file:///a.yaml";
    let mut version = 0;
    let mut proposed = |end: &str| -> Vec<(String, String)> {
        let text = format!("{}{end}", WEB.split("        cmd").next().unwrap());
        version += 1;
        match version {
            1 => editor.open(uri, &text),
            _ => editor.change(uri, version, json!([{"text": text}])),
        }
        let answer = editor.ask("textDocument/completion", at(uri, behind(&text, &text)));
        let items = answer["result"].as_array().unwrap().clone();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        items.iter().map(|one| (text(&one["label"]), text(&one["textEdit"]["newText"]))).collect()
    };
    let has =
        |all: &[(String, String)], label: &str, new: &str| all.contains(&(label.to_owned(), new.to_owned()));
    let types = proposed("      traits:\n        - type: sc");
    assert!(has(&types, "scaler", "scaler") && !has(&types, "webservice", "webservice"), "{types:?}");
    assert!(has(&proposed("    - name: b\n      type:"), "worker", " worker"));
    assert!(has(&proposed("  policies:\n    - type: "), "override", "override"));
    assert!(has(&proposed("  workflow:\n    steps:\n      - type: "), "deploy", "deploy"));
    let names = proposed("        ");
    assert!(has(&names, "cpu", "cpu: ") && has(&names, "ports", "ports:"), "{names:?}");
    assert!(!names.iter().any(|(label, _)| label == "image"), "{names:?}");
    let ports = proposed("        ports:\n          - ");
    assert_eq!(ports[0].0, "port", "what must be given comes first: {ports:?}");
    let values = proposed("        imagePullPolicy: ");
    assert!(has(&values, "Always", "Always") && values.len() == 3, "{values:?}");
    assert_eq!(proposed("        # t"), []);
    assert_eq!(proposed("        image: "), []);
}
