//! A binary float in; its error function, gamma function and Bessel functions out, and the inverses of the first.

use super::Failure;

/// Highest order of a Bessel function that is computed: the recurrence takes as many steps.
const MAX_ORDER: i64 = 100_000;

/// Most steps towards an inverse; each triples the number of right digits, so that two are usual.
const MAX_STEPS: u32 = 8;

/// From here the distance to one is exact and tells more than the number.
const NEAR_ONE: f64 = 0.5;

/// The number whose error function is `value`; infinite at one and minus one, no number beyond.
pub(super) fn inverse_error(value: f64) -> f64 {
    let size = value.abs();
    if size.is_nan() || size > 1.0 {
        return f64::NAN;
    }
    if size == 0.0 || size == 1.0 {
        return if size == 0.0 { value } else { f64::INFINITY.copysign(value) };
    }
    let mut root = estimate(size);
    for _ in 0..MAX_STEPS {
        let next = root - step(root, size);
        if next == root {
            break;
        }
        root = next;
    }
    root.copysign(value)
}

/// Winitzki's approximation of the inverse, right to two or three digits.
fn estimate(size: f64) -> f64 {
    const SHAPE: f64 = 0.147;
    let rest = (1.0 - size).ln() + size.ln_1p();
    let middle = 2.0 / (std::f64::consts::PI * SHAPE) + rest / 2.0;
    // For small numbers the difference of the roots has no digit left; there the function is a line.
    if size < 1e-3 {
        return size * std::f64::consts::PI.sqrt() / 2.0;
    }
    ((middle * middle - rest / SHAPE).sqrt() - middle).sqrt()
}

/// How far Halley's method takes `root` back.
fn step(root: f64, size: f64) -> f64 {
    let excess = if size < NEAR_ONE { libm::erf(root) - size } else { (1.0 - size) - libm::erfc(root) };
    let slope = std::f64::consts::FRAC_2_SQRT_PI * (-root * root).exp();
    let newton = excess / slope;
    newton / (1.0 + root * newton)
}

/// The Bessel function of the first kind.
pub(super) fn bessel_first(order: i64, x: f64) -> Result<f64, Failure> {
    Ok(libm::jn(within(order)?, x))
}

/// The Bessel function of the second kind.
pub(super) fn bessel_second(order: i64, x: f64) -> Result<f64, Failure> {
    Ok(libm::yn(within(order)?, x))
}

fn within(order: i64) -> Result<i32, Failure> {
    let fits = i32::try_from(order).ok().filter(|_| order.saturating_abs() <= MAX_ORDER);
    fits.ok_or_else(|| Failure::Budget(format!("order {order} of a Bessel function is beyond {MAX_ORDER}")))
}

#[cfg(test)]
mod tests {
    use super::{bessel_first, bessel_second, inverse_error};
    use crate::packages::Failure;

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= expected.abs() * 4.0 * f64::EPSILON
    }

    #[test]
    fn results_are_those_of_the_reference_up_to_the_last_digits() {
        for (found, reference) in [
            (libm::erfc(6.0), 2.151_973_671_249_891e-17),
            (inverse_error(0.1), 0.088_855_990_494_257_66),
            (inverse_error(-0.9), -1.163_087_153_676_673_8),
            (inverse_error(0.999_999), 3.458_910_737_275_498_4),
            (inverse_error(1.0 - 1.999), -2.326_753_765_513_546),
            (libm::tgamma(-1.5), 2.363_271_801_207_355),
            (libm::tgamma(171.0), 7.257_415_615_307_999e306),
            (libm::j0(100.5), 0.054_436_573_814_413_594),
            (libm::j1(10.0), 0.043_472_746_168_861_424),
            (libm::y0(10.0), 0.055_671_167_283_599_39),
            (libm::y1(100.5), -0.054_726_102_094_683_496),
            (libm::jn(-3, 2.0), -0.128_943_249_474_402_08),
            (libm::yn(2, 3.0), -0.160_400_393_484_923_74),
        ] {
            assert!(near(found, reference), "{found} instead of {reference}");
        }
    }

    #[test]
    fn an_inverse_leads_back() {
        let numbers = (-999..1000).map(|n| f64::from(n) / 1000.0);
        let small = [1e-300, 1e-20, -1e-9, 1e-4, 0.999_999_999, 1.0 - f64::EPSILON / 2.0];
        for number in numbers.chain(small) {
            let there = inverse_error(number);
            assert!(near(libm::erf(there), number), "{number}: {there} leads to {}", libm::erf(there));
        }
    }

    #[test]
    fn the_ends_are_infinite_and_nothing_is_beyond() {
        assert_eq!(inverse_error(1.0), f64::INFINITY);
        assert_eq!(inverse_error(-1.0), f64::NEG_INFINITY);
        assert!(inverse_error(1.5).is_nan() && inverse_error(f64::NAN).is_nan());
    }

    #[test]
    fn orders_are_bounded() {
        for order in [100_001, -100_001, i64::MAX, i64::MIN] {
            assert!(matches!(bessel_first(order, 1e9), Err(Failure::Budget(_))), "{order}");
            assert!(matches!(bessel_second(order, 1e9), Err(Failure::Budget(_))), "{order}");
        }
        assert!(bessel_first(100_000, 1e9).is_ok() && bessel_second(-100_000, 1e9).is_ok());
    }
}
