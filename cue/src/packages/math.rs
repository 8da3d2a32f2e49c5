//! Packages `math` and `math/bits`: numbers in, numbers out; decimals where the reference uses decimals, floats elsewhere.

use num_bigint::BigInt;
use num_integer::Integer as _;
use num_traits::{One as _, Signed as _, Zero as _};

use super::arguments::{integer, number};
use super::functions_of_floats::{bessel_first, bessel_second, inverse_error};
use super::{Data, Failure, Function, INTEGER, Kinds, NUMBER, Package, Parameter, function};
use crate::number::{Decimal, NumberError, Rounding};

type Outcome = Result<Data, Failure>;

const I: Kinds = Kinds::INT;
const N: Kinds = Kinds::NUMBER;
const ONE: &[Parameter] = &[NUMBER];
const TWO: &[Parameter] = &[NUMBER, NUMBER];
const ORDER: &[Parameter] = &[INTEGER, NUMBER];
const TWO_INTEGERS: &[Parameter] = &[INTEGER, INTEGER];

/// Most bits that a shift or a set bit makes: larger numbers take too long to print.
const MAX_BITS: u64 = 1 << 20;

pub(super) static PACKAGE: Package = Package {
    path: "math",
    declarations: "",
    constants: &[
        ("MaxExp", "2147483647"),
        ("MinExp", "-2147483648"),
        ("MaxPrec", "4294967295"),
        ("ToNearestEven", "0"),
        ("ToNearestAway", "1"),
        ("ToZero", "2"),
        ("AwayFromZero", "3"),
        ("ToNegativeInf", "4"),
        ("ToPositiveInf", "5"),
        ("Below", "-1"),
        ("Exact", "0"),
        ("Above", "1"),
        ("MaxBase", "62"),
        ("E", "2.71828182845904523536028747135266249775724709369995957496696763"),
        ("Pi", "3.14159265358979323846264338327950288419716939937510582097494459"),
        ("Phi", "1.61803398874989484820458683436563811772030917980576286213544861"),
        ("Sqrt2", "1.41421356237309504880168872420969807856967187537694807317667974"),
        ("SqrtE", "1.64872127070012814684865078781416357165377610071014801157507931"),
        ("SqrtPi", "1.77245385090551602729816748334114518279754945612238712821380779"),
        ("SqrtPhi", "1.27201964951406896425242246173749149171560804184009624861664038"),
        ("Ln2", "0.693147180559945309417232121458176568075500134360255254120680009"),
        ("Log2E", "1.442695040888963407359924681001892137426645954152985934135449408"),
        ("Ln10", "2.3025850929940456840179914546843642076011014886287729760333278"),
        ("Log10E", "0.43429448190325182765112891891660508229439700580366656611445378"),
    ],
    functions: &[
        function("Floor", ONE, I, |a| rounded(a, Rounding::Floor)),
        function("Ceil", ONE, I, |a| rounded(a, Rounding::Ceil)),
        function("Trunc", ONE, I, |a| rounded(a, Rounding::Trunc)),
        function("Round", ONE, I, |a| rounded(a, Rounding::HalfAway)),
        function("RoundToEven", ONE, I, |a| rounded(a, Rounding::HalfEven)),
        function("MultipleOf", TWO, Kinds::BOOL, |a| {
            let quotient = number(a, 0)?.quo(number(a, 1)?)?;
            Ok(Data::Bool(quotient.is_integral()))
        }),
        function("Abs", ONE, N, |a| Ok(Data::number(number(a, 0)?.abs()))),
        function("Copysign", TWO, N, |a| {
            let size = number(a, 0)?.abs();
            Ok(Data::number(if number(a, 1)?.is_negative() { size.neg() } else { size }))
        }),
        function("Dim", TWO, N, |a| {
            let difference = number(a, 0)?.sub(number(a, 1)?)?;
            Ok(Data::number(if difference.is_negative() { Decimal::ZERO } else { difference }))
        }),
        unary("Cbrt", |a| Ok(Data::number(number(a, 0)?.cbrt()?))),
        unary("Exp", |a| Ok(Data::number(number(a, 0)?.exp()?))),
        unary("Exp2", |a| Ok(Data::number(number(a, 0)?.exp2()?))),
        unary("Log", |a| Ok(Data::number(number(a, 0)?.ln()?))),
        unary("Log10", |a| Ok(Data::number(number(a, 0)?.log10()?))),
        unary("Log2", |a| Ok(Data::number(number(a, 0)?.log2()?))),
        function("Pow", TWO, N, |a| Ok(Data::number(number(a, 0)?.pow(number(a, 1)?)?))),
        function("Pow10", &[INTEGER], N, |a| {
            let power = i32::try_from(integer(a, 0)?).map_err(|_| Failure::from(NumberError::Overflow))?;
            Ok(Data::number(Decimal::new(BigInt::one(), power).rounded(crate::number::PRECISION)?))
        }),
        function("Signbit", ONE, Kinds::BOOL, |a| Ok(Data::Bool(number(a, 0)?.is_negative()))),
        unary("Acosh", |a| finite(number(a, 0)?.to_f64().acosh())),
        unary("Asin", |a| finite(number(a, 0)?.to_f64().asin())),
        unary("Acos", |a| finite(number(a, 0)?.to_f64().acos())),
        unary("Asinh", |a| finite(number(a, 0)?.to_f64().asinh())),
        unary("Atan", |a| finite(number(a, 0)?.to_f64().atan())),
        unary("Atanh", |a| finite(number(a, 0)?.to_f64().atanh())),
        unary("Expm1", |a| finite(number(a, 0)?.to_f64().exp_m1())),
        unary("Log1p", |a| finite(number(a, 0)?.to_f64().ln_1p())),
        unary("Logb", |a| finite(f64::from(binary_exponent(number(a, 0)?.to_f64())))),
        unary("Cos", |a| finite(number(a, 0)?.to_f64().cos())),
        unary("Sin", |a| finite(number(a, 0)?.to_f64().sin())),
        unary("Sinh", |a| finite(number(a, 0)?.to_f64().sinh())),
        unary("Cosh", |a| finite(number(a, 0)?.to_f64().cosh())),
        unary("Sqrt", |a| finite(number(a, 0)?.to_f64().sqrt())),
        unary("Tan", |a| finite(number(a, 0)?.to_f64().tan())),
        unary("Tanh", |a| finite(number(a, 0)?.to_f64().tanh())),
        function("Atan2", TWO, N, |a| pair(a, f64::atan2)),
        function("Hypot", TWO, N, |a| pair(a, f64::hypot)),
        function("Mod", TWO, N, |a| pair(a, |x, y| x % y)),
        function("Remainder", TWO, N, |a| pair(a, |x, y| x - y * (x / y).round_ties_even())),
        function("Ldexp", &[NUMBER, INTEGER], N, |a| {
            let power = i32::try_from(integer(a, 1)?.clamp(-3000, 3000)).unwrap_or(0);
            // Two steps keep the intermediate power of two in range.
            finite(number(a, 0)?.to_f64() * 2f64.powi(power / 2) * 2f64.powi(power - power / 2))
        }),
        function("Ilogb", ONE, I, |a| Ok(Data::int(binary_exponent(number(a, 0)?.to_f64())))),
        function("Jacobi", TWO_INTEGERS, I, jacobi),
        unary("Erf", |a| finite(libm::erf(number(a, 0)?.to_f64()))),
        unary("Erfc", |a| finite(libm::erfc(number(a, 0)?.to_f64()))),
        unary("Erfinv", |a| finite(inverse_error(number(a, 0)?.to_f64()))),
        unary("Erfcinv", |a| finite(inverse_error(1.0 - number(a, 0)?.to_f64()))),
        unary("Gamma", |a| finite(libm::tgamma(number(a, 0)?.to_f64()))),
        unary("J0", |a| finite(libm::j0(number(a, 0)?.to_f64()))),
        unary("Y0", |a| finite(libm::y0(number(a, 0)?.to_f64()))),
        unary("J1", |a| finite(libm::j1(number(a, 0)?.to_f64()))),
        unary("Y1", |a| finite(libm::y1(number(a, 0)?.to_f64()))),
        function("Jn", ORDER, N, |a| finite(bessel_first(integer(a, 0)?, number(a, 1)?.to_f64())?)),
        function("Yn", ORDER, N, |a| finite(bessel_second(integer(a, 0)?, number(a, 1)?.to_f64())?)),
    ],
};

