//! Two decimals in, one decimal out: sums, products, quotients, integer division and rounding.

use num_bigint::BigInt;
use num_integer::Integer as _;
use num_traits::{Signed as _, Zero as _};

use super::{Coefficient, Decimal, MAX_EXPONENT, NumberError, PRECISION, aligned, pow10};

/// How a fraction is brought to an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// Towards negative infinity.
    Floor,
    /// Towards positive infinity.
    Ceil,
    /// Towards zero.
    Trunc,
    /// To the nearest integer, halves away from zero.
    HalfAway,
    /// To the nearest integer, halves to the even one.
    HalfEven,
}

type Outcome = Result<Decimal, NumberError>;

impl Decimal {
    /// The sum.
    ///
    /// # Errors
    /// The result is too large or too close to zero to be represented.
    pub fn add(&self, other: &Self) -> Outcome {
        if let (Coefficient::Small(a), Coefficient::Small(b)) = (&self.coefficient, &other.coefficient)
            && self.exponent == other.exponent
            && let Some(sum) = a.checked_add(*b)
        {
            return Ok(Self::small(sum, self.exponent));
        }
        let (a, b, exponent) = aligned(self, other);
        Self::new(a + b, exponent).rounded(PRECISION)
    }

    /// The difference.
    ///
    /// # Errors
    /// The result is too large or too close to zero to be represented.
    pub fn sub(&self, other: &Self) -> Outcome {
        self.add(&other.neg())
    }

    /// The product.
    ///
    /// # Errors
    /// The result is too large or too close to zero to be represented.
    pub fn mul(&self, other: &Self) -> Outcome {
        let exponent = i64::from(self.exponent) + i64::from(other.exponent);
        let exponent = i32::try_from(exponent).map_err(|_| NumberError::Overflow)?;
        if let (Coefficient::Small(a), Coefficient::Small(b)) = (&self.coefficient, &other.coefficient)
            && let Some(product) = a.checked_mul(*b)
        {
            return Self::small(product, exponent).rounded(PRECISION);
        }
        Self::new(self.coefficient() * other.coefficient(), exponent).rounded(PRECISION)
    }

    /// The quotient of CUE's `/`: trailing zeros dropped, but a result that had a fraction keeps one (`3.0`).
    ///
    /// # Errors
    /// The result is too large or too close to zero to be represented, or the divisor is zero.
    pub fn quo(&self, other: &Self) -> Outcome {
        let quotient = self.quo_unreduced(other, PRECISION)?;
        Ok(quotient.reduced_keeping_fraction())
    }

    /// The quotient with `precision` digits.
    pub(super) fn quo_unreduced(&self, other: &Self, precision: u32) -> Outcome {
        if other.is_zero() {
            return Err(NumberError::DivisionByZero);
        }
        let shift = i64::from(self.exponent) - i64::from(other.exponent);
        if self.is_zero() {
            let exponent = shift.clamp(i64::from(-MAX_EXPONENT), i64::from(MAX_EXPONENT));
            return Ok(Self::small(0, i32::try_from(exponent).map_err(|_| NumberError::Overflow)?));
        }
        let (mut dividend, mut divisor) = (self.coefficient().abs(), other.coefficient().abs());
        // Bring both to the same number of digits with dividend ≥ divisor: the quotient then has exactly `precision` digits.
        let difference = self.digits().cast_signed() - other.digits().cast_signed();
        let power = u32::try_from(difference.unsigned_abs()).map_err(|_| NumberError::Overflow)?;
        if difference < 0 {
            dividend *= pow10(power);
        } else {
            divisor *= pow10(power);
        }
        let mut adjusted = -difference;
        if dividend < divisor {
            dividend *= 10;
            adjusted += 1;
        }
        dividend *= pow10(precision - 1);
        let (mut quotient, remainder) = dividend.div_rem(&divisor);
        if remainder * 2 >= divisor {
            quotient += 1;
        }
        if self.is_negative() != other.is_negative() {
            quotient = -quotient;
        }
        let exponent = shift - adjusted - i64::from(precision - 1);
        let exponent = i32::try_from(exponent).map_err(|_| NumberError::Overflow)?;
        Self::new(quotient, exponent).rounded(precision)
    }

    pub(super) fn reduced_keeping_fraction(&self) -> Self {
        let reduced = self.reduced();
        if self.exponent < 0 && reduced.exponent >= 0 {
            return Self::new(reduced.coefficient() * 10, reduced.exponent - 1);
        }
        reduced
    }

    /// The number with the other sign.
    pub fn neg(&self) -> Self {
        match &self.coefficient {
            Coefficient::Small(small) if *small != i64::MIN => Self::small(-small, self.exponent),
            _ => Self::new(-self.coefficient(), self.exponent),
        }
    }

    /// The number without its sign.
    pub fn abs(&self) -> Self {
        if self.is_negative() { self.neg() } else { self.clone() }
    }

