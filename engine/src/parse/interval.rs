//! The annotation by which an application asks to be looked at once in a while, although nothing changed.

use std::time::Duration;

use vela_crds::annotations::RECONCILE_INTERVAL;

use crate::manifest::Document;
use crate::workflow::duration;

/// A shorter time is refused: every look costs.
const SHORTEST: Duration = Duration::from_secs(10);

/// The time between two looks that an application asks for; nothing where it asks for none, or for one that it does not get,
/// which parsing says.
pub fn reconcile_interval(application: &Document) -> Option<Duration> {
    read(application)?.ok()
}

/// Describes its error.
pub(super) fn check(application: &Document) -> Option<String> {
    read(application)?.err()
}

fn read(application: &Document) -> Option<Result<Duration, String>> {
    let annotations = application.value().pointer("/metadata/annotations")?;
    let written = annotations.get(RECONCILE_INTERVAL)?.as_str()?;
    Some(match duration(written).map(|duration| duration.unsigned_abs()) {
        Some(interval) if interval >= SHORTEST => Ok(interval),
        Some(_) => Err(format!("an interval of {written:?} is too short and not used: write 10s or more")),
        None => Err(format!("{written:?} is no duration and not used: write it like 30s, 5m or 1h30m")),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_interval_is_a_duration_of_ten_seconds_or_more() {
        let application = |interval: &str| {
            let annotations = json!({(RECONCILE_INTERVAL): interval});
            Document::from_object(json!({"metadata": {"name": "shop", "annotations": annotations}}))
        };
        let seconds = |interval: &str| reconcile_interval(&application(interval)).map(|it| it.as_secs());
        assert_eq!((seconds("10s"), seconds("1m30s")), (Some(10), Some(90)));
        assert_eq!((seconds("9s"), seconds("soon"), seconds("-5m")), (None, None, None));
        assert_eq!(check(&application("10s")), None);
        assert!(check(&application("9s")).is_some_and(|why| why.contains("too short")));
        assert!(check(&application("soon")).is_some_and(|why| why.contains("no duration")));
        assert_eq!(reconcile_interval(&Document::from_object(json!({"metadata": {}}))), None);
    }
}
