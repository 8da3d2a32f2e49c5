//! Package `time`: texts of times and durations in, verdicts, texts and numbers out; there is no clock here.

mod layout;

use super::arguments::{integer, text};
use super::{Data, Failure, INTEGER, Kinds, Package, Parameter, TEXT, function};
use layout::{Moment, format, parse};

type Outcome = Result<Data, Failure>;

const S: Kinds = Kinds::STRING;
const B: Kinds = Kinds::BOOL;
const I: Kinds = Kinds::INT;
const TWO: &[Parameter] = &[TEXT, TEXT];

const RFC3339_NANO: &str = "2006-01-02T15:04:05.999999999Z07:00";

pub(super) static PACKAGE: Package = Package {
    path: "time",
    declarations: "",
    constants: &[
        ("Nanosecond", "1"),
        ("Microsecond", "1000"),
        ("Millisecond", "1000000"),
        ("Second", "1000000000"),
        ("Minute", "60000000000"),
        ("Hour", "3600000000000"),
        ("ANSIC", "\"Mon Jan _2 15:04:05 2006\""),
        ("UnixDate", "\"Mon Jan _2 15:04:05 MST 2006\""),
        ("RubyDate", "\"Mon Jan 02 15:04:05 -0700 2006\""),
        ("RFC822", "\"02 Jan 06 15:04 MST\""),
        ("RFC822Z", "\"02 Jan 06 15:04 -0700\""),
        ("RFC850", "\"Monday, 02-Jan-06 15:04:05 MST\""),
        ("RFC1123", "\"Mon, 02 Jan 2006 15:04:05 MST\""),
        ("RFC1123Z", "\"Mon, 02 Jan 2006 15:04:05 -0700\""),
        ("RFC3339", "\"2006-01-02T15:04:05Z07:00\""),
        ("RFC3339Nano", "\"2006-01-02T15:04:05.999999999Z07:00\""),
        ("RFC3339Date", "\"2006-01-02\""),
        ("Kitchen", "\"3:04PM\""),
        ("Kitchen24", "\"15:04\""),
        ("January", "1"),
        ("February", "2"),
        ("March", "3"),
        ("April", "4"),
        ("May", "5"),
        ("June", "6"),
        ("July", "7"),
        ("August", "8"),
        ("September", "9"),
        ("October", "10"),
        ("November", "11"),
        ("December", "12"),
        ("Sunday", "0"),
        ("Monday", "1"),
        ("Tuesday", "2"),
        ("Wednesday", "3"),
        ("Thursday", "4"),
        ("Friday", "5"),
        ("Saturday", "6"),
    ],
    functions: &[
        function("Duration", &[TEXT], B, |a| duration(text(a, 0)?).map(|_| Data::Bool(true))),
        function("FormatDuration", &[INTEGER], S, |a| Ok(Data::String(show_duration(integer(a, 0)?)))),
        function("ParseDuration", &[TEXT], I, |a| duration(text(a, 0)?).map(Data::int)),
        function("Time", &[TEXT], B, |a| valid(text(a, 0)?, RFC3339_NANO)),
        function("Format", TWO, B, |a| valid(text(a, 0)?, text(a, 1)?)),
        function("FormatString", TWO, S, |a| Ok(Data::String(format(&moment(text(a, 1)?)?, text(a, 0)?)))),
        function("Parse", TWO, S, |a| {
            let moment = parse(text(a, 0)?, text(a, 1)?).map_err(Failure::Error)?;
            Ok(Data::String(format(&moment.utc(), RFC3339_NANO)))
        }),
        function("Unix", &[INTEGER, INTEGER], S, |a| {
            let (seconds, nanoseconds) = (integer(a, 0)?, integer(a, 1)?);
            let seconds = seconds.saturating_add(nanoseconds.div_euclid(1_000_000_000));
            let nanosecond = nanoseconds.rem_euclid(1_000_000_000);
            Ok(Data::String(format(&Moment::from_unix(seconds, nanosecond), RFC3339_NANO)))
        }),
        function("ToUnix", &[TEXT], I, |a| Ok(Data::int(moment(text(a, 0)?)?.unix()))),
        function("ToUnixNano", &[TEXT], I, |a| {
            let moment = moment(text(a, 0)?)?;
            Ok(Data::int(moment.unix().wrapping_mul(1_000_000_000).wrapping_add(moment.nanosecond)))
        }),
        function("Split", &[TEXT], Kinds::STRUCT, |a| {
            let m = moment(text(a, 0)?)?;
            let parts = [
                ("year", m.year),
                ("month", m.month),
                ("day", m.day),
                ("hour", m.hour),
                ("minute", m.minute),
                ("second", m.second),
                ("nanosecond", m.nanosecond),
            ];
            Ok(Data::Struct(
                parts.into_iter().map(|(name, value)| (name.to_string(), Data::int(value))).collect(),
            ))
        }),
    ],
};

fn moment(source: &str) -> Result<Moment, Failure> {
    parse(RFC3339_NANO, source).map_err(Failure::Error)
}

/// Whether a text is a time in that layout.
pub(super) fn fits(source: &str, layout: &str) -> bool {
    parse(layout, source).is_ok()
}

