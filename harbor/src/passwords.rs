//! Makes the values of secrets that are made once. Chance is given, so that what uses it can be repeated.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::bcrypt;
use crate::parts::{Generated, Password};

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &[u8] = b"0123456789";
const SPECIALS: &[u8] = b"~!@#$%^&*()_+`-={}|[]\\:\"<>?,./";

/// Gives unpredictable bytes; a test gives others.
pub type Chance = Arc<dyn Fn() -> u8 + Send + Sync>;

/// One of so many, each as likely as any other.
fn below(chance: &Chance, limit: usize) -> usize {
    let limit = limit.clamp(1, 256);
    let fair = 256 - 256 % limit;
    loop {
        let byte = usize::from(chance());
        if byte < fair {
            return byte % limit;
        }
    }
}

fn password(chance: &Chance, asked: Password) -> String {
    let Password { length, digits, specials } = asked;
    let letters = length.saturating_sub(digits + specials);
    let mut characters = Vec::with_capacity(length);
    for (alphabet, count) in [(DIGITS, digits), (SPECIALS, specials), (LETTERS, letters)] {
        for _ in 0..count {
            characters.push(char::from(alphabet[below(chance, alphabet.len())]));
        }
    }
    for last in (1..characters.len()).rev() {
        characters.swap(last, below(chance, last + 1));
    }
    characters.into_iter().collect()
}

/// The values of the keys, in their order: one may be made of another that stands before it.
#[must_use]
pub fn make(keys: &[(&'static str, Generated)], chance: &Chance) -> Value {
    let mut values = Map::new();
    for (key, how) in keys {
        let value = match how {
            Generated::Fixed(text) => text.clone(),
            Generated::Same(other) => {
                values.get(*other).and_then(Value::as_str).unwrap_or_default().to_owned()
            }
            Generated::Password(asked) => password(chance, *asked),
            // A text in quotes is YAML whatever is in it.
            Generated::Yaml(asked) => json!(password(chance, *asked)).to_string(),
            Generated::Htpasswd { user, password } => {
                let plain = values.get(*password).and_then(Value::as_str).unwrap_or_default();
                let salt = std::array::from_fn(|_| chance());
                format!("{user}:{}", bcrypt::hash(plain.as_bytes(), salt, bcrypt::COST))
            }
        };
        values.insert((*key).to_owned(), json!(value));
    }
    Value::Object(values)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;

    #[test]
    fn a_password_has_as_many_of_each_as_was_asked_for() {
        let next = AtomicU8::new(7);
        let chance: Chance = Arc::new(move || next.fetch_add(41, Ordering::Relaxed));
        let asked = Password { length: 32, digits: 10, specials: 9 };
        let keys = [
            ("secret", Generated::Password(asked)),
            ("htpasswd", Generated::Htpasswd { user: "clerk".to_owned(), password: "secret" }),
            ("fixed", Generated::Fixed("x".to_owned())),
            ("copy", Generated::Same("secret")),
        ];
        let made = make(&keys, &chance);
        let secret = made["secret"].as_str().unwrap();
        let count = |alphabet: &[u8]| secret.bytes().filter(|byte| alphabet.contains(byte)).count();
        assert_eq!((count(LETTERS), count(DIGITS), count(SPECIALS)), (13, 10, 9), "{secret}");
        assert!(made["htpasswd"].as_str().unwrap().starts_with("clerk:$2a$10$"));
        assert_eq!(made["fixed"], "x");
        assert_eq!(made["copy"], made["secret"]);
    }
}
