//! A moment and a layout of reference time in, its text out, and back.

/// A point in time with its offset from UTC.
#[derive(Debug, Clone, Default)]
pub(super) struct Moment {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) nanosecond: i64,
    pub(super) offset_seconds: i64,
    pub(super) zone: String,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Days since 1970-01-01 of a date of the Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day_of_year - (153 * month_index + 2) / 5 + 1)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let (next_year, next) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days_from_civil(next_year, next, 1) - days_from_civil(year, month, 1)
}

impl Moment {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub(super) fn unix(&self) -> i64 {
        days_from_civil(self.year, self.month, self.day) * 86_400
            + self.hour * 3600
            + self.minute * 60
            + self.second
            - self.offset_seconds
    }

    /// The moment in UTC.
    pub(super) fn from_unix(seconds: i64, nanosecond: i64) -> Self {
        let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil_from_days(days);
        Self {
            year,
            month,
            day,
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
            nanosecond,
            offset_seconds: 0,
            zone: "UTC".into(),
        }
    }

    pub(super) fn utc(&self) -> Self {
        Self::from_unix(self.unix(), self.nanosecond)
    }

    fn weekday(&self) -> usize {
        usize::try_from((days_from_civil(self.year, self.month, self.day) + 4).rem_euclid(7)).unwrap_or(0)
    }

    fn day_of_year(&self) -> i64 {
        days_from_civil(self.year, self.month, self.day) - days_from_civil(self.year, 1, 1) + 1
    }
}

/// A piece of a layout.
enum Piece<'a> {
    Text(&'a str),
    Field(&'a str),
    /// `.000` or `,999`: the separator, whether trailing zeros are dropped, the number of digits.
    Fraction(char, bool, usize),
}

const FIELDS: [&str; 35] = [
    "January",
    "Jan",
    "Monday",
    "Mon",
    "MST",
    "2006",
    "Z07:00:00",
    "Z070000",
    "Z07:00",
    "Z0700",
    "Z07",
    "-07:00:00",
    "-070000",
    "-07:00",
    "-0700",
    "-07",
    "002",
    "__2",
    "01",
    "02",
    "03",
    "04",
    "05",
    "06",
    "15",
    "PM",
    "pm",
    "_2006",
    "_2",
    "1",
    "2",
    "3",
    "4",
    "5",
    "0",
];

fn pieces(layout: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < layout.len() {
        if !layout.is_char_boundary(at) {
            at += 1;
            continue;
        }
        let rest = &layout[at..];
        let mut found =
            FIELDS[..34].iter().find(|f| rest.starts_with(**f)).map(|f| (Piece::Field(f), f.len()));
        // "Jan" and "Mon" do not stand in longer words such as "Money".
        if let Some((Piece::Field("Jan" | "Mon"), length)) = &found
            && rest[*length..].starts_with(|c: char| c.is_ascii_lowercase())
        {
            found = None;
        }
        if found.is_none()
            && rest.starts_with(['.', ','])
            && let Some(digit @ (b'0' | b'9')) = rest.as_bytes().get(1).copied()
        {
            let count = rest.bytes().skip(1).take_while(|b| *b == digit).count();
            if !rest.as_bytes().get(1 + count).is_some_and(u8::is_ascii_digit) {
                let separator = rest.chars().next().unwrap_or('.');
                found = Some((Piece::Fraction(separator, digit == b'9', count), count + 1));
            }
        }
        let Some((piece, length)) = found else {
            at += 1;
            continue;
        };
        // `_2006` is a literal underscore before the year.
        let skip = usize::from(matches!(piece, Piece::Field("_2006")));
        if start < at + skip {
            pieces.push(Piece::Text(&layout[start..at + skip]));
        }
        pieces.push(if skip == 1 { Piece::Field("2006") } else { piece });
        at += length;
        start = at;
    }
    if start < layout.len() {
        pieces.push(Piece::Text(&layout[start..]));
    }
    pieces
}

/// The moment in that layout.
pub(super) fn format(moment: &Moment, layout: &str) -> String {
    let mut out = String::new();
    for piece in pieces(layout) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Field(field) => out.push_str(&shown(moment, field)),
            Piece::Fraction(separator, trim, digits) => {
                let all = format!("{:09}{}", moment.nanosecond, "0".repeat(digits.saturating_sub(9)));
                let fraction = &all[..digits];
                let fraction = if trim { fraction.trim_end_matches('0') } else { fraction };
                if !fraction.is_empty() {
                    out.push(separator);
                    out.push_str(fraction);
                }
            }
        }
    }
    out
}

