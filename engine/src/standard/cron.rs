//! Builds one KEDA trigger for each day of a cron condition (`startAt`, `duration`, `days`, `replicas`, `timezone`).

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Where the fields stand, as users know them.
const PATH: &str = "spec.triggers.condition";
const DAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const MINUTES_OF_A_DAY: i64 = 24 * 60;
/// A span of a week or more would meet its own next start.
const MINUTES_OF_A_WEEK: i64 = 7 * MINUTES_OF_A_DAY;
/// Days listed at most; there are seven, and a name may stand twice by mistake.
const DAYS_LISTED_AT_MOST: usize = 31;
/// KEDA needs a zone; upstream left it out and the trigger failed later.
const TIMEZONE: &str = "UTC";

/// The triggers of a condition, one for each listed day.
///
/// # Errors
/// The field that is missing or wrong, and how it must look.
pub fn triggers(name: &str, condition: &BTreeMap<String, String>) -> Result<Vec<Value>, String> {
    let field = |name: &str| condition.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
    let required = |name: &str| field(name).ok_or_else(|| format!("{PATH}.{name}: Required value"));
    let start = required("startAt")?;
    let start =
        time_of_day(start).ok_or_else(|| format!("{PATH}.startAt: {start:?} must look like 12:01"))?;
    let written = required("duration")?;
    let minutes = duration_minutes(written).ok_or_else(|| {
        format!("{PATH}.duration: {written:?} is not in the right format; write for example 2h30m")
    })?;
    if !(1..MINUTES_OF_A_WEEK).contains(&minutes) {
        return Err(format!("{PATH}.duration: {written:?} must be at least a minute and less than a week"));
    }
    let replicas = match field("replicas").unwrap_or("0").parse::<i64>() {
        Ok(0) => return Err(format!("{PATH}.replicas: Required value")),
        Ok(number) if number < 0 => return Err(format!("{PATH}.replicas: {number} is less than 1")),
        Ok(number) => number,
        Err(error) => {
            let found = field("replicas").unwrap_or_default();
            return Err(format!("{PATH}.replicas: cannot parse {found:?} as a number: {error}"));
        }
    };
    let end = start + minutes;
    let timezone = field("timezone").unwrap_or(TIMEZONE);
    days(condition.get("days").map_or("", String::as_str))?
        .into_iter()
        .map(|(written, day)| {
            let last = (day + end / MINUTES_OF_A_DAY) % 7;
            Ok(json!({
                "type": "cron",
                "name": format!("{name}-{written}"),
                "metadata": {
                    "timezone": timezone,
                    "start": at(start, day),
                    "end": at(end % MINUTES_OF_A_DAY, last),
                    "desiredReplicas": replicas.to_string(),
                },
            }))
        })
        .collect()
}

/// A minute of a day of the week in cron's words.
fn at(minute: i64, day: i64) -> String {
    format!("{} {} * * {day}", minute % 60, minute / 60)
}

/// `HH:MM` as minutes since midnight.
fn time_of_day(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let digits = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
    if hours.is_empty() || hours.len() > 2 || minutes.len() != 2 || !digits(hours) || !digits(minutes) {
        return None;
    }
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
}

/// The listed days as written and as cron counts them; Sunday is 0.
fn days(list: &str) -> Result<Vec<(String, i64)>, String> {
    let listed: Vec<&str> = list.split(',').map(str::trim).collect();
    if listed.len() > DAYS_LISTED_AT_MOST {
        return Err(format!("{PATH}.days: has {} entries, {DAYS_LISTED_AT_MOST} at most", listed.len()));
    }
    let wrong = |day: &str| {
        format!(
            "{PATH}.days: wrong format {day}, should be names of days with commas between, such as Monday, Friday"
        )
    };
    let mut days: Vec<(String, i64)> = Vec::new();
    for written in listed {
        let index = DAYS.iter().position(|day| written.eq_ignore_ascii_case(day));
        let index = index.and_then(|index| i64::try_from(index).ok()).ok_or_else(|| wrong(written))?;
        if days.iter().any(|(_, day)| *day == index) {
            // KEDA refuses two triggers of one name.
            return Err(format!("{PATH}.days: {written} is listed twice"));
        }
        days.push((written.to_owned(), index));
    }
    Ok(days)
}

