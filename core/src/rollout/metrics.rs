//! Measurements of a rollout that are due → asked of their servers, all at once; what cannot be asked says why.

use futures::future::join_all;
use kube::api::DynamicObject;
use vela_engine::rollout::metrics::{
    ANSWER_BYTES_AT_MOST, Measurement, Origin, Question, Reading, reading, render, template, url,
};
use vela_runtime::Api;
use vela_runtime::apply::explain;

use crate::application::fetch::json;
use crate::author::Actor;
use crate::context::Context;
use crate::egress::shown;

/// One reading for each measurement, in their order. Each takes at most the time of one outgoing request.
pub(super) async fn measure(
    context: &Context,
    acting: &Actor,
    namespace: &str,
    due: &[Measurement],
) -> Vec<Reading> {
    join_all(due.iter().map(|measurement| one(context, acting, namespace, measurement))).await
}

async fn one(context: &Context, acting: &Actor, namespace: &str, measurement: &Measurement) -> Reading {
    let failed = |why: String| Reading { query: None, value: Err(why) };
    if let Some(value) = context.egress.measured(&measurement.path) {
        return Reading { query: None, value };
    }
    let question = match &measurement.origin {
        Origin::Inline(question) => Ok(question.clone()),
        Origin::Nowhere(why) => Err(why.clone()),
        Origin::Template { api_version, kind, name } => {
            let read = of_template(context, acting, (api_version, kind), namespace, name).await;
            read.map_err(|why| format!("templateRef: {kind} {name}: {why}"))
        }
    };
    let question = match question {
        Ok(question) => question,
        Err(why) => return failed(why),
    };
    match render(&question.query, &measurement.words) {
        Ok(query) => {
            let value = ask(context, &question, &query).await;
            Reading { query: Some(query), value }
        }
        Err(why) => failed(why),
    }
}

async fn ask(context: &Context, question: &Question, query: &str) -> Result<f64, String> {
    let url = url(&question.address, query)?;
    let answer = context.egress.send("GET", &url, &question.headers, Vec::new(), ANSWER_BYTES_AT_MOST).await;
    let message = |why: String| format!("{}: {why}", shown(&question.address));
    let (status, body) = answer.map_err(message)?;
    reading(status, &body).map_err(message)
}

/// Templates are read each time: no rollout waits for a change of one, and there may be many ConfigMaps.
async fn of_template(
    context: &Context,
    acting: &Actor,
    (api_version, kind): (&str, &str),
    namespace: &str,
    name: &str,
) -> Result<Question, String> {
    let kind = context.discovery.resolve(api_version, kind).await.map_err(|error| error.to_string())?;
    let api: Api<DynamicObject> = kind.api(acting.client(), namespace);
    let found = api.get_opt(name).await.map_err(|error| match error {
        kube::Error::Api(_) => acting.explain(&error),
        _ => explain(&error),
    })?;
    let mut found = found.ok_or_else(|| format!("there is none in namespace {namespace}"))?;
    found.types.get_or_insert_with(|| kube::api::TypeMeta {
        api_version: kind.resource.api_version.clone(),
        kind: kind.resource.kind.clone(),
    });
    template(&json(&found))
}
