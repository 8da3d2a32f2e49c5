//! Decimal numbers in, decimal numbers and their text out: the arithmetic of CUE.
//!
//! A [`Decimal`] is coefficient × 10^exponent of any size. Trailing zeros are part of the
//! value's look (`1.50` stays `1.50`) but not of its order or equality. Arithmetic rounds to
//! [`PRECISION`] digits, half away from zero, as the language's reference implementation does.
//! Coefficients that fit an `i64` never touch the heap.

mod arithmetic;
mod format;
mod transcendental;

pub use arithmetic::Rounding;

use std::cmp::Ordering;
use std::sync::Arc;

use num_bigint::BigInt;
use num_integer::Integer as _;
use num_traits::{Signed as _, ToPrimitive as _, Zero as _};

/// Digits kept by arithmetic.
pub const PRECISION: u32 = 34;

/// Largest magnitude of a number's scientific exponent; beyond it arithmetic fails instead of eating memory.
pub const MAX_EXPONENT: i32 = 100_000;

/// Longest number text that is read: far above any real number, far below what makes conversion slow.
pub const MAX_DIGITS: usize = 100_000;

/// Why an operation has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberError {
    /// The divisor is zero.
    DivisionByZero,
    /// The result is too large to be represented.
    Overflow,
    /// The result is too close to zero to be represented.
    Underflow,
    /// The operation is not defined for this operand (the root of a negative number, the logarithm of zero).
    Undefined,
    /// The text is not a number.
    Syntax,
}

impl std::fmt::Display for NumberError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::DivisionByZero => "division by zero",
            Self::Overflow => "number is too large: exponent out of range",
            Self::Underflow => "number is too small: exponent out of range",
            Self::Undefined => "operation is not defined for this number",
            Self::Syntax => "not a number",
        })
    }
}

impl std::error::Error for NumberError {}

/// A decimal number of any size.
#[derive(Clone)]
pub struct Decimal {
    coefficient: Coefficient,
    exponent: i32,
}

/// `Big` only ever holds what does not fit `Small`, so that the two never name the same integer.
#[derive(Clone)]
enum Coefficient {
    Small(i64),
    Big(Arc<BigInt>),
}

impl Decimal {
    /// Zero.
    pub const ZERO: Self = Self::small(0, 0);
    /// One.
    pub const ONE: Self = Self::small(1, 0);

    const fn small(coefficient: i64, exponent: i32) -> Self {
        Self { coefficient: Coefficient::Small(coefficient), exponent }
    }

    /// coefficient × 10^exponent.
    pub fn new(coefficient: BigInt, exponent: i32) -> Self {
        match coefficient.to_i64() {
            Some(small) => Self::small(small, exponent),
            None => Self { coefficient: Coefficient::Big(Arc::new(coefficient)), exponent },
        }
    }