/// A span such as `2h30m`, `1.5h` or `90m` in whole minutes; nothing when it is no span.
fn duration_minutes(text: &str) -> Option<i64> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(0);
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, unit) = rest.split_at(end);
        let number: f64 = number.parse().ok()?;
        let end = unit.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(unit.len());
        let (unit, after) = unit.split_at(end);
        seconds += number
            * match unit {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "µs" | "μs" => 1e-6,
                "ns" => 1e-9,
                _ => return None,
            };
        rest = after;
    }
    let minutes = (seconds / 60.0).floor();
    // Beyond this a number of minutes means nothing here, and a cast would not be exact.
    (!text.is_empty() && minutes.is_finite() && minutes < 1e9).then_some(minutes as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let mut all = BTreeMap::from(
            [
                ("startAt", "23:30"),
                ("duration", "2h"),
                ("days", "Monday"),
                ("replicas", "3"),
                ("timezone", "Asia/Seoul"),
            ]
            .map(|(k, v)| (k.to_owned(), v.to_owned())),
        );
        for (key, value) in pairs {
            all.insert((*key).to_owned(), (*value).to_owned());
        }
        all
    }

    fn times(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let made = triggers("t", &condition(pairs)).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        made.iter().map(|t| (text(&t["metadata"]["start"]), text(&t["metadata"]["end"]))).collect()
    }

    fn one(start: &str, end: &str) -> Vec<(String, String)> {
        vec![(start.to_owned(), end.to_owned())]
    }

    #[test]
    fn a_span_ends_where_the_clock_says() {
        assert_eq!(times(&[]), one("30 23 * * 1", "30 1 * * 2"));
        assert_eq!(times(&[("days", "Saturday")]), one("30 23 * * 6", "30 1 * * 0"));
        assert_eq!(times(&[("startAt", "08:00"), ("duration", "2h30m")]), one("0 8 * * 1", "30 10 * * 1"));
        assert_eq!(times(&[("startAt", "10:45"), ("duration", "1h15m")]), one("45 10 * * 1", "0 12 * * 1"));
        assert_eq!(times(&[("startAt", "22:00"), ("duration", "2h")]), one("0 22 * * 1", "0 0 * * 2"));
        // More than two days, which upstream got wrong.
        assert_eq!(times(&[("startAt", "12:00"), ("duration", "49h")]), one("0 12 * * 1", "0 13 * * 3"));
    }

    #[test]
    fn every_listed_day_has_a_trigger_of_its_own() {
        let made = triggers("peak", &condition(&[("days", "Monday, fRiday ")])).unwrap();
        let names: Vec<&Value> = made.iter().map(|trigger| &trigger["name"]).collect();
        assert_eq!(names, ["peak-Monday", "peak-fRiday"]);
        assert_eq!(made[1]["metadata"]["timezone"], "Asia/Seoul");
        assert_eq!(made[1]["metadata"]["desiredReplicas"], "3");
        let mut without = condition(&[]);
        without.remove("timezone");
        assert_eq!(triggers("t", &without).unwrap()[0]["metadata"]["timezone"], "UTC");
    }

    #[test]
    fn every_mistake_names_its_field() {
        for (field, value, says) in [
            ("startAt", "", "spec.triggers.condition.startAt: Required value"),
            ("startAt", "24:00", "must look like 12:01"),
            ("startAt", "8 o'clock", "must look like 12:01"),
            ("startAt", "12:1", "must look like 12:01"),
            ("duration", "", "spec.triggers.condition.duration: Required value"),
            ("duration", "two hours", "duration: \"two hours\" is not in the right format"),
            ("duration", "2", "is not in the right format"),
            ("duration", "-2h", "is not in the right format"),
            ("duration", "10s", "at least a minute"),
            ("duration", "168h", "less than a week"),
            ("replicas", "", "spec.triggers.condition.replicas: Required value"),
            ("replicas", "0", "spec.triggers.condition.replicas: Required value"),
            ("replicas", "many", "cannot parse \"many\""),
            ("replicas", "-1", "less than 1"),
            ("days", "", "wrong format "),
            ("days", "Monday,Fryday", "wrong format Fryday"),
            ("days", "Monday,monday", "listed twice"),
        ] {
            let error = triggers("t", &condition(&[(field, value)])).unwrap_err();
            assert!(error.contains(says), "{field}={value:?}: {error}");
        }
        assert!(triggers("t", &BTreeMap::new()).unwrap_err().contains("startAt"));
    }

    #[test]
    fn spans_are_read_as_they_are_written_everywhere() {
        for (text, minutes) in
            [("1.5h", 90), ("90m", 90), ("1h30m30s", 90), ("0", 0), ("120s", 2), ("+1h", 60)]
        {
            assert_eq!(duration_minutes(text), Some(minutes), "{text}");
        }
        for text in ["", "h", "1x", "1", ".h", "1h2", "1e3h", "99999999999999999999h"] {
            assert_eq!(duration_minutes(text), None, "{text}");
        }
    }
}
