//! Texts that ask a server for something else when they are put into the path of a request as a name.

const LONG: &str = match std::str::from_utf8(&[b'a'; 300]) {
    Ok(text) => text,
    Err(_) => "",
};

/// None of these may become a part of a request, of whatever kind the object is. The empty text is none of them: it means
/// that no name was given, which some fields allow.
pub const NAMES: [&str; 16] = [
    ".",
    "..",
    "steal?x=1",
    "steal#f",
    "steal/status",
    "../../x",
    "%2e%2e",
    "a%2fb",
    "a b",
    "a\n",
    "a\u{1b}[2J",
    "a\u{202e}b",
    "ä",
    "a@../x",
    "a@v1?x=1",
    LONG,
];