pub(super) static BITS: Package = Package {
    path: "math/bits",
    constants: &[],
    declarations: "",
    functions: &[
        function("Lsh", TWO_INTEGERS, I, |a| {
            let (value, places) = (big(a, 0)?, shift(a, 1)?);
            within_bits(value.bits().saturating_add(places))?;
            Ok(Data::int(value << places))
        }),
        function("Rsh", TWO_INTEGERS, I, |a| Ok(Data::int(big(a, 0)? >> shift(a, 1)?))),
        function("At", TWO_INTEGERS, I, |a| {
            let at = shift(a, 1)?;
            if at > u64::from(u32::MAX) {
                return Err(Failure::error("bit index too large"));
            }
            Ok(Data::int(i32::from(big(a, 0)?.bit(at))))
        }),
        function("Set", &[INTEGER, INTEGER, INTEGER], I, |a| {
            let (mut value, at) = (big(a, 0)?, shift(a, 1)?);
            let bit = number(a, 2)?.to_u64().filter(|bit| *bit < 2);
            let bit = bit.ok_or_else(|| Failure::error("set bit is not 0 or 1"))?;
            within_bits(at)?;
            value.set_bit(at, bit == 1);
            Ok(Data::int(value))
        }),
        function("And", TWO_INTEGERS, I, |a| Ok(Data::int(big(a, 0)? & big(a, 1)?))),
        function("Or", TWO_INTEGERS, I, |a| Ok(Data::int(big(a, 0)? | big(a, 1)?))),
        function("Xor", TWO_INTEGERS, I, |a| Ok(Data::int(big(a, 0)? ^ big(a, 1)?))),
        function("Clear", TWO_INTEGERS, I, |a| Ok(Data::int(big(a, 0)? & !big(a, 1)?))),
        function("OnesCount", &[INTEGER], I, |a| {
            let ones: u64 = big(a, 0)?.magnitude().iter_u64_digits().map(|d| u64::from(d.count_ones())).sum();
            Ok(Data::int(ones))
        }),
        function("Len", &[INTEGER], I, |a| Ok(Data::int(big(a, 0)?.bits()))),
    ],
};

