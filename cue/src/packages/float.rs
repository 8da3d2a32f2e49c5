//! A binary float in, its text in one of Go's forms `b e E f g G x X` out.

/// The text of `value` in a form; without a precision the shortest digits that read back. An unknown form is shown as `%q`.
pub(super) fn format(value: f64, form: char, precision: Option<usize>, single: bool) -> String {
    #[allow(clippy::cast_possible_truncation)]
    let value = if single { f64::from(value as f32) } else { value };
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.into();
    }
    match form {
        'b' => binary(value, single),
        'e' => padded(&scientific(value, precision, single)),
        'E' => padded(&scientific(value, precision, single)).to_uppercase(),
        'f' | 'F' => fixed(value, precision, single),
        'g' => general(value, precision, single),
        'G' => general(value, precision, single).to_uppercase(),
        'x' => hexadecimal(value, precision),
        'X' => hexadecimal(value, precision).to_uppercase(),
        other => format!("%{other}"),
    }
}

#[allow(clippy::cast_possible_truncation)]
fn scientific(value: f64, precision: Option<usize>, single: bool) -> String {
    match (precision, single) {
        (Some(n), _) => format!("{value:.n$e}"),
        (None, true) => format!("{:e}", value as f32),
        (None, false) => format!("{value:e}"),
    }
}

#[allow(clippy::cast_possible_truncation)]
fn fixed(value: f64, precision: Option<usize>, single: bool) -> String {
    match (precision, single) {
        (Some(n), _) => format!("{value:.n$}"),
        (None, true) => format!("{}", value as f32),
        (None, false) => format!("{value}"),
    }
}

/// An exponent has a sign and at least two digits.
fn padded(text: &str) -> String {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    format!("{mantissa}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
}

fn general(value: f64, precision: Option<usize>, single: bool) -> String {
    let text = scientific(value, precision.map(|n| n.max(1) - 1), single);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    let trimmed = match mantissa.contains('.') {
        true => mantissa.trim_end_matches('0').trim_end_matches('.'),
        false => mantissa,
    };
    let digits = trimmed.bytes().filter(u8::is_ascii_digit).count();
    let size = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let limit = match precision {
        None => SHORTEST_LIMIT,
        Some(n) => {
            let n = size(n.max(1));
            if n > size(digits) && size(digits) > power { size(digits) } else { n }
        }
    };
    if power < -4 || power >= limit {
        return padded(&format!("{trimmed}e{exponent}"));
    }
    let places = usize::try_from((size(digits) - 1 - power).max(0)).unwrap_or(0);
    let rounded: f64 = text.parse().unwrap_or(value);
    format!("{rounded:.places$}")
}

/// Powers of ten from which the shortest general form has an exponent.
const SHORTEST_LIMIT: i32 = 6;

/// Mantissa as an integer and the power of two it is multiplied with.
fn parts(value: f64) -> (u64, i64) {
    let bits = value.abs().to_bits();
    let (exponent, fraction) = ((bits >> 52) as i64, bits & ((1 << 52) - 1));
    if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) }
}

