//! The part of a URL behind `?`, read: names and values, decoded.

use crate::error::Error;
use crate::find::is_name;

/// The server reads no more of a query: longer ones are not meant well.
const LENGTH_AT_MOST: usize = 4096;
/// More parameters than this are refused.
const PARAMETERS_AT_MOST: usize = 32;
/// Forms of types have a field for each parameter.
const FIELDS_AT_MOST: usize = 300;

/// Names and values, in their order.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads it.
    pub(crate) fn read(text: &str) -> Result<Self, Error> {
        if text.len() > LENGTH_AT_MOST {
            return Err(Error::BadRequest(format!("the query is longer than {LENGTH_AT_MOST} bytes")));
        }
        Self::parts(text, PARAMETERS_AT_MOST)
    }

    /// Reads the fields of a form, whose length its reader limits.
    pub(crate) fn of_form(text: &str) -> Result<Self, Error> {
        Self::parts(text, FIELDS_AT_MOST)
    }

    fn parts(text: &str, most: usize) -> Result<Self, Error> {
        let parts: Vec<&str> = text.split('&').filter(|part| !part.is_empty()).collect();
        if parts.len() > most {
            return Err(Error::BadRequest(format!("the query has more than {most} parameters")));
        }
        let read = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            match (decoded(name), decoded(value)) {
                (Some(name), Some(value)) => Ok((name, value)),
                _ => {
                    Err(Error::BadRequest(format!("{part:?} in the query is no percent-encoded UTF-8 text")))
                }
            }
        };
        Ok(Self(parts.into_iter().map(read).collect::<Result<_, _>>()?))
    }

    /// The value of a parameter that is given and not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, value)| known == name && !value.is_empty()).map(|(_, value)| &**value)
    }

    /// The value of a number between 1 and `most`.
    pub(crate) fn number(&self, name: &str, most: usize) -> Result<Option<usize>, Error> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse() {
            Ok(number) if (1..=most).contains(&number) => Ok(Some(number)),
            _ => Err(Error::BadRequest(format!("{name}: {text:?} is no number from 1 to {most}"))),
        }
    }

    /// The value of a switch, which is `true` or `false`.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Error> {
        match self.text(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(text) => Err(Error::BadRequest(format!("{name}: {text:?} is neither true nor false"))),
        }
    }

    /// The namespace that is given.
    pub(crate) fn namespace(&self) -> Result<Option<String>, Error> {
        match self.text("namespace") {
            Some(text) if !is_name(text) => {
                Err(Error::BadRequest(format!("namespace: {text:?} cannot be the name of one")))
            }
            namespace => Ok(namespace.map(str::to_owned)),
        }
    }

    /// Refuses what the route does not know.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Error> {
        match self.0.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) if known.is_empty() => {
                Err(Error::BadRequest(format!("{name:?} is no parameter here, which takes none")))
            }
            Some((name, _)) => Err(Error::BadRequest(format!(
                "{name:?} is no parameter here; there are {}",
                known.join(", ")
            ))),
        }
    }
}

/// A text that may stand in a query or in a part of a path, whatever it holds.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte as char),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit =
                    || char::from(rest.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                digit()? * 16 + digit()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_decoded_and_what_is_broken_is_refused() {
        let query = Query::read("search=a+b%2Fc&limit=20&empty=").unwrap();
        assert_eq!(query.text("search"), Some("a b/c"));
        assert_eq!(query.number("limit", 50).unwrap(), Some(20));
        assert_eq!(query.text("empty"), None);
        assert!(query.flag("limit").is_err() && query.flag("empty").unwrap().is_none());
        assert!(query.number("limit", 10).unwrap_err().to_string().contains("no number from 1 to 10"));
        assert!(
            query.only(&["search", "limit"]).is_err() && query.only(&["search", "limit", "empty"]).is_ok()
        );
        for broken in ["a=%", "a=%4", "a=%zz", "a=%ff"] {
            assert!(Query::read(broken).is_err(), "{broken}");
        }
        assert!(Query::read(&"a&".repeat(33)).is_err() && Query::read(&"a".repeat(5000)).is_err());
        assert_eq!(Query::read(&format!("a={}", encoded("ä&=%+ "))).unwrap().text("a"), Some("ä&=%+ "));
    }
}
