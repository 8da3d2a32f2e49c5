//! A headless Chromium that a test drives by its DevTools protocol: it opens pages, and clicks and types as a person does.

// A page that is not as expected ends the test, with what it says.
#![allow(clippy::panic)]

use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};
use vela_testkit::Process;

use crate::sandbox::until;

/// The names that the program has.
const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// One answer comes within this time.
const ANSWER: Duration = Duration::from_secs(60);
/// Messages that are no answer, before one is.
const EVENTS_AT_MOST: usize = 10_000;

/// Pixels of a picture for documents, and its bytes.
const PICTURE_WIDTH: u32 = 1000;
const PICTURE_AT_MOST: usize = 150_000;

/// A page in a browser, which ends with it.
pub(crate) struct Page {
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    session: String,
    last: u64,
    _browser: Process,
}

impl Page {
    /// An empty page in a browser whose data is in this folder; nothing where this machine has no such browser.
    pub(crate) fn open(folder: &Path) -> Option<Self> {
        let has = |program: &&&str| {
            let said =
                Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            said.is_ok_and(|status| status.success())
        };
        let program = PROGRAMS.iter().find(has)?;
        let mut command = Command::new(program);
        command
            // The pages are ours, and the sandbox of the browser needs rights that containers lack.
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
            ])
            .args(["--remote-debugging-port=0", "--disable-background-networking", "about:blank"])
            .arg(format!("--user-data-dir={}", folder.display()))
            .env("HOME", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let browser = Process::from(command.spawn().unwrap());
        let file = folder.join("DevToolsActivePort");
        let written = || std::fs::read_to_string(&file).unwrap_or_default();
        until("the browser says where it listens", || written().contains("/devtools/"));
        let written = written();
        let (port, path) = written.trim().split_once('\n').unwrap();
        let (socket, _) = tungstenite::connect(format!("ws://127.0.0.1:{port}{path}")).unwrap();
        if let MaybeTlsStream::Plain(stream) = socket.get_ref() {
            stream.set_read_timeout(Some(ANSWER)).unwrap();
        }
        let mut page = Self { socket, session: String::new(), last: 0, _browser: browser };
        let target = page.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].take();
        let attach = json!({"targetId": target, "flatten": true});
        let session = page.call("Target.attachToTarget", attach)["sessionId"].take();
        page.session = session.as_str().unwrap().to_owned();
        Some(page)
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut order = json!({"id": self.last, "method": method, "params": parameters});
        if !self.session.is_empty() {
            order["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(order.to_string())).unwrap();
        for _ in 0..EVENTS_AT_MOST {
            let Message::Text(text) = self.socket.read().unwrap() else { continue };
            let mut answer: Value = serde_json::from_str(&text).unwrap();
            if answer["id"] == json!(self.last) {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
        }
        panic!("{method}: no answer among {EVENTS_AT_MOST} messages");
    }

    /// Opens an address.
    pub(crate) fn go(&mut self, address: &str) {
        let opened = self.call("Page.navigate", json!({ "url": address }));
        assert!(opened["errorText"].is_null(), "{address}: {opened}");
    }

    /// The value of an expression of the page; nothing while another page is loading.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true});
        let mut answer = self.call("Runtime.evaluate", asked);
        if answer["exceptionDetails"].is_null() { answer["result"]["value"].take() } else { Value::Null }
    }

    /// What a person reads.
    pub(crate) fn text(&mut self) -> String {
        self.value("document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page is there and says this.
    pub(crate) fn says(&mut self, words: &str) {
        let mut last = String::new();
        for _ in 0..600 {
            if self.value("document.readyState") == "complete" {
                last = self.text();
                if last.contains(words) {
                    return;
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let address = self.value("location.href");
        panic!("{address} does not say {words:?}: {last}");
    }

    /// The page as a person sees it, as a picture for documents: written where UPDATE is set, and otherwise there from before.
    pub(crate) fn picture(&mut self, name: &str, height: u32) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures").join(name);
        if std::env::var_os("UPDATE").is_none() {
            assert!(path.is_file(), "{name} is missing: run this test with UPDATE=1");
            return;
        }
        let size = json!({"width": PICTURE_WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let light = json!({"features": [{"name": "prefers-color-scheme", "value": "light"}]});
        self.call("Emulation.setEmulatedMedia", light);
        self.call("Emulation.setScrollbarsHidden", json!({"hidden": true}));
        self.value("window.scrollTo(0, 0)");
        let taken = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let png = STANDARD.decode(taken["data"].as_str().unwrap()).unwrap();
        assert!(png.len() <= PICTURE_AT_MOST, "{name} has {} bytes, more than {PICTURE_AT_MOST}", png.len());
        std::fs::write(path, png).unwrap();
    }

    /// Types into the field of this name.
    pub(crate) fn fill(&mut self, name: &str, text: &str) {
        let field = format!("document.getElementsByName({})[0]", json!(name));
        let wrote = format!("({field}.focus(), {field}.select?.(), document.activeElement === {field})");
        assert_eq!(self.value(&wrote), json!(true), "there is no field {name:?}: {}", self.text());
        self.call("Input.insertText", json!({ "text": text }));
        assert_eq!(self.value(&format!("{field}.value")), json!(text), "{name}");
    }

    /// Clicks the link or the button with this text, once the page has it. Not by its place: a live page may move it meanwhile.
    pub(crate) fn click(&mut self, text: &str) {
        let clicked = format!(
            "(() => {{ if (document.readyState !== 'complete') return false; \
             const one = [...document.querySelectorAll('a, button')].find(one => one.textContent.trim() === {}); \
             one?.click(); return Boolean(one); }})()",
            json!(text)
        );
        for _ in 0..600 {
            if self.value(&clicked) == json!(true) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("there is nothing to click that says {text:?}: {}", self.text());
    }
}
