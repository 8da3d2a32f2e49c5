//! bcrypt, the one hash of passwords that the registry reads: password, salt and cost in, its text out.
//!
//! The tables of Blowfish are the digits of pi, which are calculated once.

use std::sync::OnceLock;

/// Words of pi that Blowfish begins with: 18 of its keys and 4 tables of 256.
const WORDS: usize = 18 + 4 * 256;
/// Words beyond them, which take up what division loses.
const SPARE: usize = 4;
/// The encrypted text, and the number of rounds.
const TEXT: &[u8; 24] = b"OrpheanBeholderScryDoubt";
const TIMES: usize = 64;
/// The alphabet of the text.
const ALPHABET: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Longest password that counts; what is behind it makes no difference to bcrypt.
const LONGEST: usize = 72;
/// The work that one hash takes, as a power of two; more would hold up a reconcile.
pub(crate) const COST: u32 = 10;

/// The text of a password's hash.
pub(crate) fn hash(password: &[u8], salt: [u8; 16], cost: u32) -> String {
    let mut key: Vec<u8> = password.iter().copied().take(LONGEST - 1).collect();
    key.push(0);
    let mut state = Blowfish::new();
    state.expand(&salt, &key);
    for _ in 0..1_u64 << cost.min(31) {
        state.expand(&[0; 16], &key);
        state.expand(&[0; 16], &salt);
    }
    let mut hashed = Vec::with_capacity(TEXT.len());
    for block in TEXT.chunks_exact(8) {
        let (mut left, mut right) = (word(block, 0), word(block, 4));
        for _ in 0..TIMES {
            (left, right) = state.encrypt(left, right);
        }
        hashed.extend(left.to_be_bytes());
        hashed.extend(right.to_be_bytes());
    }
    // The last byte is left out, as everywhere.
    hashed.pop();
    format!("$2a${cost:02}${}{}", text(&salt), text(&hashed))
}

/// Four bytes as a number; bytes that are not there count nothing.
fn word(bytes: &[u8], at: usize) -> u32 {
    (0..4).fold(0, |word, next| word << 8 | u32::from(bytes.get(at + next).copied().unwrap_or(0)))
}

/// Six bits a character, without padding.
fn text(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = word(group, 0) >> 8;
        for at in 0..=group.len() {
            let place = (bits >> (18 - 6 * at)) & 63;
            text.push(char::from(ALPHABET[place as usize]));
        }
    }
    text
}

struct Blowfish {
    keys: [u32; 18],
    tables: [[u32; 256]; 4],
}

impl Blowfish {
    fn new() -> Self {
        static DIGITS: OnceLock<Vec<u32>> = OnceLock::new();
        let digits = DIGITS.get_or_init(pi);
        let at = |at: usize| digits.get(at).copied().unwrap_or(0);
        Self {
            keys: std::array::from_fn(at),
            tables: std::array::from_fn(|table| std::array::from_fn(|place| at(18 + 256 * table + place))),
        }
    }

    fn encrypt(&self, mut left: u32, mut right: u32) -> (u32, u32) {
        for key in self.keys.iter().take(16) {
            left ^= key;
            let [a, b, c, d] = left.to_be_bytes().map(usize::from);
            let [one, two, three, four] = &self.tables;
            right ^= (one[a].wrapping_add(two[b]) ^ three[c]).wrapping_add(four[d]);
            (left, right) = (right, left);
        }
        (right ^ self.keys[17], left ^ self.keys[16])
    }

    /// Mixes a key and a salt into the state.
    fn expand(&mut self, salt: &[u8; 16], key: &[u8]) {
        let mut place = 0;
        for word in &mut self.keys {
            let mut mixed = 0_u32;
            for _ in 0..4 {
                mixed = mixed << 8 | u32::from(key[place]);
                place = (place + 1) % key.len();
            }
            *word ^= mixed;
        }
        let (mut left, mut right, mut half) = (0, 0, 0);
        let mut next = |state: &Self| {
            left ^= word(salt, half);
            right ^= word(salt, half + 4);
            half = (half + 8) % 16;
            (left, right) = state.encrypt(left, right);
            (left, right)
        };
        for at in (0..18).step_by(2) {
            let (one, other) = next(self);
            self.keys[at] = one;
            self.keys[at + 1] = other;
        }
        for table in 0..4 {
            for at in (0..256).step_by(2) {
                let (one, other) = next(self);
                self.tables[table][at] = one;
                self.tables[table][at + 1] = other;
            }
        }
    }
}

/// The digits of pi behind the point, 32 bits a word: 16·atan(1/5) − 4·atan(1/239), as Machin found.
fn pi() -> Vec<u32> {
    let mut sum = vec![0_u32; WORDS + SPARE + 1];
    for (factor, of, sign) in [(16, 5_u32, true), (4, 239, false)] {
        let mut power = vec![0_u32; WORDS + SPARE + 1];
        power[0] = factor;
        divide(&mut power, of);
        let mut odd = 1;
        let mut positive = sign;
        while power.iter().any(|word| *word != 0) {
            let mut term = power.clone();
            divide(&mut term, odd);
            if positive {
                add(&mut sum, &term)
            } else {
                subtract(&mut sum, &term)
            }
            divide(&mut power, of * of);
            odd += 2;
            positive = !positive;
        }
    }
    sum.into_iter().skip(1).take(WORDS).collect()
}

/// The first word is the whole part.
fn divide(number: &mut [u32], by: u32) {
    let mut rest = 0_u64;
    for word in number {
        let value = rest << 32 | u64::from(*word);
        *word = u32::try_from(value / u64::from(by)).unwrap_or(u32::MAX);
        rest = value % u64::from(by);
    }
}

fn add(sum: &mut [u32], term: &[u32]) {
    let mut carry = false;
    for (word, more) in sum.iter_mut().zip(term).rev() {
        let (value, over) = word.overflowing_add(*more);
        let (value, also) = value.overflowing_add(u32::from(carry));
        *word = value;
        carry = over || also;
    }
}

fn subtract(sum: &mut [u32], term: &[u32]) {
    let mut borrow = false;
    for (word, less) in sum.iter_mut().zip(term).rev() {
        let (value, under) = word.overflowing_sub(*less);
        let (value, also) = value.overflowing_sub(u32::from(borrow));
        *word = value;
        borrow = under || also;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pi_begins_as_blowfish_does() {
        assert_eq!(pi().first_chunk(), Some(&[0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344]));
        assert_eq!(pi().last_chunk(), Some(&[0x578f_dfe3, 0x3ac3_72e6]));
    }

    #[test]
    fn hashes_are_those_of_other_programs() {
        // The salt that is written CCCCCCCCCCCCCCCCCCCCC.
        let salt = [0x10, 0x41, 0x04].iter().cycle().take(16).copied().collect::<Vec<u8>>();
        let salt: [u8; 16] = salt.try_into().unwrap();
        assert_eq!(hash(b"U*U", salt, 5), "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW");
        assert_eq!(hash(b"U*U*", salt, 5), "$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK");
    }
}