fn shown(m: &Moment, field: &str) -> String {
    let month = usize::try_from(m.month - 1).ok().and_then(|i| MONTHS.get(i)).copied().unwrap_or("January");
    let twelve = if m.hour % 12 == 0 { 12 } else { m.hour % 12 };
    match field {
        "January" => month.into(),
        "Jan" => month[..3].into(),
        "Monday" => DAYS[m.weekday()].into(),
        "Mon" => DAYS[m.weekday()][..3].into(),
        "MST" if m.zone.is_empty() => offset(m.offset_seconds, "-0700"),
        "MST" => m.zone.clone(),
        "2006" => format!("{:04}", m.year),
        "06" => format!("{:02}", m.year.rem_euclid(100)),
        "01" => format!("{:02}", m.month),
        "1" => m.month.to_string(),
        "02" => format!("{:02}", m.day),
        "_2" => format!("{:2}", m.day),
        "2" => m.day.to_string(),
        "002" => format!("{:03}", m.day_of_year()),
        "__2" => format!("{:3}", m.day_of_year()),
        "15" => format!("{:02}", m.hour),
        "03" => format!("{twelve:02}"),
        "3" => twelve.to_string(),
        "04" => format!("{:02}", m.minute),
        "4" => m.minute.to_string(),
        "05" => format!("{:02}", m.second),
        "5" => m.second.to_string(),
        "PM" => if m.hour >= 12 { "PM" } else { "AM" }.into(),
        "pm" => if m.hour >= 12 { "pm" } else { "am" }.into(),
        zone if zone.starts_with('Z') && m.offset_seconds == 0 => "Z".into(),
        zone => offset(m.offset_seconds, zone),
    }
}

fn offset(seconds: i64, form: &str) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let size = seconds.abs();
    let colon = if form.contains(':') { ":" } else { "" };
    let mut text = format!("{sign}{:02}", size / 3600);
    let digits = form.bytes().filter(u8::is_ascii_digit).count();
    if digits >= 4 {
        text.push_str(&format!("{colon}{:02}", size / 60 % 60));
    }
    if digits >= 6 {
        text.push_str(&format!("{colon}{:02}", size % 60));
    }
    text
}

/// The moment that `source` names in that layout.
pub(super) fn parse(layout: &str, source: &str) -> Result<Moment, String> {
    let error = || format!("parsing time {source:?} as {layout:?}: cannot parse {source:?}");
    let mut m = Moment { month: 1, day: 1, zone: "UTC".into(), ..Moment::default() };
    let (mut afternoon, mut day_of_year) = (None, None);
    let mut rest = source;
    let pieces = pieces(layout);
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) => rest = rest.strip_prefix(text).ok_or_else(error)?,
            Piece::Fraction(_, optional, digits) => {
                // Either separator stands for the other when a text is read.
                let Some(after) =
                    rest.strip_prefix(['.', ',']).filter(|a| a.starts_with(|c: char| c.is_ascii_digit()))
                else {
                    if *optional { continue } else { return Err(error()) }
                };
                let count = after.bytes().take_while(u8::is_ascii_digit).count();
                if !optional && count != *digits {
                    return Err(error());
                }
                m.nanosecond = nanoseconds(&after[..count]);
                rest = &after[count..];
            }
            Piece::Field(field) => {
                rest =
                    field_value(&mut m, &mut afternoon, &mut day_of_year, field, rest).ok_or_else(error)?;
                // Seconds may carry a fraction that the layout does not name.
                let next_is_fraction = matches!(pieces.get(index + 1), Some(Piece::Fraction(..)));
                if matches!(*field, "05" | "5")
                    && !next_is_fraction
                    && rest.len() > 1
                    && rest.starts_with(['.', ','])
                {
                    let count = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
                    if count > 0 {
                        m.nanosecond = nanoseconds(&rest[1..=count]);
                        rest = &rest[1 + count..];
                    }
                }
            }
        }
    }
    if !rest.is_empty() {
        return Err(format!("parsing time {source:?}: extra text: {rest:?}"));
    }
    match afternoon {
        Some(true) if m.hour < 12 => m.hour += 12,
        Some(false) if m.hour == 12 => m.hour = 0,
        _ => {}
    }
    if let Some(day) = day_of_year {
        let (year, month, day) = civil_from_days(days_from_civil(m.year, 1, 1) + day - 1);
        if year != m.year {
            return Err(format!("parsing time {source:?}: day-of-year out of range"));
        }
        (m.month, m.day) = (month, day);
    }
    let ranges = [
        ("month", m.month, 1, 12),
        ("day", m.day, 1, if (1..=12).contains(&m.month) { days_in_month(m.year, m.month) } else { 31 }),
        ("hour", m.hour, 0, 23),
        ("minute", m.minute, 0, 59),
        ("second", m.second, 0, 59),
    ];
    for (name, value, low, high) in ranges {
        if !(low..=high).contains(&value) {
            return Err(format!("parsing time {source:?}: {name} out of range"));
        }
    }
    Ok(m)
}

