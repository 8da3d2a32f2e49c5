//! One decimal in, its root, power, exponential or logarithm out, to 34 digits.

use num_bigint::BigInt;
use num_traits::ToPrimitive as _;

use super::arithmetic::Rounding;
use super::{Decimal, NumberError, PRECISION, pow10};

/// Digits carried inside series so that the 34th digit of the result is right.
const WORKING: u32 = PRECISION + 22;

/// Longest run of a series; each term adds more than a digit after range reduction.
const MAX_TERMS: u32 = 400;

type Outcome = Result<Decimal, NumberError>;

impl Decimal {
    /// The square root.
    ///
    /// # Errors
    /// The number is negative.
    pub fn sqrt(&self) -> Outcome {
        if self.is_negative() {
            return Err(NumberError::Undefined);
        }
        if self.is_zero() {
            return Ok(Self::small(0, self.exponent / 2));
        }
        let root = self.integer_root(2)?;
        let root = root.rounded(PRECISION)?;
        // An exact root is shown at the natural exponent of the operand.
        let exact = root.reduced();
        if exact.mul(&exact).is_ok_and(|square| square == *self) {
            let natural = self.exponent.div_euclid(2);
            if exact.exponent > natural && exact.exponent > 0 && natural >= 0 {
                return Ok(Self::new(
                    exact.coefficient() * pow10((exact.exponent - natural).unsigned_abs()),
                    natural,
                ));
            }
        }
        Ok(root.reduced_keeping_fraction())
    }

    /// The cube root.
    ///
    /// # Errors
    /// The result is too large or too close to zero to be represented.
    pub fn cbrt(&self) -> Outcome {
        if self.is_zero() {
            return Ok(Self::ZERO);
        }
        let root = self.abs().integer_root(3)?;
        let root = root.rounded(PRECISION)?;
        let root = if root.is_integral() { root.reduced() } else { root };
        Ok(if self.is_negative() { root.neg() } else { root })
    }

    /// The n-th root of a positive number through the integer root of a sufficiently scaled coefficient.
    fn integer_root(&self, degree: u32) -> Outcome {
        let wanted = i64::from(WORKING) * i64::from(degree);
        let mut shift = (wanted - self.digits().cast_signed()).max(0);
        let step = i64::from(degree);
        while (i64::from(self.exponent) - shift).rem_euclid(step) != 0 {
            shift += 1;
        }
        let scaled = self.coefficient() * pow10(u32::try_from(shift).map_err(|_| NumberError::Overflow)?);
        let exponent = (i64::from(self.exponent) - shift) / step;
        let root = scaled.nth_root(degree);
        Ok(Self::new(root, i32::try_from(exponent).map_err(|_| NumberError::Overflow)?))
    }

    /// `self` raised to `power`.
    ///
    /// # Errors
    /// Zero to the power of zero or of a negative number, or of a negative number a power that is no integer; the
    /// result is too large or too close to zero to be represented.
    pub fn pow(&self, power: &Self) -> Outcome {
        if power.is_zero() {
            return if self.is_zero() { Err(NumberError::Undefined) } else { Ok(Self::ONE) };
        }
        if self.is_zero() {
            return if power.is_negative() { Err(NumberError::Undefined) } else { Ok(Self::ZERO) };
        }
        if power.is_integral() {
            let size = power.abs().to_u64().ok_or(NumberError::Overflow)?;
            // The working precision covers the error that up to 64 squarings add.
            let result = self.integer_power(size)?;
            return if power.is_negative() {
                Self::ONE.quo_unreduced(&result, PRECISION).map(|r| r.reduced())
            } else {
                result.rounded(PRECISION)
            };
        }
        if self.is_negative() {
            return Err(NumberError::Undefined);
        }
        let exponent = self.ln_working()?.mul_working(power)?;
        exponent.exp_working()?.rounded(PRECISION)
    }

    fn integer_power(&self, mut power: u64) -> Outcome {
        let (mut base, mut result) = (self.clone(), Self::ONE);
        loop {
            if power & 1 == 1 {
                result = result.mul_working(&base)?;
            }
            power >>= 1;
            if power == 0 {
                return Ok(result);
            }
            base = base.mul_working(&base)?;
        }
    }

    fn mul_working(&self, other: &Self) -> Outcome {
        let exponent = self.exponent.checked_add(other.exponent).ok_or(NumberError::Overflow)?;
        Self::new(self.coefficient() * other.coefficient(), exponent).rounded(WORKING)
    }

    fn add_working(&self, other: &Self) -> Outcome {
        let (a, b, exponent) = super::aligned(self, other);
        Self::new(a + b, exponent).rounded(WORKING)
    }

    /// e to the power of the number.
    ///
    /// # Errors
    /// The result is too large or too close to zero to be represented.
    pub fn exp(&self) -> Outcome {
        if self.is_zero() {
            return Ok(Self::ONE);
        }
        self.exp_working()?.rounded(PRECISION)
    }

