//! Bytes of an editor → messages, one after the other; what is no message is an event of its own and ends nothing.

use std::io::{BufRead, Read};

use lsp_server::Message;

/// Longer frames are passed over. A document of 1 MiB is well below it, however it is escaped.
const FRAME_LIMIT: usize = 64 * 1024 * 1024;
/// Longer lines of a head are no head; the rest of such a line is passed over.
const LINE_LIMIT: u64 = 8 * 1024;

/// What arrived.
#[derive(Debug)]
pub(super) enum Event {
    Message(Message),
    /// No message: the code of JSON-RPC, and why.
    Wrong(i32, String),
    /// The editor has closed its end.
    End,
}

/// The next event. After a broken head it goes on at the next line that says a length.
pub(super) fn read(from: &mut impl BufRead) -> Event {
    let mut length: Option<usize> = None;
    let mut is_broken = false;
    loop {
        let Some(line) = line(from) else { return Event::End };
        if line.is_empty() {
            match (length, is_broken) {
                (Some(length), _) => return body(from, length),
                (None, true) => {
                    let words = "the head of a message has no Content-Length: write `Content-Length: BYTES`, an empty line, then the message";
                    return Event::Wrong(lsp_server::ErrorCode::ParseError as i32, words.to_owned());
                }
                // Empty lines between messages mean nothing.
                (None, false) => continue,
            }
        }
        match line.split_once(':') {
            Some((name, value)) if name.trim().eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().ok();
                is_broken |= length.is_none();
            }
            Some((name, _)) if name.trim().eq_ignore_ascii_case("content-type") => {}
            _ => is_broken = true,
        }
    }
}

/// A line without its end; nothing at the end of all.
fn line(from: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    let read = from.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut bytes).ok()?;
    if read == 0 {
        return None;
    }
    // The rest of a line that is too long arrives as more lines, none of which says a length.
    Some(String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned())
}

fn body(from: &mut impl BufRead, length: usize) -> Event {
    if length > FRAME_LIMIT {
        let passed = std::io::copy(&mut from.by_ref().take(length as u64), &mut std::io::sink());
        let words = format!(
            "a message of {length} bytes is larger than {} MiB and was passed over",
            FRAME_LIMIT >> 20
        );
        return match passed {
            Ok(passed) if passed == length as u64 => {
                Event::Wrong(lsp_server::ErrorCode::InvalidRequest as i32, words)
            }
            _ => Event::End,
        };
    }
    let mut bytes = Vec::new();
    match from.by_ref().take(length as u64).read_to_end(&mut bytes) {
        Ok(read) if read == length => {}
        _ => return Event::End,
    }
    let value: serde_json::Value = match serde_json::from_slice(&bytes) {
        Ok(value) => value,
        Err(error) => {
            let words = format!("the message is no JSON: {error}");
            return Event::Wrong(lsp_server::ErrorCode::ParseError as i32, words);
        }
    };
    match serde_json::from_value(value) {
        Ok(message) => Event::Message(message),
        Err(_) => Event::Wrong(
            lsp_server::ErrorCode::InvalidRequest as i32,
            "the message is no request, response or notification of JSON-RPC 2.0".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_passed_over() {
        let good = r#"{"jsonrpc":"2.0","method":"exit"}"#;
        let good = format!("content-length: {}\r\nContent-Type: x\r\n\r\n{good}", good.len());
        let bytes = format!(
            "garbage\r\n\r\n\r\nContent-Length: 1\r\n\r\n{{Content-Length: 2\r\n\r\n[]Content-Length: -\n\n{good}"
        );
        let mut from = bytes.as_bytes();
        for code in [-32700, -32700, -32600, -32700] {
            let event = read(&mut from);
            assert!(matches!(event, Event::Wrong(found, _) if found == code), "{event:?}");
        }
        assert!(
            matches!(read(&mut from), Event::Message(Message::Notification(one)) if one.method == "exit")
        );
        assert!(matches!(read(&mut from), Event::End));
    }

    #[test]
    fn a_frame_that_is_too_large_or_cut_off_ends_no_reader() {
        let mut bytes = format!("Content-Length: {}\r\n\r\n", FRAME_LIMIT + 1).into_bytes();
        bytes.resize(bytes.len() + FRAME_LIMIT + 1, b'x');
        let mut from = &bytes[..];
        assert!(matches!(read(&mut from), Event::Wrong(_, words) if words.contains("larger than 64 MiB")));
        assert!(matches!(read(&mut from), Event::End));
        assert!(matches!(read(&mut &b"Content-Length: 9\r\n\r\n{}"[..]), Event::End));
    }
}