fn nanoseconds(digits: &str) -> i64 {
    format!("{digits:0<9}")[..9].parse().unwrap_or(0)
}

fn digits(text: &str, least: usize, most: usize) -> Option<(i64, &str)> {
    let count = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    if count < least { None } else { Some((text[..count].parse().ok()?, &text[count..])) }
}

fn name<'t>(text: &'t str, names: &[&str], short: bool) -> Option<(i64, &'t str)> {
    names.iter().enumerate().find_map(|(index, full)| {
        let wanted = if short { &full[..3] } else { full };
        let head = text.get(..wanted.len())?;
        head.eq_ignore_ascii_case(wanted).then(|| (i64::try_from(index).unwrap_or(0), &text[wanted.len()..]))
    })
}

fn field_value<'t>(
    m: &mut Moment,
    afternoon: &mut Option<bool>,
    day_of_year: &mut Option<i64>,
    field: &str,
    text: &'t str,
) -> Option<&'t str> {
    let (value, rest) = match field {
        "January" => name(text, &MONTHS, false).map(|(i, r)| (i + 1, r))?,
        "Jan" => name(text, &MONTHS, true).map(|(i, r)| (i + 1, r))?,
        "Monday" => return name(text, &DAYS, false).map(|(_, r)| r),
        "Mon" => return name(text, &DAYS, true).map(|(_, r)| r),
        "MST" => return zone_name(m, text),
        "PM" | "pm" => {
            let head = text.get(..2)?;
            *afternoon = Some(match head {
                "PM" | "pm" => true,
                "AM" | "am" => false,
                _ => return None,
            });
            return Some(&text[2..]);
        }
        "2006" => digits(text, 4, 4)?,
        "002" => digits(text, 3, 3)?,
        "__2" => digits(text.trim_start_matches(' '), 1, 3)?,
        "_2" => digits(text.strip_prefix(' ').unwrap_or(text), 1, 2)?,
        "01" | "02" | "03" | "04" | "05" | "06" => digits(text, 2, 2)?,
        "15" => digits(text, 1, 2)?,
        "1" | "2" | "3" | "4" | "5" => digits(text, 1, 2)?,
        zone => return zone_offset(m, zone, text),
    };
    match field {
        "January" | "Jan" | "01" | "1" => m.month = value,
        "2006" => m.year = value,
        "06" => m.year = if value >= 69 { 1900 + value } else { 2000 + value },
        "02" | "_2" | "2" => m.day = value,
        "002" | "__2" => *day_of_year = Some(value),
        "15" => m.hour = value,
        "03" | "3" => {
            if value > 12 {
                return None;
            }
            m.hour = value;
        }
        "04" | "4" => m.minute = value,
        _ => m.second = value,
    }
    Some(rest)
}

fn zone_name<'t>(m: &mut Moment, text: &'t str) -> Option<&'t str> {
    let length = text.bytes().take_while(u8::is_ascii_uppercase).count();
    if !(3..=5).contains(&length) {
        return None;
    }
    m.zone = text[..length].to_string();
    Some(&text[length..])
}

fn zone_offset<'t>(m: &mut Moment, form: &str, text: &'t str) -> Option<&'t str> {
    if form.starts_with('Z')
        && let Some(rest) = text.strip_prefix('Z')
    {
        return Some(rest);
    }
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let parts = form.bytes().filter(u8::is_ascii_digit).count() / 2;
    let mut rest = &text[1..];
    let mut seconds = 0;
    for (index, (scale, most)) in [(3600, 24), (60, 59), (1, 59)].into_iter().take(parts).enumerate() {
        if index > 0 && form.contains(':') {
            rest = rest.strip_prefix(':')?;
        }
        let (value, after) = digits(rest, 2, 2)?;
        if value > most {
            return None;
        }
        seconds += value * scale;
        rest = after;
    }
    m.offset_seconds = sign * seconds;
    m.zone = if seconds == 0 { "UTC".into() } else { String::new() };
    Some(rest)
}
