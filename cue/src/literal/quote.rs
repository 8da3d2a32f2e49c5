//! A text or bytes in; a literal that reads back as the same out.

use super::quotes::QuoteKind;

/// `text` as a string literal on one line.
pub fn quote_string(text: &str) -> String {
    quoted(QuoteKind::String, text.as_bytes(), None)
}

/// `bytes` as a bytes literal on one line.
pub fn quote_bytes(bytes: &[u8]) -> String {
    quoted(QuoteKind::Bytes, bytes, None)
}

/// A literal that is tripled when the value has a newline; its lines are indented by so many tabs.
pub fn quote_indented(kind: QuoteKind, bytes: &[u8], tabs: usize) -> String {
    quoted(kind, bytes, bytes.contains(&b'\n').then_some(tabs))
}

/// A multi-line literal, its lines indented by so many tabs.
pub fn quote_multiline(kind: QuoteKind, bytes: &[u8], tabs: usize) -> String {
    quoted(kind, bytes, Some(tabs))
}

fn quoted(kind: QuoteKind, bytes: &[u8], tabs: Option<usize>) -> String {
    let quote = if kind == QuoteKind::String { '"' } else { '\'' };
    let triple: String = std::iter::repeat_n(quote, 3).collect();
    let hashes = tabs.map_or(0, |_| needed_hashes(bytes, triple.as_bytes()));
    let (hash, indent) = ("#".repeat(hashes), "\t".repeat(tabs.unwrap_or(0)));
    let mut out = hash.clone();
    let escape = format!("\\{hash}");
    if tabs.is_some() {
        out.push_str(&triple);
        out.push('\n');
        if bytes.is_empty() {
            return out + &indent + &triple;
        }
        if bytes[0] != b'\n' {
            out.push_str(&indent);
        }
    } else {
        out.push(quote);
    }
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        let mut characters = chunk.valid().chars().peekable();
        while let Some(c) = characters.next() {
            if c == '\n' && tabs.is_some() {
                out.push('\n');
                let at_end =
                    characters.peek().is_none() && chunk.invalid().is_empty() && chunks.peek().is_none();
                if !at_end && characters.peek() != Some(&'\n') {
                    out.push_str(&indent);
                }
            } else {
                escaped(&mut out, c, kind, (tabs.is_none()).then_some(quote), &escape);
            }
        }
        for byte in chunk.invalid() {
            if kind == QuoteKind::Bytes {
                out.push_str(&format!("{escape}x{byte:02x}"));
            } else {
                out.push('\u{fffd}');
            }
        }
    }
    if tabs.is_some() {
        out.push('\n');
        out.push_str(&indent);
        out.push_str(&triple);
    } else {
        out.push(quote);
    }
    out + &hash
}

fn escaped(out: &mut String, c: char, kind: QuoteKind, quote: Option<char>, escape: &str) {
    if Some(c) == quote || c == '\\' {
        out.push_str(escape);
        out.push(c);
        return;
    }
    if is_printable(c) {
        out.push(c);
        return;
    }
    out.push_str(escape);
    match c {
        '\u{7}' => out.push('a'),
        '\u{8}' => out.push('b'),
        '\u{c}' => out.push('f'),
        '\n' => out.push('n'),
        '\r' => out.push('r'),
        '\t' => out.push('t'),
        '\u{b}' => out.push('v'),
        _ if c < ' ' && kind == QuoteKind::Bytes => out.push_str(&format!("x{:02x}", c as u32)),
        _ if (c as u32) < 0x10000 => out.push_str(&format!("u{:04x}", c as u32)),
        _ => out.push_str(&format!("U{:08x}", c as u32)),
    }
}

/// Letters, marks, numbers, punctuation, symbols and the plain space.
pub fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    // The leading letter keeps combining marks, which are printable here, from being escaped.
    let mut pair = String::from("a");
    pair.push(c);
    pair.escape_debug().count() == 2
}

/// A multi-line literal that contains its own closing quotes needs `#` marks to tell them apart.
fn needed_hashes(bytes: &[u8], triple: &[u8]) -> usize {
    let (mut hashes, mut at) = (0, 0);
    while at + 3 <= bytes.len() {
        if &bytes[at..at + 3] != triple {
            at += 1;
            continue;
        }
        at += 3;
        at += bytes[at..].iter().take_while(|b| **b == triple[0]).count();
        let following = bytes[at..].iter().take_while(|b| **b == b'#').count();
        at += following;
        hashes = hashes.max(following + 1);
    }
    hashes
}

/// Whether a field of this name can be written without quotes.
pub fn is_identifier(name: &str) -> bool {
    let rest = name.strip_prefix("_#").or_else(|| name.strip_prefix('#')).unwrap_or(name);
    if rest.is_empty() {
        return !name.is_empty() && name != "_" && !name.contains('#') || name == "#" || name == "_#";
    }
    let mut characters = rest.chars();
    characters.next().is_some_and(|c| c == '_' || c == '$' || c.is_alphabetic())
        && characters.all(|c| c == '_' || c == '$' || c.is_alphabetic() || c.is_numeric())
}