fn binary(value: f64, single: bool) -> String {
    let (mut mantissa, mut exponent) = parts(value);
    if single && mantissa != 0 {
        // A single float has 24 bits; what is below them is zero. Tiny ones keep the smallest exponent.
        let shift = if exponent + 29 < -149 { -149 - exponent } else { 29 };
        mantissa >>= shift;
        exponent += shift;
    } else if single {
        exponent = -149;
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    format!("{sign}{mantissa}p{exponent:+}")
}

fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let (mantissa, exponent) = parts(value);
    let sign = if value.is_sign_negative() { "-" } else { "" };
    // The first bit is brought to place 60, so that 15 hexadecimal digits follow it.
    let (mut bits, mut power) = (mantissa, 0);
    if bits != 0 {
        let shift = bits.leading_zeros() - 3;
        bits <<= shift;
        power = exponent + 60 - i64::from(shift);
    }
    if let Some(n) = precision.filter(|n| *n < 15) {
        let dropped = 60 - 4 * n as u32;
        let rest = bits & ((1 << dropped) - 1);
        bits >>= dropped;
        let half = 1u64 << (dropped - 1);
        if rest > half || (rest == half && bits & 1 == 1) {
            bits += 1;
        }
        bits <<= dropped;
        if bits & (1 << 61) != 0 {
            bits >>= 1;
            power += 1;
        }
    }
    let mut text = format!("{sign}0x{}", bits >> 60);
    let mut fraction = format!("{:015x}", bits & ((1 << 60) - 1));
    match precision {
        Some(n) if n <= 15 => fraction.truncate(n),
        Some(n) => fraction.extend(std::iter::repeat_n('0', n - 15)),
        None => fraction.truncate(fraction.trim_end_matches('0').len()),
    }
    if !fraction.is_empty() {
        text.push('.');
        text.push_str(&fraction);
    }
    let direction = if power < 0 { '-' } else { '+' };
    text + &format!("p{direction}{:02}", power.abs())
}

/// The float that a text names, as Go reads it: decimal or `0x1.8p3`, with `_` between digits.
pub(super) fn parse(text: &str) -> Option<f64> {
    let clean;
    let mut text = text;
    if text.contains('_') {
        let digit =
            |at: Option<usize>| at.and_then(|at| text.as_bytes().get(at)).is_some_and(u8::is_ascii_hexdigit);
        let parts_digits = |at: usize| digit(at.checked_sub(1)) && digit(at.checked_add(1));
        if !text.match_indices('_').all(|(at, _)| parts_digits(at)) {
            return None;
        }
        clean = text.replace('_', "");
        text = &clean;
    }
    let (negative, body) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let value = match body.strip_prefix("0x").or_else(|| body.strip_prefix("0X")) {
        Some(digits) => parse_hexadecimal(digits)?,
        None => {
            let plain =
                body.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E'));
            body.parse::<f64>().ok().filter(|_| plain && !body.starts_with(['+', '-']))?
        }
    };
    Some(if negative { -value } else { value })
}

/// `1.8p3` after its prefix; at most 16 digits are exact, which is more than a float holds.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    let (mantissa, power) = lower.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || digits.len() > 16 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let bits = u64::from_str_radix(&digits, 16).ok()?;
    let power = power.parse::<i32>().ok()?.clamp(-5000, 5000) - 4 * i32::try_from(fraction.len()).ok()?;
    // Two steps keep the power of two itself in range.
    Some(bits as f64 * 2f64.powi(power / 2) * 2f64.powi(power - power / 2))
}

#[cfg(test)]
mod tests {
    use super::format;

    /// The output of Go's `strconv.FormatFloat`.
    #[test]
    fn floats_are_written_as_go_writes_them() {
        for (value, form, precision, single, expected) in [
            (123_456_789.0, 'g', None, false, "1.23456789e+08"),
            (100_000.0, 'g', None, false, "100000"),
            (1e20, 'g', None, false, "1e+20"),
            (1e22, 'G', None, true, "1E+22"),
            (1.5, 'x', None, false, "0x1.8p+00"),
            (1.5, 'b', None, false, "6755399441055744p-52"),
            (0.1, 'X', Some(3), true, "0X1.99AP-04"),
            (0.1, 'f', Some(20), true, "0.10000000149011611938"),
            (1e300, 'f', Some(2), true, "+Inf"),
            (0.000_012_3, 'g', Some(2), false, "1.2e-05"),
            (1234.5678, 'g', Some(3), false, "1.23e+03"),
            (100.0, 'g', Some(5), false, "100"),
            (0.0, 'x', None, false, "0x0p+00"),
            (2.0, 'e', None, false, "2e+00"),
        ] {
            assert_eq!(format(value, form, precision, single), expected, "{value} {form}");
        }
    }
}