    /// Reads `12`, `-1.50`, `.5`, `2.`, `1e3`, `1E-7`. Suffixes, bases and separators are the affair of [`crate::literal`].
    ///
    /// # Errors
    /// It is no number, or has more than [`MAX_DIGITS`] digits or an exponent beyond [`MAX_EXPONENT`].
    pub fn parse(text: &str) -> Result<Self, NumberError> {
        let (negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let (mantissa, exponent) = match rest.find(['e', 'E']) {
            Some(at) => (&rest[..at], Some(&rest[at + 1..])),
            None => (rest, None),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction) {
            return Err(NumberError::Syntax);
        }
        if mantissa.len() > MAX_DIGITS {
            return Err(NumberError::Overflow);
        }
        let mut scale: i64 = 0;
        if let Some(exponent) = exponent {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.is_empty() || !all_digits(digits) {
                return Err(NumberError::Syntax);
            }
            let below_zero = exponent.starts_with('-');
            scale = digits
                .parse()
                .map_err(|_| if below_zero { NumberError::Underflow } else { NumberError::Overflow })?;
            if below_zero {
                scale = -scale;
            }
        }
        let scale = scale.saturating_sub(i64::try_from(fraction.len()).map_err(|_| NumberError::Overflow)?);
        let mut digits = String::with_capacity(mantissa.len() + 1);
        if negative {
            digits.push('-');
        }
        digits.push_str(whole);
        digits.push_str(fraction);
        let coefficient = match digits.parse::<i64>() {
            Ok(small) => BigInt::from(small),
            Err(_) => digits.parse::<BigInt>().map_err(|_| NumberError::Syntax)?,
        };
        let limit = i64::from(MAX_EXPONENT) + i64::try_from(MAX_DIGITS).map_err(|_| NumberError::Overflow)?;
        if scale > limit {
            return Err(NumberError::Overflow);
        }
        if scale < -limit {
            return Err(NumberError::Underflow);
        }
        let exponent = i32::try_from(scale).map_err(|_| NumberError::Overflow)?;
        let number = Self::new(coefficient, exponent);
        let adjusted = number.adjusted_exponent();
        if !number.is_zero() && adjusted > i64::from(MAX_EXPONENT) {
            return Err(NumberError::Overflow);
        }
        if !number.is_zero() && adjusted < -i64::from(MAX_EXPONENT) {
            return Err(NumberError::Underflow);
        }
        Ok(number)
    }

    /// The decimal with the shortest text that reads back as the same float; none for infinities and NaN.
    pub fn from_f64(value: f64) -> Option<Self> {
        value.is_finite().then(|| Self::parse(&format!("{value:e}")).ok()).flatten()
    }

    /// The power of ten.
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// The digits with their sign.
    pub fn coefficient(&self) -> BigInt {
        match &self.coefficient {
            Coefficient::Small(small) => BigInt::from(*small),
            Coefficient::Big(big) => (**big).clone(),
        }
    }

    /// Whether the number is 0, at any exponent.
    pub fn is_zero(&self) -> bool {
        matches!(self.coefficient, Coefficient::Small(0))
    }

    /// Whether the number is below 0.
    pub fn is_negative(&self) -> bool {
        match &self.coefficient {
            Coefficient::Small(small) => *small < 0,
            Coefficient::Big(big) => big.is_negative(),
        }
    }

    /// -1, 0 or 1.
    pub fn signum(&self) -> i32 {
        if self.is_zero() {
            0
        } else if self.is_negative() {
            -1
        } else {
            1
        }
    }

    /// Whether the value has no fraction (`1.0` and `1e3` have none).
    pub fn is_integral(&self) -> bool {
        if self.exponent >= 0 || self.is_zero() {
            return true;
        }
        self.reduced().exponent >= 0
    }

    /// The value as a big integer, when it has no fraction.
    pub fn to_bigint(&self) -> Option<BigInt> {
        if self.exponent == 0 {
            return Some(self.coefficient());
        }
        if self.is_zero() {
            return Some(BigInt::zero());
        }
        let scale = self.exponent.unsigned_abs();
        if self.exponent > 0 {
            return Some(self.coefficient() * pow10(scale));
        }
        if u64::from(scale) >= self.digits() {
            return None;
        }
        let (quotient, remainder) = self.coefficient().div_rem(&pow10(scale));
        remainder.is_zero().then_some(quotient)
    }

    /// The value as an `i64`, when it has no fraction and fits.
    pub fn to_i64(&self) -> Option<i64> {
        match (&self.coefficient, self.exponent) {
            (Coefficient::Small(small), 0) => Some(*small),
            (Coefficient::Big(_), 0) => None,
            _ if self.adjusted_exponent() > 20 => None,
            _ => self.to_bigint()?.to_i64(),
        }
    }

    /// The value as a `u64`, when it has no fraction and fits.
    pub fn to_u64(&self) -> Option<u64> {
        if self.adjusted_exponent() > 20 && !self.is_zero() { None } else { self.to_bigint()?.to_u64() }
    }

    /// The nearest float; infinite when out of range.
    pub fn to_f64(&self) -> f64 {
        if let (Coefficient::Small(small), 0) = (&self.coefficient, self.exponent) {
            #[allow(clippy::cast_precision_loss)]
            return *small as f64;
        }
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// Number of decimal digits of the coefficient (1 for zero).
    pub fn digits(&self) -> u64 {
        match &self.coefficient {
            Coefficient::Small(small) => u64::from(small.unsigned_abs().checked_ilog10().unwrap_or(0)) + 1,
            Coefficient::Big(big) => digits_of(big),
        }
    }

    /// About how many bytes an operation with it works on.
    pub(crate) fn size(&self) -> usize {
        let coefficient = match &self.coefficient {
            Coefficient::Small(_) => 8,
            Coefficient::Big(big) => big.bits() as usize / 8,
        };
        coefficient + self.exponent.unsigned_abs() as usize / 2
    }

    /// Bytes that it holds on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        match &self.coefficient {
            Coefficient::Small(_) => 0,
            Coefficient::Big(big) => 64 + big.bits() as usize / 8,
        }
    }

