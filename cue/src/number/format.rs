//! Decimal in, its text out, exactly as `cue` prints it.

use std::fmt;

use super::Decimal;

/// Below this scientific exponent a number is printed as `1E-7`.
const SMALLEST_PLAIN_EXPONENT: i64 = -6;

/// How far a zero with a fraction (`0.000`) is written out.
const LONGEST_PLAIN_ZERO: i32 = -2000;

impl fmt::Display for Decimal {
    /// Plain notation where no digit has to be invented, otherwise scientific with `E`; this is what JSON output shows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.exponent == 0
            && let super::Coefficient::Small(small) = self.coefficient
        {
            return write!(f, "{small}");
        }
        f.write_str(&self.to_text('E'))
    }
}

impl Decimal {
    /// The text in CUE source form: `e` for exponents, and `5.0` where a float would look like an integer.
    pub fn to_cue(&self, is_float: bool) -> String {
        let mut text = self.to_text('e');
        if is_float && !text.contains(['e', '.']) {
            text.push_str(".0");
        }
        text
    }

    /// The text without an exponent, zeros written out.
    pub fn to_plain(&self) -> String {
        let (sign, digits) = self.sign_and_digits();
        let mut text = String::from(sign);
        plain(&mut text, &digits, self.exponent);
        text
    }

    /// The text with one digit before the point and always an exponent, `mark` is `e` or `E`.
    pub fn to_scientific(&self, mark: char) -> String {
        let (sign, digits) = self.sign_and_digits();
        let mut text = String::from(sign);
        scientific(&mut text, &digits, self.exponent, mark);
        text
    }

    fn to_text(&self, mark: char) -> String {
        let (sign, digits) = self.sign_and_digits();
        let mut text = String::from(sign);
        let mut length = digits.len();
        if self.is_zero() && (LONGEST_PLAIN_ZERO..0).contains(&self.exponent) {
            length += usize::try_from(-self.exponent).unwrap_or(0);
        }
        let adjusted = i64::from(self.exponent) + i64::try_from(length).unwrap_or(i64::MAX) - 1;
        if self.exponent <= 0 && adjusted >= SMALLEST_PLAIN_EXPONENT {
            plain(&mut text, &digits, self.exponent);
        } else {
            scientific(&mut text, &digits, self.exponent, mark);
        }
        text
    }

    fn sign_and_digits(&self) -> (&'static str, String) {
        let sign = if self.is_negative() { "-" } else { "" };
        let digits = match &self.coefficient {
            super::Coefficient::Small(small) => small.unsigned_abs().to_string(),
            super::Coefficient::Big(big) => big.magnitude().to_string(),
        };
        (sign, digits)
    }
}

fn plain(text: &mut String, digits: &str, exponent: i32) {
    let scale = usize::try_from(exponent.unsigned_abs()).unwrap_or(usize::MAX);
    if exponent >= 0 {
        text.push_str(digits);
        text.extend(std::iter::repeat_n('0', scale));
    } else if scale >= digits.len() {
        text.push_str("0.");
        text.extend(std::iter::repeat_n('0', scale - digits.len()));
        text.push_str(digits);
    } else {
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        text.push_str(whole);
        text.push('.');
        text.push_str(fraction);
    }
}

fn scientific(text: &mut String, digits: &str, exponent: i32, mark: char) {
    let adjusted = i64::from(exponent) + i64::try_from(digits.len()).unwrap_or(i64::MAX) - 1;
    let (first, rest) = digits.split_at(1);
    text.push_str(first);
    if !rest.is_empty() {
        text.push('.');
        text.push_str(rest);
    }
    text.push(mark);
    text.push_str(if adjusted < 0 { "-" } else { "+" });
    text.push_str(&adjusted.unsigned_abs().to_string());
}