    /// Two to the power of the number.
    ///
    /// # Errors
    /// The result is too large or too close to zero to be represented.
    pub fn exp2(&self) -> Outcome {
        Self::from(2).pow(self)
    }

    fn exp_working(&self) -> Outcome {
        if self.adjusted_exponent() > 6 {
            return Err(if self.is_negative() { NumberError::Underflow } else { NumberError::Overflow });
        }
        // e^x = 10^k · e^(x - k·ln 10): the rest is below 1.2, then quartered for a fast series.
        let ln10 = ln_of_ten();
        let k = self.quo_unreduced(&ln10, WORKING)?.to_integral(Rounding::HalfEven);
        let rest = self.add_working(&Self::from(k.clone()).mul_working(&ln10)?.neg())?;
        let quarter = rest.quo_unreduced(&Self::from(256), WORKING)?;
        let (mut sum, mut term) = (Self::ONE, Self::ONE);
        for n in 1..MAX_TERMS {
            term = term.mul_working(&quarter)?.quo_unreduced(&Self::from(i64::from(n)), WORKING)?;
            if term.is_zero() || term.adjusted_exponent() < -i64::from(WORKING) {
                break;
            }
            sum = sum.add_working(&term)?;
        }
        for _ in 0..8 {
            sum = sum.mul_working(&sum)?;
        }
        let k = k.to_i32().ok_or(NumberError::Overflow)?;
        sum.exponent = sum.exponent.checked_add(k).ok_or(NumberError::Overflow)?;
        Ok(sum)
    }

    /// The natural logarithm.
    ///
    /// # Errors
    /// The number is zero or negative.
    pub fn ln(&self) -> Outcome {
        let result = self.ln_working()?;
        if result.is_zero() { Ok(Self::ZERO) } else { result.rounded(PRECISION) }
    }

    /// The logarithm to base 10.
    ///
    /// # Errors
    /// The number is zero or negative.
    pub fn log10(&self) -> Outcome {
        if self.signum() > 0 && self.reduced().coefficient() == BigInt::from(1) {
            return Ok(Self::from(i64::from(self.reduced().exponent)));
        }
        self.ln_working()?.quo_unreduced(&ln_of_ten(), PRECISION)
    }

    /// The logarithm to base 2.
    ///
    /// # Errors
    /// The number is zero or negative.
    pub fn log2(&self) -> Outcome {
        // The reference divides logarithms of 34 digits, so the last digit of a quotient is often one beside the nearest: observed on the real cue.
        let result = self.ln()?.quo_unreduced(&Self::from(2).ln()?, PRECISION)?;
        let nearest = Self::from(result.to_integral(Rounding::HalfEven));
        if nearest.abs() < Self::from(400) && Self::from(2).pow(&nearest).is_ok_and(|p| p == *self) {
            return Ok(nearest);
        }
        Ok(result)
    }

    fn ln_working(&self) -> Outcome {
        if self.signum() <= 0 {
            return Err(NumberError::Undefined);
        }
        // x = m · 10^k with 0.1 ≤ m < 1.
        let k = self.adjusted_exponent() + 1;
        let k_small = i32::try_from(k).map_err(|_| NumberError::Overflow)?;
        let mantissa = Self { coefficient: self.coefficient.clone(), exponent: self.exponent - k_small };
        if mantissa == Self::small(1, -1) {
            return Self::from(k - 1).mul_working(&ln_of_ten());
        }
        ln_series(&mantissa)?.add_working(&Self::from(k).mul_working(&ln_of_ten())?)
    }
}

/// ln m = 2·artanh((m-1)/(m+1)), after taking square roots to bring m near 1.
fn ln_series(value: &Decimal) -> Outcome {
    let (mut near_one, mut doublings) = (value.clone(), 0u32);
    let bound = Decimal::small(2, -2);
    while near_one.add_working(&Decimal::from(-1))?.abs() > bound && doublings < 64 {
        near_one = near_one.integer_root(2)?.rounded(WORKING)?;
        doublings += 1;
    }
    let ratio = near_one
        .add_working(&Decimal::from(-1))?
        .quo_unreduced(&near_one.add_working(&Decimal::ONE)?, WORKING)?;
    let square = ratio.mul_working(&ratio)?;
    let (mut sum, mut power) = (ratio.clone(), ratio);
    for n in 1..MAX_TERMS {
        power = power.mul_working(&square)?;
        let term = power.quo_unreduced(&Decimal::from(i64::from(2 * n + 1)), WORKING)?;
        if term.is_zero() || term.adjusted_exponent() < sum.adjusted_exponent() - i64::from(WORKING) {
            break;
        }
        sum = sum.add_working(&term)?;
    }
    sum.mul_working(&Decimal::from(1i64 << (doublings + 1).min(62)))
}

/// ln 10 to 76 digits.
fn ln_of_ten() -> Decimal {
    const DIGITS: &str = "2.302585092994045684017991454684364207601101488628772976033327900967572609677";
    Decimal::parse(DIGITS).unwrap_or(Decimal::ONE)
}
