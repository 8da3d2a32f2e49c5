//! A CustomResourceDefinition in, what it serves out, or each field that makes it unusable.

use std::sync::Arc;

use jsonpath_rust::parser::model::JpQuery;
use serde_json::Value;

use super::column_path::compile_path;
use crate::cause::Cause;
use crate::object::text;
use crate::schema::Structural;

/// A CustomResourceDefinition that is served.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) preserve_unknown: bool,
    pub(crate) versions: Vec<Version>,
}

/// One version of a definition.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) served: bool,
    pub(crate) storage: bool,
    pub(crate) status: bool,
    pub(crate) scale: Option<ScalePaths>,
    pub(crate) structural: Option<Arc<Structural>>,
    /// The schema as written, for OpenAPI.
    pub(crate) schema: Value,
    pub(crate) columns: Vec<Column>,
}

/// Where a resource keeps what its `scale` subresource shows.
#[derive(Clone, Debug)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: String,
    pub(crate) status_replicas: String,
    pub(crate) selector: Option<String>,
}

/// A printer column.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) type_: String,
    pub(crate) format: String,
    pub(crate) description: String,
    pub(crate) priority: i64,
    pub(crate) path: Option<JpQuery>,
}

impl Definition {
    /// Reads a definition; the causes name each field that makes it unusable.
    pub(crate) fn read(object: &Value) -> Result<Self, Vec<Cause>> {
        let mut causes = Vec::new();
        let spec = object.get("spec").cloned().unwrap_or(Value::Null);
        for (field, pointer) in [
            ("spec.group", "/group"),
            ("spec.scope", "/scope"),
            ("spec.names.plural", "/names/plural"),
            ("spec.names.singular", "/names/singular"),
            ("spec.names.kind", "/names/kind"),
            ("spec.names.listKind", "/names/listKind"),
        ] {
            if text(&spec, pointer).is_empty() {
                causes.push(Cause::required(field, ""));
            }
        }
        let (group, plural) = (text(&spec, "/group").to_owned(), text(&spec, "/names/plural").to_owned());
        let name = crate::object::name(object).to_owned();
        if !group.is_empty() && !plural.is_empty() && name != format!("{plural}.{group}") {
            causes.push(Cause::invalid(
                "metadata.name",
                &Value::from(name.clone()),
                "must be spec.names.plural+\".\"+spec.group",
            ));
        }
        if !matches!(text(&spec, "/scope"), "Namespaced" | "Cluster" | "") {
            causes.push(Cause::not_supported("spec.scope", &spec["scope"], &["Cluster", "Namespaced"]));
        }
        let empty = Vec::new();
        let listed = spec.get("versions").and_then(Value::as_array).unwrap_or(&empty);
        if listed.iter().filter(|v| v["storage"] == true).count() != 1 {
            causes.push(Cause::invalid(
                "spec.versions",
                &spec["versions"],
                "must have exactly one version marked as storage version",
            ));
        }
        let strategy = text(&spec, "/conversion/strategy");
        causes.extend(conversion_causes(&spec["conversion"]));
        if strategy == "Webhook" && text(&spec, "/conversion/webhook/clientConfig/url").is_empty() {
            tracing::debug!(definition = name, "conversion webhooks are not called by this server");
        }
        let mut versions = Vec::new();
        for (at, version) in listed.iter().enumerate() {
            match Version::read(version, at) {
                Ok(version) => versions.push(version),
                Err(more) => causes.extend(more),
            }
        }
        if !causes.is_empty() {
            return Err(causes);
        }
        let words = |pointer: &str| -> Vec<String> {
            spec.pointer(pointer)
                .and_then(Value::as_array)
                .map(|list| list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                .unwrap_or_default()
        };
        Ok(Self {
            singular: text(&spec, "/names/singular").to_owned(),
            kind: text(&spec, "/names/kind").to_owned(),
            list_kind: text(&spec, "/names/listKind").to_owned(),
            short_names: words("/names/shortNames"),
            categories: words("/names/categories"),
            namespaced: text(&spec, "/scope") == "Namespaced",
            preserve_unknown: spec["preserveUnknownFields"] == true,
            name,
            group,
            plural,
            versions,
        })
    }
}

/// What the API server of Kubernetes refuses of a conversion; one that is left out becomes that of the strategy `None`.
fn conversion_causes(conversion: &Value) -> Vec<Cause> {
    if conversion.is_null() {
        return Vec::new();
    }
    let mut causes = Vec::new();
    let strategy = text(conversion, "/strategy");
    match strategy {
        "" => causes.push(Cause::required("spec.conversion.strategy", "")),
        "None" | "Webhook" => {}
        _ => {
            let known = ["None", "Webhook"];
            causes.push(Cause::not_supported("spec.conversion.strategy", &conversion["strategy"], &known));
        }
    }
    if strategy != "Webhook"
        && conversion.pointer("/webhook/clientConfig").is_some_and(|client| !client.is_null())
    {
        causes.push(Cause::forbidden(
            "spec.conversion.webhookClientConfig",
            "should not be set when strategy is not set to Webhook",
        ));
    }
    causes
}

impl Version {
    fn read(version: &Value, at: usize) -> Result<Self, Vec<Cause>> {
        let place = format!("spec.versions[{at}]");
        let schema = version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or(Value::Null);
        if schema.is_null() {
            return Err(vec![Cause::required(
                format!("{place}.schema.openAPIV3Schema"),
                "schemas are required",
            )]);
        }
        let structural = Structural::compile(&schema).map_err(|causes| {
            let prefix = format!("{place}.schema.openAPIV3Schema");
            causes
                .into_iter()
                .map(|mut cause| {
                    cause.field = match cause.field.as_str() {
                        "" => prefix.clone(),
                        f if f.starts_with('[') => format!("{prefix}{f}"),
                        f => format!("{prefix}.{f}"),
                    };
                    cause
                })
                .collect::<Vec<_>>()
        })?;
        let path = |pointer: &str| text(version, pointer).trim_start_matches('.').to_owned();
        let scale = version.pointer("/subresources/scale").map(|_| ScalePaths {
            spec_replicas: path("/subresources/scale/specReplicasPath"),
            status_replicas: path("/subresources/scale/statusReplicasPath"),
            selector: Some(path("/subresources/scale/labelSelectorPath")).filter(|p| !p.is_empty()),
        });
        let columns = version
            .get("additionalPrinterColumns")
            .and_then(Value::as_array)
            .map(|list| list.iter().map(Column::read).collect())
            .unwrap_or_else(|| vec![Column::age()]);
        Ok(Self {
            name: text(version, "/name").to_owned(),
            served: version["served"] == true,
            storage: version["storage"] == true,
            status: version.pointer("/subresources/status").is_some(),
            scale,
            structural: Some(Arc::new(structural)),
            schema,
            columns,
        })
    }
}

impl Column {
    fn read(column: &Value) -> Self {
        Self {
            name: text(column, "/name").to_owned(),
            type_: text(column, "/type").to_owned(),
            format: text(column, "/format").to_owned(),
            description: text(column, "/description").to_owned(),
            priority: column.get("priority").and_then(Value::as_i64).unwrap_or(0),
            path: compile_path(text(column, "/jsonPath")),
        }
    }

    fn age() -> Self {
        Self {
            name: "Age".into(),
            type_: "date".into(),
            format: String::new(),
            description:
                "CreationTimestamp is a timestamp representing the server time when this object was \
                          created, in RFC3339 form and UTC."
                    .into(),
            priority: 0,
            path: compile_path(".metadata.creationTimestamp"),
        }
    }
}