    /// Euclidean quotient: the remainder that goes with it is never negative.
    ///
    /// # Errors
    /// The divisor is zero, or one of the two is no integer.
    pub fn int_div(&self, other: &Self) -> Outcome {
        self.integer_pair(other, |a, b| {
            let (quotient, remainder) = a.div_rem(b);
            if !remainder.is_negative() {
                quotient
            } else if b.is_negative() {
                quotient + 1
            } else {
                quotient - 1
            }
        })
    }

    /// Euclidean remainder, never negative.
    ///
    /// # Errors
    /// The divisor is zero, or one of the two is no integer.
    pub fn int_mod(&self, other: &Self) -> Outcome {
        self.integer_pair(other, |a, b| {
            let remainder = a % b;
            if remainder.is_negative() { remainder + b.abs() } else { remainder }
        })
    }

    /// Quotient cut towards zero.
    ///
    /// # Errors
    /// The divisor is zero, or one of the two is no integer.
    pub fn int_quo(&self, other: &Self) -> Outcome {
        self.integer_pair(other, |a, b| a / b)
    }

    /// Remainder with the sign of the dividend.
    ///
    /// # Errors
    /// The divisor is zero, or one of the two is no integer.
    pub fn int_rem(&self, other: &Self) -> Outcome {
        self.integer_pair(other, |a, b| a % b)
    }

    fn integer_pair(&self, other: &Self, operation: impl Fn(&BigInt, &BigInt) -> BigInt) -> Outcome {
        let divisor = other.to_integral(Rounding::HalfAway);
        if divisor.is_zero() {
            return Err(NumberError::DivisionByZero);
        }
        Ok(Self::from(operation(&self.to_integral(Rounding::HalfAway), &divisor)))
    }

    /// The number as an integer.
    pub fn to_integral(&self, rounding: Rounding) -> BigInt {
        if let Some(integer) = self.to_bigint() {
            return integer;
        }
        let scale = self.exponent.unsigned_abs();
        if u64::from(scale) > self.digits() + 1 {
            // Closer to zero than one tenth: only the directed roundings can leave zero.
            return match rounding {
                Rounding::Floor if self.is_negative() => BigInt::from(-1),
                Rounding::Ceil if !self.is_negative() => BigInt::from(1),
                _ => BigInt::zero(),
            };
        }
        let divisor = pow10(scale);
        let coefficient = self.coefficient();
        let (floor, remainder) = coefficient.div_mod_floor(&divisor);
        let doubled: BigInt = &remainder * 2;
        let half = doubled.cmp(&divisor);
        let up = match rounding {
            Rounding::Floor => false,
            Rounding::Ceil => true,
            Rounding::Trunc => self.is_negative(),
            Rounding::HalfAway => half.is_gt() || (half.is_eq() && !self.is_negative()),
            Rounding::HalfEven => half.is_gt() || (half.is_eq() && floor.is_odd()),
        };
        if up { floor + 1 } else { floor }
    }

    /// The number rounded to so many digits after the point.
    pub fn quantized(&self, fraction_digits: u32) -> Self {
        let places = i32::try_from(fraction_digits).unwrap_or(MAX_EXPONENT);
        if self.exponent >= -places {
            if self.is_zero() {
                return Self::small(0, -places);
            }
            let power = (i64::from(self.exponent) + i64::from(places)).unsigned_abs();
            return Self::new(self.coefficient() * pow10(u32::try_from(power).unwrap_or(0)), -places);
        }
        let shifted = Self { coefficient: self.coefficient.clone(), exponent: self.exponent + places };
        Self::new(shifted.to_integral(Rounding::HalfAway), -places)
    }

    /// The number cut to so many digits, halves away from zero; an error outside the range of exponents.
    ///
    /// # Errors
    /// The result is too large or too close to zero to be represented.
    pub fn rounded(&self, precision: u32) -> Outcome {
        let digits = self.digits();
        let mut result = self.clone();
        if digits > u64::from(precision) {
            let cut = u32::try_from(digits - u64::from(precision)).map_err(|_| NumberError::Overflow)?;
            let divisor = pow10(cut);
            let (mut quotient, remainder) = self.coefficient().div_rem(&divisor);
            if remainder.abs() * 2 >= divisor {
                quotient += if self.is_negative() { -1 } else { 1 };
            }
            let exponent = self.exponent.checked_add_unsigned(cut).ok_or(NumberError::Overflow)?;
            result = Self::new(quotient, exponent);
            if result.digits() > u64::from(precision) {
                // 999…9 rounded up to 1000…0: the last zero moves into the exponent.
                result = Self::new(
                    result.coefficient() / 10,
                    exponent.checked_add(1).ok_or(NumberError::Overflow)?,
                );
            }
        }
        if result.is_zero() {
            result.exponent = result.exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT);
            return Ok(result);
        }
        let adjusted = result.adjusted_exponent();
        if adjusted > i64::from(MAX_EXPONENT) {
            return Err(NumberError::Overflow);
        }
        if adjusted < -i64::from(MAX_EXPONENT) {
            return Err(NumberError::Underflow);
        }
        Ok(result)
    }
}
