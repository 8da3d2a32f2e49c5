//! The image of a container → its registry and its path there, as container runtimes read it. Pure.

use std::borrow::Cow;

/// The registry of an image that names none.
const DOCKER: &str = "docker.io";
/// An older name of the same.
const DOCKER_BEFORE: &str = "index.docker.io";
/// Where that registry has what has a name and no path.
const LIBRARY: &str = "library";
/// Registry and path together at most.
const NAME_AT_MOST: usize = 255;
const TAG_AT_MOST: usize = 128;
/// Hexadecimal digits of a digest at least.
const DIGEST_AT_LEAST: usize = 32;
/// Hexadecimal digits of an image's own name, which no registry knows.
const OWN_NAME: usize = 64;
/// The tag of an image that names none.
const LATEST: &str = ":latest";

/// An image of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference<'a> {
    registry: &'a str,
    path: Cow<'a, str>,
    /// A tag with its colon, or a digest with its at sign.
    version: &'a str,
}

impl<'a> Reference<'a> {
    /// Nothing, where no container runtime takes it.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let (rest, digest) = split_before(text, text.find('@'));
        let after_path = rest.rfind('/').unwrap_or_default();
        let (name, tag) = split_before(rest, rest[after_path..].find(':').map(|at| after_path + at));
        let is_right = |part: &str, is: fn(&str) -> bool| part.is_empty() || is(&part[1..]);
        if !is_right(digest, is_digest) || !is_right(tag, is_tag) || name.len() > NAME_AT_MOST {
            return None;
        }
        let (registry, path) = match name.split_once('/') {
            Some((first, path)) if is_registry(first) => (first, path),
            _ => (DOCKER, name),
        };
        let is_own_name = path.len() == OWN_NAME && path.bytes().all(is_hexadecimal);
        if !path.split('/').all(is_component) || is_own_name {
            return None;
        }
        let registry = if registry == DOCKER_BEFORE { DOCKER } else { registry };
        let path = match registry == DOCKER && !path.contains('/') {
            true => Cow::Owned(format!("{LIBRARY}/{path}")),
            false => Cow::Borrowed(path),
        };
        // A digest says more than a tag.
        let version = [digest, tag, LATEST].into_iter().find(|part| !part.is_empty())?;
        Some(Self { registry, path, version })
    }

    /// Host and port.
    pub(super) fn registry(&self) -> &str {
        self.registry
    }

    /// The same image as a project of a Harbor has it.
    pub(super) fn of_project(&self, server: &str, project: &str) -> String {
        let Self { registry: _, path, version } = self;
        format!("{server}/{project}/{path}{version}")
    }
}

fn split_before(text: &str, at: Option<usize>) -> (&str, &str) {
    text.split_at(at.unwrap_or(text.len()))
}

/// The first part of a path is a registry where it cannot be anything else.
fn is_registry(first: &str) -> bool {
    let is_letter =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b':' | b'-' | b'[' | b']');
    let is_host = first == "localhost"
        || first.bytes().any(|byte| matches!(byte, b'.' | b':') || byte.is_ascii_uppercase());
    is_host
        && first.bytes().all(is_letter)
        && first.starts_with(|first: char| first == '[' || first.is_ascii_alphanumeric())
}

/// Lower-case letters and digits, between them a dot, one or two underscores, or dashes.
fn is_component(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_separator = |part: &str| matches!(part, "." | "_" | "__") || part.bytes().all(|byte| byte == b'-');
    text.starts_with(is_letter)
        && text.ends_with(is_letter)
        && text.split(is_letter).all(|between| between.is_empty() || is_separator(between))
}

fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= TAG_AT_MOST
        && text.bytes().next().is_some_and(is_word)
        && text.bytes().all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
}

fn is_digest(text: &str) -> bool {
    let is_algorithm = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+' | b'.'))
    };
    text.split_once(':').is_some_and(|(algorithm, value)| {
        is_algorithm(algorithm) && value.len() >= DIGEST_AT_LEAST && value.bytes().all(is_hexadecimal)
    })
}

fn is_hexadecimal(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_read_as_container_runtimes_do() {
        let digest = format!("@sha256:{}", "a1".repeat(32));
        for (image, registry, expected) in [
            ("nginx".to_owned(), "docker.io", "library/nginx:latest".to_owned()),
            ("nginx:1.27".to_owned(), "docker.io", "library/nginx:1.27".to_owned()),
            ("bitnami/nginx".to_owned(), "docker.io", "bitnami/nginx:latest".to_owned()),
            ("docker.io/nginx:1".to_owned(), "docker.io", "library/nginx:1".to_owned()),
            ("index.docker.io/a/b".to_owned(), "docker.io", "a/b:latest".to_owned()),
            ("quay.io/a/b/c:v1".to_owned(), "quay.io", "a/b/c:v1".to_owned()),
            ("quay.io/single".to_owned(), "quay.io", "single:latest".to_owned()),
            ("localhost/a".to_owned(), "localhost", "a:latest".to_owned()),
            ("localhost:5000/a:2".to_owned(), "localhost:5000", "a:2".to_owned()),
            ("[::1]:5000/a".to_owned(), "[::1]:5000", "a:latest".to_owned()),
            ("Host/a__b/c--d.e".to_owned(), "Host", "a__b/c--d.e:latest".to_owned()),
            (format!("nginx{digest}"), "docker.io", format!("library/nginx{digest}")),
            (format!("ghcr.io/a/b:v2{digest}"), "ghcr.io", format!("a/b{digest}")),
        ] {
            let read = Reference::read(&image).unwrap_or_else(|| panic!("{image} is read"));
            assert_eq!(read.registry(), registry, "{image}");
            assert_eq!(
                read.of_project("hub.example:8443", "proxy"),
                format!("hub.example:8443/proxy/{expected}")
            );
        }
    }

    #[test]
    fn what_is_no_image_is_not_read() {
        let (long, own, tag) = ("a".repeat(256), "0f".repeat(32), format!("a:{}", "t".repeat(129)));
        for image in [
            "",
            " nginx",
            "nginx ",
            "Nginx",
            "nginx:",
            "nginx:-1",
            "a//b",
            "/a",
            "a/",
            "https://quay.io/a",
            "a___b",
            "a._b",
            "-a",
            "a@sha256:12",
            "a@",
            "quay.io/A",
            "ä/b.c",
            "-.io/a",
            &long,
            &own,
            &tag,
        ] {
            assert_eq!(Reference::read(image), None, "{image:?}");
        }
    }
}
