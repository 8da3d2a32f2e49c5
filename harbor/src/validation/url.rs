//! Whether a text is a URL, as far as Harbor's parts need it: scheme, host and escapes.

/// Characters that a host may have beside letters and digits.
const OF_HOSTS: &str = "-._~!$&'()*+,;=:[]<>\"";

/// # Errors
/// What is wrong with it, in the words of Go.
pub(super) fn parse(text: &str) -> Result<(), String> {
    let wrong = |reason: String| Err(format!("parse {text:?}: {reason}"));
    if text.chars().any(|c| c.is_ascii_control()) {
        return wrong("net/url: invalid control character in URL".to_owned());
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return wrong("missing protocol scheme".to_owned());
    };
    let letters = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(letters) {
        return wrong("first path segment in URL cannot contain colon".to_owned());
    }
    let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
    let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if let Err(reason) = escapes(host, true).and_then(|()| port(host)).and_then(|()| escapes(path, false)) {
        return wrong(reason);
    }
    Ok(())
}

/// Each `%` stands before two hexadecimal digits; a host has no blanks and no slashes.
fn escapes(text: &str, host: bool) -> Result<(), String> {
    for (at, c) in text.char_indices() {
        if c == '%' {
            let hex = text.get(at + 1..at + 3).filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
            if hex.is_none() {
                let shown: String = text.chars().skip(text[..at].chars().count()).take(3).collect();
                return Err(format!("invalid URL escape {shown:?}"));
            }
        } else if host && c.is_ascii() && !c.is_ascii_alphanumeric() && !OF_HOSTS.contains(c) {
            return Err(format!("invalid character {:?} in host name", c.to_string()));
        }
    }
    Ok(())
}

fn port(host: &str) -> Result<(), String> {
    let after = host.rfind(']').map_or(0, |bracket| bracket + 1);
    match host.get(after..).and_then(|rest| rest.split_once(':')) {
        Some((_, port)) if !port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(format!("invalid port {:?} after host", format!(":{port}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_url_is_told_with_its_reason() {
        for good in ["https://hub.example.net", "http://[::1]:8080/x%20y", "https://u:p@h:1/?q#f"] {
            assert_eq!(parse(good), Ok(()), "{good}");
        }
        for (bad, reason) in [
            ("hub.example.net", "missing protocol scheme"),
            ("https://a b%zz", "invalid character \" \" in host name"),
            ("https://a%zz", "invalid URL escape \"%zz\""),
            ("https://a/%q", "invalid URL escape \"%q\""),
            ("https://a:x", "invalid port \":x\" after host"),
            ("1a://b", "first path segment in URL cannot contain colon"),
            ("https://a\u{7f}", "net/url: invalid control character in URL"),
        ] {
            let said = parse(bad).unwrap_err();
            assert!(said.starts_with("parse ") && said.ends_with(reason), "{said}");
        }
    }
}