    /// The exponent of the first digit: 2 for 123.4.
    pub fn adjusted_exponent(&self) -> i64 {
        i64::from(self.exponent) + self.digits().cast_signed() - 1
    }

    /// The same value without trailing zeros; zero becomes `0`.
    pub fn reduced(&self) -> Self {
        match &self.coefficient {
            Coefficient::Small(0) => Self::ZERO,
            Coefficient::Small(small) => {
                let (mut coefficient, mut exponent) = (*small, self.exponent);
                while coefficient % 10 == 0 {
                    coefficient /= 10;
                    exponent = exponent.saturating_add(1);
                }
                Self::small(coefficient, exponent)
            }
            Coefficient::Big(big) => {
                let (mut coefficient, mut exponent) = ((**big).clone(), self.exponent);
                // Halving chunks keep the number of long divisions logarithmic in the number of zeros.
                let mut chunk = 1u32 << 16;
                while chunk > 0 {
                    let (quotient, remainder) = coefficient.div_rem(&pow10(chunk));
                    if remainder.is_zero() {
                        coefficient = quotient;
                        exponent = exponent.saturating_add(chunk.cast_signed());
                    } else {
                        chunk /= 2;
                    }
                }
                Self::new(coefficient, exponent)
            }
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        if self.exponent == other.exponent {
            return match (&self.coefficient, &other.coefficient) {
                (Coefficient::Small(a), Coefficient::Small(b)) => a.cmp(b),
                _ => self.coefficient().cmp(&other.coefficient()),
            };
        }
        let signs = self.signum().cmp(&other.signum());
        if signs != Ordering::Equal || self.is_zero() {
            return signs;
        }
        // Same sign: the size of the first digit decides unless equal, so the scaling below stays small.
        let sizes = self.adjusted_exponent().cmp(&other.adjusted_exponent());
        if sizes != Ordering::Equal {
            return if self.is_negative() { sizes.reverse() } else { sizes };
        }
        let (a, b, _) = aligned(self, other);
        a.cmp(&b)
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.compare(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare(other)
    }
}

impl std::fmt::Debug for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        Self::small(value, 0)
    }
}

impl From<i32> for Decimal {
    fn from(value: i32) -> Self {
        Self::small(i64::from(value), 0)
    }
}

impl From<u64> for Decimal {
    fn from(value: u64) -> Self {
        Self::new(BigInt::from(value), 0)
    }
}

impl From<BigInt> for Decimal {
    fn from(value: BigInt) -> Self {
        Self::new(value, 0)
    }
}

/// 10^power.
fn pow10(power: u32) -> BigInt {
    match 10i64.checked_pow(power) {
        Some(small) => BigInt::from(small),
        None => BigInt::from(10).pow(power),
    }
}

/// Number of decimal digits of a large integer, without printing it.
fn digits_of(value: &BigInt) -> u64 {
    if value.is_zero() {
        return 1;
    }
    // log10(2) as a fraction just below its value: the guess is never more than one too small.
    let guess = (value.bits() - 1).saturating_mul(30_102_999_566) / 100_000_000_000;
    let power = u32::try_from(guess + 1).unwrap_or(u32::MAX);
    if value.magnitude() < pow10(power).magnitude() { guess + 1 } else { guess + 2 }
}