const fn unary(name: &'static str, run: fn(&[Data]) -> Outcome) -> Function {
    function(name, ONE, N, run)
}

fn rounded(a: &[Data], rounding: Rounding) -> Outcome {
    Ok(Data::int(number(a, 0)?.to_integral(rounding)))
}

fn finite(value: f64) -> Outcome {
    Decimal::from_f64(value).map(Data::float).ok_or_else(|| Failure::error("result is not a finite number"))
}

fn pair(a: &[Data], operation: fn(f64, f64) -> f64) -> Outcome {
    finite(operation(number(a, 0)?.to_f64(), number(a, 1)?.to_f64()))
}

/// The power of two of the first bit.
fn binary_exponent(value: f64) -> i32 {
    if value == 0.0 {
        return i32::MIN;
    }
    let mut power = 0;
    let mut size = value.abs();
    while size >= 2.0 {
        size /= 2.0;
        power += 1;
    }
    while size < 1.0 {
        size *= 2.0;
        power -= 1;
    }
    power
}

fn big(a: &[Data], index: usize) -> Result<BigInt, Failure> {
    number(a, index)?
        .to_bigint()
        .ok_or_else(|| Failure::error(format!("argument {} is not an integer", index + 1)))
}

fn shift(a: &[Data], index: usize) -> Result<u64, Failure> {
    number(a, index)?.to_u64().ok_or_else(|| {
        Failure::error(format!("argument {} is not an unsigned integer of 64 bits", index + 1))
    })
}

fn within_bits(bits: u64) -> Result<(), Failure> {
    if bits > MAX_BITS {
        return Err(Failure::Budget(format!("result would have more than {MAX_BITS} bits")));
    }
    Ok(())
}

fn jacobi(a: &[Data]) -> Outcome {
    let (mut x, mut n) = (big(a, 0)?, big(a, 1)?);
    if n.is_even() {
        return Err(Failure::error("need odd second argument"));
    }
    let mut sign = 1;
    if n.is_negative() {
        if x.is_negative() {
            sign = -1;
        }
        n = n.abs();
    }
    x = x.mod_floor(&n);
    while !x.is_zero() {
        while x.is_even() {
            x /= 2;
            let residue = &n % 8;
            if residue == BigInt::from(3) || residue == BigInt::from(5) {
                sign = -sign;
            }
        }
        std::mem::swap(&mut x, &mut n);
        if &x % 4 == BigInt::from(3) && &n % 4 == BigInt::from(3) {
            sign = -sign;
        }
        x %= &n;
    }
    Ok(Data::int(if n.is_one() { sign } else { 0 }))
}
