//! Reads the tokens of a source file, without comments and, if wanted, without what is compiled only for tests.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// One token, as far as the rules look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A keyword or a name, without `r#`.
    Word(String),
    /// `::`
    Colons,
    /// `(`, `[` or `{`
    Open(char),
    /// `)`, `]` or `}`
    Close(char),
    /// Any other character of punctuation.
    Mark(char),
    /// A number, a character or a text, as written.
    Literal(String),
}

impl Token {
    /// Whether it is this word.
    pub(super) fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(w) if w == word)
    }
}

/// All tokens of a file.
///
/// # Errors
/// When the text is no Rust.
pub(super) fn all(text: &str) -> Result<Vec<Token>, String> {
    let stream: TokenStream = text.parse().map_err(|_| "cannot be read as Rust".to_owned())?;
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    Ok(tokens)
}

/// The tokens of what ships: items under `#[cfg(test)]` are left out.
///
/// # Errors
/// When the text is no Rust.
pub(super) fn shipped(text: &str) -> Result<Vec<Token>, String> {
    let tokens = all(text)?;
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if is_for_tests(&tokens[at..]) {
            at = after_item(&tokens, at);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    Ok(kept)
}

fn flatten(stream: TokenStream, into: &mut Vec<Token>) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ('(', ')'),
                    Delimiter::Bracket => ('[', ']'),
                    Delimiter::Brace | Delimiter::None => ('{', '}'),
                };
                into.push(Token::Open(open));
                flatten(group.stream(), into);
                into.push(Token::Close(close));
            }
            TokenTree::Ident(word) => into.push(Token::Word(word.to_string().replace("r#", ""))),
            TokenTree::Literal(literal) => into.push(Token::Literal(literal.to_string())),
            TokenTree::Punct(mark) => {
                let next_is_a_colon = matches!(trees.peek(), Some(TokenTree::Punct(p)) if p.as_char() == ':');
                if mark.as_char() == '\'' {
                    trees.next(); // the name of a lifetime
                } else if mark.as_char() == ':' && mark.spacing() == Spacing::Joint && next_is_a_colon {
                    trees.next();
                    into.push(Token::Colons);
                } else {
                    into.push(Token::Mark(mark.as_char()));
                }
            }
        }
    }
}

fn is_for_tests(tokens: &[Token]) -> bool {
    matches!(
        tokens,
        [Token::Mark('#'), Token::Open('['), cfg, Token::Open('('), test, Token::Close(')'), Token::Close(']'), ..]
            if cfg.is("cfg") && test.is("test")
    )
}

/// The place behind the item at `at`, which may begin with attributes.
pub(super) fn after_item(tokens: &[Token], at: usize) -> usize {
    let mut at = at;
    while tokens.get(at) == Some(&Token::Mark('#')) {
        at = after_group(tokens, at + 1);
    }
    while let Some(token) = tokens.get(at) {
        match token {
            Token::Mark(';') => return at + 1,
            Token::Open('{') => return after_group(tokens, at),
            Token::Open(_) => at = after_group(tokens, at),
            Token::Close(_) => return at,
            _ => at += 1,
        }
    }
    at
}

/// The place behind the brackets that open at `at`.
pub(super) fn after_group(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate().skip(at) {
        match token {
            Token::Open(_) => depth += 1,
            Token::Close(_) => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return place + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_texts_and_tests_are_no_code() {
        let text = "//! a\n// b\nfn c<'d>() { \"crate::e\" }\n#[cfg(test)]\n#[allow(f)]\nmod tests { fn g() {} }\nuse h::i;";
        let words: Vec<String> = shipped(text)
            .unwrap()
            .into_iter()
            .filter_map(|token| if let Token::Word(word) = token { Some(word) } else { None })
            .collect();
        assert_eq!(words, ["doc", "fn", "c", "use", "h", "i"]);
    }

    #[test]
    fn what_is_no_rust_is_told() {
        assert!(all("fn a() {").is_err());
    }
}
