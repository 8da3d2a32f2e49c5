//! Capability centres that are artefacts of an OCI registry.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use vela_testkit::tar_gz;

use crate::{PAGE, Person};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const ARCHIVE: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";
/// `a:b` and the token that it is exchanged for.
const BASIC: &str = "Basic YTpi";
const BEARER: &str = "Bearer short-lived";

/// A registry with the artefact `types:v1`, behind a token that is given for credentials.
struct Registry {
    host: String,
    asked: Receiver<String>,
}

/// What a registry has, by path.
type Content = BTreeMap<String, Vec<u8>>;

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

/// An artefact of layers, each with its media type and its title, where it has one.
fn artifact(layers: &[(&str, Option<&str>, Vec<u8>)]) -> Content {
    let mut content = Content::new();
    let mut listed = Vec::new();
    for (media, title, bytes) in layers {
        let annotations = title.map(|title| json!({"org.opencontainers.image.title": title}));
        listed.push(
            json!({"mediaType": media, "digest": digest(bytes), "size": bytes.len(), "annotations": annotations}),
        );
        content.insert(format!("/v2/acme/types/blobs/{}", digest(bytes)), bytes.clone());
    }
    let manifest =
        json!({"schemaVersion": 2, "mediaType": MANIFEST, "layers": listed}).to_string().into_bytes();
    content.insert("/v2/acme/types/manifests/v1".to_owned(), manifest.clone());
    content.insert(format!("/v2/acme/types/manifests/{}", digest(&manifest)), manifest);
    content
}

impl Registry {
    fn serve(content: Content) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let (sender, asked) = channel();
        let own = host.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (content, sender, host) = (content.clone(), sender.clone(), own.clone());
                std::thread::spawn(move || answer(stream.unwrap(), &content, &sender, &host));
            }
        });
        Self { host, asked }
    }

    fn paths(&self) -> Vec<String> {
        self.asked.try_iter().collect()
    }
}

fn answer(stream: TcpStream, content: &Content, asked: &Sender<String>, host: &str) {
    let mut lines = BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let Some(path) = lines.next().and_then(|line| line.split(' ').nth(1).map(str::to_owned)) else { return };
    let is = |line: &str, name: &str| line.to_lowercase().starts_with(name);
    let shown = lines.find(|line| is(line, "authorization:")).unwrap_or_default();
    let shown = shown.split_once(": ").map_or("", |(_, value)| value);
    asked.send(path.clone()).unwrap();
    let challenge = format!("www-authenticate: Bearer realm=\"http://{host}/token\",service=\"{host}\"");
    let token = json!({"token": BEARER.trim_start_matches("Bearer ")}).to_string().into_bytes();
    let (status, more, body) = match (path.split('?').next().unwrap_or_default(), content.get(&path)) {
        ("/token", _) if shown == BASIC => ("200 OK", String::new(), token),
        ("/token", _) => ("401 Unauthorized", String::new(), Vec::new()),
        _ if shown != BEARER => ("401 Unauthorized", challenge, Vec::new()),
        (_, Some(bytes)) => ("200 OK", "content-type: application/octet-stream".to_owned(), bytes.clone()),
        _ => ("404 Not Found", String::new(), Vec::new()),
    };
    let more = if more.is_empty() { more } else { format!("{more}\r\n") };
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{more}connection: close\r\n\r\n", body.len());
    // A client that has what it wants may be gone.
    let _ = (&stream).write_all(head.as_bytes()).and_then(|()| (&stream).write_all(&body));
}

/// A person who logged in to the registry.
fn logged_in(host: &str) -> Person {
    let person = Person::new();
    let auths = json!({"auths": {host: {"auth": BASIC.trim_start_matches("Basic ")}}});
    person.write(".docker/config.json", auths.to_string());
    person
}

fn config(person: &Person, address: &str) -> crate::CommandOutput {
    let mut command = person.command(&["cap", "center", "config", "team", address]);
    command.env("DOCKER_CONFIG", person.path(".docker"));
    crate::CommandOutput::of(&command.output().unwrap())
}

fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let all = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
    tar_gz::pack(&all.collect()).unwrap()
}

#[test]
fn an_artifact_is_read_with_stored_credentials() {
    let packed = archive(&[("page.yaml", PAGE), ("notes.txt", "none"), ("in/odd.yaml", "a: 1")]);
    let other = PAGE.replace("name: page", "name: leaf");
    let files = artifact(&[
        (ARCHIVE, None, packed),
        // The type that oras gives to files and folders alike.
        ("application/vnd.oci.image.layer.v1.tar", Some("leaf.yaml"), other.into_bytes()),
        ("text/plain", Some("readme.md"), b"none".to_vec()),
    ]);
    let manifest = digest(&files["/v2/acme/types/manifests/v1"]);
    let registry = Registry::serve(files);
    let address = format!("oci://{}/acme/types:v1", registry.host);
    let person = logged_in(&registry.host);
    let said = config(&person, &address).ok();
    assert!(said.err.contains("2 of 2 definitions of team are read."), "{said:?}");
    let asked = registry.paths();
    let token = asked
        .iter()
        .filter(|path| path.starts_with("/token?scope=repository%3Aacme%2Ftypes%3Apull&service="));
    // What no definition can be is not read.
    assert_eq!((asked.len(), token.count()), (5, 1), "{asked:?}");
    assert_eq!(person.types(&["cap", "ls", "-o", "name"]).ok().out, "team/leaf\nteam/page\n");
    assert!(person.types(&["cap", "center", "ls"]).ok().out.contains(&address));
    person.types(&["cap", "install", "team/leaf"]).ok();

    let said = config(&person, &format!("oci://{}/acme/types@{manifest}//in", registry.host));
    said.fails(1, &["in/odd.yaml".trim_start_matches("in/")]);
    config(&person, &format!("oci://{}/acme/types@{manifest}", registry.host)).ok();
}