/// Both coefficients at the smaller of the two exponents.
fn aligned(a: &Decimal, b: &Decimal) -> (BigInt, BigInt, i32) {
    let exponent = a.exponent.min(b.exponent);
    let at = |n: &Decimal| {
        if n.exponent == exponent || n.is_zero() {
            n.coefficient()
        } else {
            n.coefficient() * pow10(n.exponent.abs_diff(exponent))
        }
    };
    (at(a), at(b), exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Decimal {
        Decimal::parse(text).unwrap_or(Decimal::ZERO)
    }

    fn shown(result: Result<Decimal, NumberError>) -> String {
        result.map_or_else(|e| e.to_string(), |n| n.to_string())
    }

    /// Results of the reference command `cue export`.
    #[test]
    fn arithmetic_agrees_with_the_reference() {
        let long = "123456789012345678901234567890123456789012345678901234567890";
        for (a, op, b, expected) in [
            (long, '+', "1", "1.234567890123456789012345678901235E+59"),
            ("1.50", '+', "1", "2.50"),
            ("1", '/', "3", "0.3333333333333333333333333333333333"),
            ("10", '/', "2", "5.0"),
            ("10.0", '/', "4", "2.5"),
            ("100", '/', "10", "10"),
            ("1e6", '/', "10", "1.0E+5"),
            ("1.0", '*', "100", "100.0"),
            ("1e3", '+', "1", "1001"),
            ("1", '/', "1e50", "1E-50"),
            ("1e3", '*', "1e3", "1E+6"),
            ("1.20", '+', "1.30", "2.50"),
            ("1.5", '/', "0.5", "3.0"),
            ("2", '*', "0.5", "1.0"),
            ("100", '/', "3.0", "33.33333333333333333333333333333333"),
            ("1", '/', "0", "division by zero"),
        ] {
            let (x, y) = (number(a), number(b));
            let result = match op {
                '+' => x.add(&y),
                '*' => x.mul(&y),
                _ => x.quo(&y),
            };
            assert_eq!(shown(result), expected, "{a} {op} {b}");
        }
    }

    #[test]
    fn integer_division_has_four_forms() {
        let of = |f: fn(&Decimal, &Decimal) -> Result<Decimal, NumberError>, a: i64, b: i64| {
            shown(f(&a.into(), &b.into()))
        };
        for (a, b, div, modulo, quo, rem) in [
            (7, 2, "3", "1", "3", "1"),
            (-7, 2, "-4", "1", "-3", "-1"),
            (7, -2, "-3", "1", "-3", "1"),
            (-7, -2, "4", "1", "3", "-1"),
        ] {
            assert_eq!(of(Decimal::int_div, a, b), div);
            assert_eq!(of(Decimal::int_mod, a, b), modulo);
            assert_eq!(of(Decimal::int_quo, a, b), quo);
            assert_eq!(of(Decimal::int_rem, a, b), rem);
        }
        assert_eq!(of(Decimal::int_div, 1, 0), "division by zero");
    }

    #[test]
    fn order_ignores_trailing_zeros() {
        assert_eq!(number("1.50"), number("1.5"));
        assert!(number("1e30") > number("999"));
        assert!(number("-1e30") < number("0.001"));
        assert!(number("1E+99999") > number("1E-99999"));
        assert!(number("1e3").is_integral() && !number("1.5").is_integral());
    }

    #[test]
    fn functions_are_right_to_the_last_digit() {
        assert_eq!(shown(number("2").sqrt()), "1.414213562373095048801688724209698");
        assert_eq!(shown(number("2").exp()), "7.389056098930650227230427460575008");
        assert_eq!(shown(number("3").ln()), "1.098612288668109691395245236922526");
        assert_eq!(shown(number("8").log2()), "3");
        assert_eq!(shown(number("0.125").log2()), "-3");
        assert_eq!(shown(number("2").pow(&number("10"))), "1024");
        assert_eq!(shown(number("2").pow(&number("0.5"))), "1.414213562373095048801688724209698");
        assert_eq!(shown(number("0").ln()), NumberError::Undefined.to_string());
    }
}
