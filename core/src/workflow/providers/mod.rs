//! Answers the calls of workflow steps, a file for each package; what waits, suspends, fails or says something is no call here:
//! `vela_engine::steps` tells that apart, and computes what needs nothing but the question.
//!
//! A provider reaches the cluster only through [`Objects`], which acts for the author of the application, within its bounds, and
//! records what it makes; servers outside only through [`Network`], which is the egress guard. A package that gets a provider is
//! listed in `vela_engine::steps` as answered.

mod builtin;
mod config;
mod email;
mod environment;
mod http;
mod kube;
mod metrics;
mod multicluster;
mod oam;
mod provider;
mod query;
#[cfg(test)]
mod test_double;
mod tls;

use provider::Provider;
pub(crate) use provider::{Asked, Called, MayWrite, Network, Objects, OwnedObject, Owner, Reach};

/// Answers a call.
pub(crate) async fn call<R: Reach>(reach: &mut R, asked: Asked<'_>) -> Result<Called, R::Error> {
    let mut asked = asked;
    let asked = &mut asked;
    if let Some(called) = of::<kube::Kube, R>(reach, asked).await? {
        return Ok(called);
    }
    if let Some(called) = of::<http::Http, R>(reach, asked).await? {
        return Ok(called);
    }
    if let Some(called) = of::<email::Email, R>(reach, asked).await? {
        return Ok(called);
    }
    if let Some(called) = of::<config::Config, R>(reach, asked).await? {
        return Ok(called);
    }
    if let Some(called) = of::<metrics::Metrics, R>(reach, asked).await? {
        return Ok(called);
    }
    if let Some(called) = of::<builtin::Builtin, R>(reach, asked).await? {
        return Ok(called);
    }
    if let Some(called) = of::<multicluster::Multicluster, R>(reach, asked).await? {
        return Ok(called);
    }
    if let Some(called) = of::<oam::Oam, R>(reach, asked).await? {
        return Ok(called);
    }
    if let Some(called) = of::<environment::Environment, R>(reach, asked).await? {
        return Ok(called);
    }
    if let Some(called) = of::<query::Query, R>(reach, asked).await? {
        return Ok(called);
    }
    let Asked { question, .. } = asked;
    Ok(Called::broken(format!(
        "no provider answers {} {} yet, which {} asks for",
        question.provider, question.function, question.path
    )))
}

/// The answer of one provider, where it answers calls of that package.
async fn of<P: Provider, R: Reach>(reach: &mut R, asked: &mut Asked<'_>) -> Result<Option<Called>, R::Error> {
    match P::NAMES.contains(&asked.question.provider.as_str()) {
        true => P::call(reach, asked).await,
        false => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use serde_json::{Value, json};

    use super::test_double::{Double, asked, question};
    use super::*;

    /// The calls on the workflow itself, and computed ones.
    const NO_CALLS: [&str; 9] =
        ["break", "date", "fail", "log", "message", "string", "suspend", "timestamp", "wait"];

    #[tokio::test]
    async fn the_calls_of_the_real_steps_are_answered() {
        let cases = vela_testkit::cases::folder("conformance/definitions").join("cases");
        let (mut answered, mut open) = (0, BTreeSet::new());
        for case in fs::read_dir(cases).unwrap() {
            let Ok(text) = fs::read_to_string(case.unwrap().path().join("calls.json")) else { continue };
            let calls: Value = serde_json::from_str(&text).unwrap();
            for call in calls.as_array().into_iter().flatten() {
                let (provider, function) = (call["provider"].as_str().unwrap(), call["do"].as_str().unwrap());
                let of_steps =
                    ["builtin", "config", "email", "http", "kube", "metrics", "multicluster", "op"];
                let is_whole = call.get("params").is_some() && of_steps.contains(&provider);
                // Components ask packages of the same names for other things.
                let is_of_component = call["path"].as_str().is_some_and(|path| path.starts_with("output"));
                if !is_whole || is_of_component || NO_CALLS.contains(&function) {
                    continue;
                }
                let ask = question(provider, function, call["params"].clone());
                let called = asked(&mut Double::default(), ask).await;
                if format!("{called:?}").contains("no provider answers") {
                    open.insert(format!("{provider}.{function}"));
                } else {
                    answered += 1;
                }
            }
        }
        assert!(answered > 30, "only {answered} calls");
        let expected = ["multicluster.deploy"];
        assert_eq!(open.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    }

    #[tokio::test]
    async fn an_unanswered_call_is_reported_with_its_place() {
        let mut double = Double::default();
        let called = asked(&mut double, question("helm", "render", json!({}))).await;
        assert_eq!(called, Called::broken("no provider answers helm render yet, which ask asks for"));
        let called = asked(&mut double, question("http", "get", json!({}))).await;
        assert_eq!(called, Called::broken("no provider answers http get yet, which ask asks for"));
    }
}