fn valid(source: &str, layout: &str) -> Outcome {
    match fits(source, layout) {
        true => Ok(Data::Bool(true)),
        false => Err(Failure::error(format!("invalid time {source:?}"))),
    }
}

const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Nanoseconds of `-1.5h`, `2h45m`, `300ms`.
fn duration(source: &str) -> Result<i64, Failure> {
    let invalid = || Failure::error(format!("time: invalid duration {source:?}"));
    let (negative, mut rest) = match source.as_bytes().first() {
        Some(b'-') => (true, &source[1..]),
        Some(b'+') => (false, &source[1..]),
        _ => (false, source),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, tail) = rest.split_at(digits(rest));
        let (fraction, tail) = match tail.strip_prefix('.') {
            Some(after) => after.split_at(digits(after)),
            None => ("", tail),
        };
        if (whole.is_empty() && fraction.is_empty()) || whole.len() > 19 {
            return Err(invalid());
        }
        let end = tail.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, after) = tail.split_at(end);
        let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            let what =
                if unit.is_empty() { "missing unit".to_string() } else { format!("unknown unit {unit:?}") };
            return Err(Failure::error(format!("time: {what} in duration {source:?}")));
        };
        total += whole.parse::<i128>().unwrap_or(0) * scale;
        total += below_unit(fraction, *scale);
        rest = after;
        if total > i128::from(i64::MAX) + i128::from(negative) {
            return Err(invalid());
        }
    }
    i64::try_from(if negative { -total } else { total }).map_err(|_| invalid())
}

/// Nanoseconds of the digits behind a point, in binary floats as Go counts them; digits that no integer holds are cut.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn below_unit(fraction: &str, scale: i128) -> i128 {
    let (mut part, mut weight) = (0u64, 1f64);
    for digit in fraction.bytes() {
        let next = part.checked_mul(10).and_then(|p| p.checked_add(u64::from(digit - b'0')));
        let Some(next) = next.filter(|n| *n <= 1 << 63) else { break };
        (part, weight) = (next, weight * 10.0);
    }
    (part as f64 * (scale as f64 / weight)) as i128
}

/// `72h3m0.5s`, or with a smaller unit below a second.
fn show_duration(nanoseconds: i64) -> String {
    if nanoseconds == 0 {
        return "0s".into();
    }
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let total = nanoseconds.unsigned_abs();
    let decimal = |value: u64, unit: u64| {
        let (whole, rest) = (value / unit, value % unit);
        let digits = unit.ilog10() as usize;
        let fraction = format!("{rest:0digits$}");
        let fraction = fraction.trim_end_matches('0');
        if rest == 0 || digits == 0 { whole.to_string() } else { format!("{whole}.{fraction}") }
    };
    if total < 1_000_000_000 {
        let (unit, name) = match total {
            0..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "µs"),
            _ => (1_000_000, "ms"),
        };
        return format!("{sign}{}{name}", decimal(total, unit));
    }
    let (minutes, seconds) = (total / 60_000_000_000, total % 60_000_000_000);
    let seconds = format!("{}s", decimal(seconds, 1_000_000_000));
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{sign}{seconds}"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &[Data]) -> Outcome {
        match PACKAGE.function(name).map(|f| f.run) {
            Some(super::super::Run::Data(run)) => run(arguments),
            _ => Err(Failure::error("no such function")),
        }
    }

    /// Results of the reference.
    #[test]
    fn durations_and_times() {
        for (nanoseconds, shown) in [
            (0i64, "0s"),
            (1, "1ns"),
            (1500, "1.5µs"),
            (61_000_000_000, "1m1s"),
            (-5_400_500_000_000, "-1h30m0.5s"),
        ] {
            assert_eq!(call("FormatDuration", &[Data::int(nanoseconds)]), Ok(Data::text(shown)));
            assert_eq!(call("ParseDuration", &[Data::text(shown)]), Ok(Data::int(nanoseconds)));
        }
        for bad in ["", "1", "1x", "h", ".s", "-", "99999999999h"] {
            assert!(call("Duration", &[Data::text(bad)]).is_err(), "{bad}");
        }
        for (layout, source, expected) in [
            ("2006-01-02", "2024-02-29", "2024-02-29T00:00:00Z"),
            (RFC3339_NANO, "2019-01-02T15:04:05.123-03:00", "2019-01-02T18:04:05.123Z"),
            ("Mon, 02 Jan 2006 15:04:05 MST", "Tue, 05 Mar 2024 10:11:12 UTC", "2024-03-05T10:11:12Z"),
            ("3:04PM", "4:05PM", "0000-01-01T16:05:00Z"),
        ] {
            assert_eq!(
                call("Parse", &[Data::text(layout), Data::text(source)]),
                Ok(Data::text(expected)),
                "{source}"
            );
        }
        for bad in ["2024-02-30T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-01", "2024-01-01T25:00:00Z", ""]
        {
            assert!(call("Time", &[Data::text(bad)]).is_err(), "{bad}");
        }
        assert_eq!(
            call("Unix", &[Data::int(1_500_000_000), Data::int(1)]),
            Ok(Data::text("2017-07-14T02:40:00.000000001Z"))
        );
        assert_eq!(call("ToUnix", &[Data::text("2017-07-14T02:40:00Z")]), Ok(Data::int(1_500_000_000)));
    }
}
