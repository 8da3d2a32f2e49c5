//! URIs of files ↔ paths.

use std::path::{Path, PathBuf};

use lsp_types::Uri;

/// The path that a `file:` URI means; nothing for others.
pub(super) fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    // An empty host is this machine.
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let text = decoded(rest)?;
    // `/C:/folder` is a path of Windows.
    let is_drive = text.get(2..3) == Some(":") && text.starts_with('/');
    text.starts_with('/').then(|| PathBuf::from(if is_drive { &text[1..] } else { &text }))
}

/// The URI of a path that is absolute.
pub(super) fn of_path(path: &Path) -> Option<Uri> {
    let text = path.to_str()?.replace('\\', "/");
    let mut uri = String::from(if text.starts_with('/') { "file://" } else { "file:///" });
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(byte))
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri.parse().ok()
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(after.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_go_there_and_back() {
        let uri = "file:///work/%C3%BC%20a%2Bb+c.yaml";
        assert_eq!(path(uri).unwrap(), Path::new("/work/ü a+b+c.yaml"));
        let back = of_path(Path::new("/work/ü a+b.yaml")).unwrap();
        assert_eq!(back.as_str(), "file:///work/%C3%BC%20a%2Bb.yaml");
        assert_eq!(path("file:///C%3A/a.yaml").unwrap(), Path::new("C:/a.yaml"));
        for other in ["untitled:Untitled-1", "file:///a%", "file:///%FF", "file://server/a"] {
            assert_eq!(path(other), None, "{other}");
        }
    }
}
