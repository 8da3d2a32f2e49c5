//! Builds the filter of log lines from the operator's choice; lines that quote objects are held back unless they are
//! named.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// On its finer levels the client logs the answers of the API server as they are, and those quote the values of Secrets
/// that they refuse.
const QUOTES_ANSWERS: &str = "kube_client::client";

/// The library of watches warns at each attempt that is forbidden. Ours say once what they may not follow.
const WARNS_AGAIN: &str = "kube_runtime::watcher";

/// The filter for a level or a list of targets and levels. An operator who names the client's own target gets what it
/// says.
pub fn filter(level: &str) -> Result<EnvFilter, ParseError> {
    let mut wanted = EnvFilter::try_new(level)?;
    if !level.contains(WARNS_AGAIN) {
        wanted = wanted.add_directive(format!("{WARNS_AGAIN}=error").parse()?);
    }
    if level.contains(QUOTES_ANSWERS) {
        return Ok(wanted);
    }
    // Coarser levels stay as coarse.
    let finest = wanted.max_level_hint().unwrap_or(tracing::level_filters::LevelFilter::TRACE);
    let held = finest.min(tracing::level_filters::LevelFilter::INFO);
    Ok(wanted.add_directive(format!("{QUOTES_ANSWERS}={held}").parse()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_quotes_answers_is_held_back_unless_it_is_named() {
        for level in ["debug", "trace", "info,vela_core=debug", "kube_client=trace"] {
            let filter = filter(level).unwrap().to_string();
            assert!(filter.contains("kube_client::client=info"), "{filter}");
            assert!(filter.contains("kube_runtime::watcher=error"), "{filter}");
        }
        assert!(filter("error").unwrap().to_string().contains("kube_client::client=error"));
        assert!(
            filter("kube_client::client=debug").unwrap().to_string().contains("kube_client::client=debug")
        );
        assert!(filter("vela=nonsense=").is_err());
    }
}