#[test]
fn an_artifact_that_cannot_be_read_is_told() {
    let mut content = artifact(&[(ARCHIVE, None, archive(&[("page.yaml", PAGE)]))]);
    let blob = content.keys().find(|path| path.contains("/blobs/")).unwrap().clone();
    content.get_mut(&blob).unwrap()[20] ^= 1;
    let manifest = |value: Value| value.to_string().into_bytes();
    let layer = |media: &str, size: u64| json!({"mediaType": media, "size": size, "digest": digest(b"")});
    for (tag, value) in [
        ("chart", json!({"layers": [layer("application/vnd.cncf.helm.chart.content.v1.tar+gzip", 1)]})),
        ("zstd", json!({"layers": [layer("application/vnd.oci.image.layer.v1.tar+zstd", 1)]})),
        ("large", json!({"layers": [layer(ARCHIVE, 1 << 40)]})),
        ("many", json!({"manifests": [{"digest": digest(b"a")}, {"digest": digest(b"b")}]})),
        ("empty", json!({"layers": []})),
        ("none", json!({})),
    ] {
        content.insert(format!("/v2/acme/types/manifests/{tag}"), manifest(value));
    }
    content.insert("/v2/acme/types/manifests/text".to_owned(), b"<html>".to_vec());
    let registry = Registry::serve(content);
    let person = logged_in(&registry.host);
    for (tag, words) in [
        ("v1", "is not what its digest says"),
        ("chart", "it is a Helm chart"),
        ("zstd", "compressed by zstd"),
        ("large", "its layers are larger than 64 MiB"),
        ("many", "it is a list of 2 manifests"),
        ("empty", "there is no .yaml, .yml, .json or .cue file"),
        ("none", "its manifest has no layers"),
        ("text", "its manifest is no JSON"),
        ("gone", "there is no artefact"),
    ] {
        let address = format!("oci://{}/acme/types:{tag}", registry.host);
        config(&person, &address).fails(1, &[words]);
    }
    assert_eq!(person.types(&["cap", "center", "ls", "-o", "name"]).ok().out, "");

    // Without credentials, and with those that another program keeps.
    let address = format!("oci://{}/acme/types:v1", registry.host);
    config(&Person::new(), &address)
        .fails(1, &["wants credentials", "none are stored", "docker login 127.0.0.1:"]);
    person.write(".docker/config.json", json!({"credsStore": "vault"}).to_string());
    config(&person, &address).fails(
        1,
        &["docker-credential-vault, which keeps them, is not installed", "docker login 127.0.0.1:"],
    );
    config(&person, "oci://127.0.0.1:1/acme/types").fails(1, &["cannot be read"]);
    config(&person, "oci://169.254.169.254/acme/types").fails(1, &["may not be asked"]);
}

/// As desktops store credentials.
#[test]
fn credentials_that_a_program_keeps_are_asked_for() {
    let registry = Registry::serve(artifact(&[(ARCHIVE, None, archive(&[("page.yaml", PAGE)]))]));
    let person = Person::new();
    person.write(
        ".docker/config.json",
        json!({"auths": {&registry.host: {}}, "credsStore": "vault"}).to_string(),
    );
    let ask = |script: String| {
        let file = person.write("bin/docker-credential-vault", format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let address = format!("oci://{}/acme/types:v1", registry.host);
        let mut command = person.command(&["cap", "center", "config", "team", &address]);
        command.env("DOCKER_CONFIG", person.path(".docker")).env("PATH", person.path("bin"));
        crate::CommandOutput::of(&command.output().unwrap())
    };
    let answer = json!({"ServerURL": registry.host, "Username": "a", "Secret": "b"});
    let said =
        ask(format!("read server\n[ \"$1 $server\" = \"get {}\" ] && echo '{answer}'", registry.host)).ok();
    assert!(said.err.contains("1 of 1 definitions of team are read."), "{said:?}");
    ask("echo 'credentials not found in native keychain'; exit 1".to_owned()).fails(1, &["none are stored"]);
    ask("echo 'the store is locked' >&2; exit 1".to_owned()).fails(1, &["fails", "the store is locked"]);
    ask("echo '{\"Username\":\"<token>\",\"Secret\":\"x\"}'".to_owned()).fails(1, &["an identity token"]);
    ask("echo nothing".to_owned()).fails(1, &["answers what is no credentials"]);
}
