//! `vela dashboard`: a console over the sandbox that answers every client with its link, and ends in order.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use vela_testkit::Process;

use crate::sandbox::until;
use crate::{PAGE, Person, site};

/// One request on a connection of its own; the answer with its head.
pub(crate) fn get(address: &str, path: &str, cookie: &str) -> String {
    ask(address, &format!("GET {path}"), cookie, "")
}

/// The same with any method, and with headers of its own.
fn ask(address: &str, what: &str, cookie: &str, headers: &str) -> String {
    send(address, what, cookie, headers, "")
}

/// The same with a body.
pub(crate) fn send(address: &str, what: &str, cookie: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let request = format!(
        "{what} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_console_of_the_sandbox_answers_until_ctrl_c() {
    let person = Person::new();
    let (out, err) = (person.path("out"), person.path("err"));
    let mut command = person.command(&["dashboard", "--sandbox"]);
    command.stdout(std::fs::File::create(&out).unwrap()).stderr(std::fs::File::create(&err).unwrap());
    let mut child = Process::from(command.spawn().unwrap());
    let link = || std::fs::read_to_string(&out).unwrap();
    until("it prints its link", || link().ends_with('\n'));
    let link = link().trim().to_owned();
    let (address, enter) = link.strip_prefix("http://").unwrap().split_once('/').unwrap();

    // Another command works on the sandbox meanwhile.
    person.write("site/page.yaml", PAGE);
    person.write("site/app.yaml", site(false));
    person.types(&["up", "-f", "site", "--timeout", "60s"]).ok();

    let refused = get(address, "/api/v1/applications", "");
    assert!(refused.starts_with("HTTP/1.1 401") && refused.contains("\"kind\":\"Status\""), "{refused}");
    let entered = get(address, &format!("/{enter}"), "");
    assert!(entered.starts_with("HTTP/1.1 303"), "{entered}");
    let cookie = entered.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    assert!(get(address, &format!("/{enter}"), "").starts_with("HTTP/1.1 401"), "the link works once");
    until("it lists the application as healthy", || {
        let listed = get(address, "/api/v1/applications", cookie);
        listed.contains("\"name\":\"site\"") && listed.contains("\"health\":\"healthy\"")
    });
    let tree = get(address, "/api/v1/namespaces/default/applications/site/tree", cookie);
    for kind in ["Deployment", "ReplicaSet", "Pod", "Service"] {
        assert!(tree.contains(&format!("\"kind\":\"{kind}\"")), "{kind}: {tree}");
    }
    let page = get(address, "/namespaces/default/applications/site", cookie);
    for words in ["HTTP/1.1 200", "front", "Deployment", "2/2", "site-v1", "healthy"] {
        assert!(page.contains(words), "{words}: {page}");
    }

    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let code = child.wait().unwrap().code();
    assert_eq!(code, Some(0), "{}", std::fs::read_to_string(&err).unwrap());
    assert!(person.types(&["ls"]).ok().out.contains("site"), "the sandbox was closed in order");
}

#[test]
fn a_sandbox_that_serves_has_a_console_beside_it() {
    let person = Person::new();
    let (out, err) = (person.path("out"), person.path("err"));
    let mut command = person.command(&["sandbox", "run", "--console", "--allow-changes"]);
    command.stdout(std::fs::File::create(&out).unwrap()).stderr(std::fs::File::create(&err).unwrap());
    let mut child = Process::from(command.spawn().unwrap());
    let link = || std::fs::read_to_string(&out).unwrap();
    until("it prints its link", || link().ends_with('\n'));
    let link = link().trim().to_owned();
    let (address, enter) = link.strip_prefix("http://").unwrap().split_once('/').unwrap();
    person.write("site/page.yaml", PAGE);
    person.write("site/app.yaml", site(false));
    person.types(&["up", "-f", "site", "--timeout", "60s"]).ok();
    assert!(person.types(&["sandbox", "kubeconfig"]).ok().out.contains("https://127.0.0.1:"));
    person.types(&["sandbox", "run", "--console"]).fails(1, &["serves already", "vela dashboard --sandbox"]);

    let entered = get(address, &format!("/{enter}"), "");
    let cookie = entered.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    until("it lists the application as healthy", || {
        let listed = get(address, "/api/v1/applications", cookie);
        listed.contains("\"name\":\"site\"") && listed.contains("\"health\":\"healthy\"")
    });
    let token = get(address, "/api/v1/csrf-token", cookie);
    let token = format!("X-Csrf-Token: {}\r\n", token.split('"').nth_back(1).unwrap());
    let deleted = ask(address, "DELETE /api/v1/namespaces/default/applications/site", cookie, &token);
    assert!(deleted.starts_with("HTTP/1.1 200"), "{deleted}");

    // What ends one ends both.
    person.types(&["sandbox", "stop"]).ok();
    let said = std::fs::read_to_string(&err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{said}");
    assert!(said.contains("The sandbox serves at") && said.contains("audit: "), "{said}");
    assert!(TcpStream::connect(address).is_err(), "the console has ended, too");
    assert!(person.types(&["sandbox", "status"]).ok().out.contains("at rest"));
}

#[test]
fn a_console_that_cannot_be_served_ends_its_sandbox() {
    let person = Person::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let words = ["sandbox", "run", "--console", "--console-port", &port];
    person.types(&words).fails(3, &["cannot be served", "--console-port"]);
    assert!(person.types(&["sandbox", "status"]).ok().out.contains("at rest"));
    for words in [&["--console-port", "80"][..], &["--no-open"], &["--allow-changes"]] {
        person.types(&[&["sandbox", "run"], words].concat()).fails(2, &["--console"]);
    }
}

/// An application that waits for a user before its only component.
const HELD: &str = "apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: {name: held}
spec:
  components:
    - {name: front, type: page, properties: {image: nginx:1, replicas: 1, paused: false}}
  workflow:
    steps:
      - {name: hold, type: suspend}
      - {name: front, type: apply-component, properties: {component: front}}
";

#[test]
fn a_console_for_changes_resumes_a_workflow() {
    let person = Person::new();
    let (out, err) = (person.path("out"), person.path("err"));
    let mut command = person.command(&["dashboard", "--sandbox", "--allow-changes"]);
    command.stdout(std::fs::File::create(&out).unwrap()).stderr(std::fs::File::create(&err).unwrap());
    let _console = Process::from(command.spawn().unwrap());
    let link = || std::fs::read_to_string(&out).unwrap();
    until("it prints its link", || link().ends_with('\n'));
    let link = link().trim().to_owned();
    let (address, enter) = link.strip_prefix("http://").unwrap().split_once('/').unwrap();
    person.write("held/page.yaml", PAGE);
    person.write("held/app.yaml", HELD);
    person.types(&["up", "-f", "held", "--timeout", "60s"]).ok();

    let entered = get(address, &format!("/{enter}"), "");
    let cookie = entered.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let token = get(address, "/api/v1/csrf-token", cookie);
    let token = token.split('"').nth_back(1).unwrap();
    let workflow = "/api/v1/namespaces/default/applications/held/workflow";
    let waits = "\"orders\":[\"resume\",\"terminate\",\"restart\"]";
    until("the console offers to resume it", || get(address, workflow, cookie).contains(waits));
    let resume = format!("POST {workflow}/resume");
    let refused = ask(address, &resume, cookie, "");
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    let resumed = ask(address, &resume, cookie, &format!("X-Csrf-Token: {token}\r\n"));
    assert!(resumed.starts_with("HTTP/1.1 200"), "{resumed}");
    until("it runs to its end", || {
        get(address, workflow, cookie).contains("\"phase\":\"succeeded\",\"message\":\"\"")
    });
    let said = std::fs::read_to_string(&err).unwrap();
    let audits: Vec<&str> = said.lines().filter(|line| line.starts_with("audit: ")).collect();
    assert!(
        matches!(audits[..], [one] if one.contains("user=\"vela-sandbox\" cluster=\"the local sandbox\" order=\"resume\" object=\"Application default/held\" outcome=\"done\"")),
        "{said}"
    );
}

#[test]
fn a_sandbox_has_no_users_of_its_own() {
    let person = Person::new();
    let file = person.write("secret", SECRET);
    for words in [
        &["--auth", "token"][..],
        &["--auth", "kubeconfig"],
        &["--auth", "oidc-proxy", "--proxy-secret-file", &file],
    ] {
        let all = [&["dashboard", "--sandbox"], words].concat();
        person.types(&all).fails(1, &["one user", "--kubeconfig"]);
    }
}

const SECRET: &str = "0123456789abcdef0123456789abcdef\n";

#[test]
fn a_proxy_that_could_be_anybody_is_refused() {
    let person = Person::new();
    let (short, good) = (person.write("short", "abc"), person.write("good", SECRET));
    let proxy = ["dashboard", "--auth", "oidc-proxy"];
    for (words, said) in [
        (&[][..], "--proxy-secret-file"),
        (&["--proxy-secret-file", "nowhere"], "nowhere"),
        (&["--proxy-secret-file", &short], "openssl"),
        (&["--proxy-secret-file", &good, "--user-header", "x-forwarded-groups"], "three names"),
        (&["--proxy-secret-file", &good, "--public-url", "vela.example"], "https://HOST"),
    ] {
        person.types(&[&proxy, words].concat()).fails(1, &[said]);
    }
    let unused = ["dashboard", "--sandbox", "--user-header", "x-user"];
    person.types(&unused).fails(1, &["--auth oidc-proxy"]);
}

#[test]
fn a_cluster_that_ignores_the_user_shows_nothing() {
    let person = Person::new();
    // The embedded API server has one user, and takes no other name.
    let cluster = crate::controller::Cluster::new(&person);
    let (out, err) = (person.path("out"), person.path("err"));
    let secret = person.write("secret", SECRET);
    let words = [
        "dashboard",
        "--auth",
        "oidc-proxy",
        "--proxy-secret-file",
        &secret,
        "--kubeconfig",
        &cluster.kubeconfig,
    ];
    let mut command = person.command(&words);
    command.stdout(std::fs::File::create(&out).unwrap()).stderr(std::fs::File::create(&err).unwrap());
    let _console = Process::from(command.spawn().unwrap());
    let printed = || std::fs::read_to_string(&out).unwrap();
    until("it prints its address", || printed().ends_with('\n'));
    let printed = printed();
    let address = printed.trim().strip_prefix("http://").unwrap();
    let list = "GET /api/v1/applications";
    let refused = ask(address, list, "", "X-Forwarded-User: jane\r\n");
    assert!(refused.starts_with("HTTP/1.1 401") && refused.contains("--proxy-secret-file"), "{refused}");
    let headers = format!("X-Forwarded-User: jane\r\nX-Vela-Proxy-Secret: {}\r\n", SECRET.trim());
    let refused = ask(address, list, "", &headers);
    assert!(refused.starts_with("HTTP/1.1 502") && refused.contains("Impersonate-User"), "{refused}");
    let said = std::fs::read_to_string(&err).unwrap();
    assert!(said.contains("has to come from the proxy") && !said.contains(SECRET.trim()), "{said}");
}

#[test]
fn a_port_that_is_taken_is_said_with_what_to_do() {
    let person = Person::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut command = person.command(&["dashboard", "--sandbox", "--no-open", "--port", &port]);
    let said = crate::CommandOutput::of(&command.stderr(Stdio::piped()).output().unwrap());
    said.fails(3, &["cannot be served", "--port"]);
}
