//! Resolves a metric, or the template it names, to a server and a query with its placeholders filled in.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use vela_crds::{CanaryMetric, TypedReference};

/// A longer query does not fit into a URL.
const QUERY_BYTES_AT_MOST: usize = 4096;
/// The only provider there is.
const PROMETHEUS: &str = "prometheus";

/// Where address and query of a metric come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// They stand in the plan.
    Inline(Question),
    /// An object of the rollout's namespace holds them.
    Template {
        /// API version of the object.
        api_version: String,
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
    },
    /// The value is unknown; why.
    Nowhere(String),
}

/// The query and its server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Address of the server.
    pub address: String,
    /// The query, perhaps with placeholders.
    pub query: String,
    /// HTTP headers to send along.
    pub headers: BTreeMap<String, String>,
}

impl Origin {
    pub(super) fn of(metric: &CanaryMetric) -> Self {
        if let Some(TypedReference { api_version, kind, name, .. }) = &metric.template_ref {
            let (api_version, kind, name) = (api_version.clone(), kind.clone(), name.clone());
            return Self::Template { api_version, kind, name };
        }
        let (Some(provider), Some(query)) = (&metric.provider, &metric.query) else {
            return Self::Nowhere(
                "there is nothing to ask: write provider and query, or templateRef".to_owned(),
            );
        };
        match known(provider.provider_type.as_deref().unwrap_or_default()) {
            Ok(()) => Self::Inline(Question {
                address: provider.address.clone(),
                query: query.clone(),
                headers: BTreeMap::new(),
            }),
            Err(why) => Self::Nowhere(why),
        }
    }
}

/// Is it a supported provider? An empty type means Prometheus.
pub(super) fn known(provider: &str) -> Result<(), String> {
    match provider {
        "" | PROMETHEUS => Ok(()),
        other => Err(format!("the provider {other:?} cannot be asked; only {PROMETHEUS} can")),
    }
}

/// Can objects of this kind be templates?
pub(super) fn is_template(api_version: &str, kind: &str) -> bool {
    matches!(
        (api_version.split('/').next(), kind),
        (Some("flagger.app"), "MetricTemplate") | (Some("v1"), "ConfigMap")
    )
}

/// The query of a template: a MetricTemplate of Flagger, or a ConfigMap with `address` and `query`.
///
/// # Errors
/// It is no template of a metric, lacks a field, or asks for what is not done, such as sending credentials.
pub fn template(object: &Json) -> Result<Question, String> {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let kind = text(&object["kind"]);
    if !is_template(&text(&object["apiVersion"]), &kind) {
        return Err(format!(
            "{kind} is no template of a metric; expected a MetricTemplate of flagger.app or a ConfigMap"
        ));
    }
    let mut headers = BTreeMap::new();
    let (address, query) = match kind.as_str() {
        "ConfigMap" => (text(&object["data"]["address"]), text(&object["data"]["query"])),
        _ => {
            let provider = &object["spec"]["provider"];
            known(&text(&provider["type"]))?;
            if !provider["secretRef"].is_null() {
                return Err(
                    "spec.provider.secretRef: credentials are not sent; use an address that needs none"
                        .to_owned(),
                );
            }
            if provider["insecureSkipVerify"] == true {
                return Err("spec.provider.insecureSkipVerify: certificates are always checked".to_owned());
            }
            for (name, values) in provider["headers"].as_object().into_iter().flatten() {
                let values: Vec<&str> =
                    values.as_array().into_iter().flatten().filter_map(Json::as_str).collect();
                headers.insert(name.clone(), values.join(", "));
            }
            (text(&provider["address"]), text(&object["spec"]["query"]))
        }
    };
    let field = |name: &str| match kind.as_str() {
        "ConfigMap" => format!("data.{name}"),
        _ if name == "address" => "spec.provider.address".to_owned(),
        _ => format!("spec.{name}"),
    };
    for (name, value) in [("address", &address), ("query", &query)] {
        if value.trim().is_empty() {
            return Err(format!("{} is missing", field(name)));
        }
    }
    Ok(Question { address, query, headers })
}

/// The query with its placeholders filled in.
///
/// # Errors
/// A placeholder that is not closed or not known, or a query that is too long.
pub fn render(query: &str, words: &BTreeMap<&'static str, String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = query;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, behind) =
            after.split_once("}}").ok_or_else(|| "the query has a {{ that no }} closes".to_owned())?;
        let word = words.get(name.trim()).ok_or_else(|| {
            let known: Vec<&str> = words.keys().copied().collect();
            format!("the query names {{{{ {} }}}}, and only {} are known", name.trim(), known.join(", "))
        })?;
        out.push_str(before);
        out.push_str(word);
        rest = behind;
    }
    out.push_str(rest);
    if out.len() > QUERY_BYTES_AT_MOST {
        return Err(format!("the query is longer than {QUERY_BYTES_AT_MOST} bytes"));
    }
    Ok(out)
}
