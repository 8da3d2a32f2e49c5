//! MCPServer (v1alpha1): a server of the Model Context Protocol whose tools sidecars offer as workflows.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NameValue, SecretKeyRef};

/// A server of the Model Context Protocol.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServer {
    /// Ids of the applications that may use it; nothing means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Where it is and how it is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<McpServerSpec>,
}

/// Where the server is and how it is used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerSpec {
    /// How it is reached.
    pub endpoint: McpEndpoint,
    /// Workflows that run before and after its calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub middleware: Option<Middleware>,
    /// What people read of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog: Option<Catalog>,
    /// Whether the sidecar starts although the server cannot be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_errors: Option<bool>,
}

/// How the server is reached: in exactly one way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpEndpoint {
    /// Over HTTP with streams.
    #[serde(default, rename = "streamableHTTP", skip_serializing_if = "Option::is_none")]
    pub streamable_http: Option<McpHttp>,
    /// Over HTTP with server-sent events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sse: Option<McpHttp>,
    /// As a process beside the sidecar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdio: Option<McpStdio>,
}

/// A server over HTTP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpHttp {
    /// Its address.
    #[schemars(length(min = 1))]
    pub url: String,
    /// Version of the protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// How long a call may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// Headers of every request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<NameValue>,
    /// How the sidecar identifies itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<McpAuth>,
}

/// How the sidecar identifies itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpAuth {
    /// Name of the secret store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_store: Option<String>,
    /// By a token of OAuth2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth2: Option<OAuth2>,
    /// By its own identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spiffe: Option<SpiffeAuth>,
}

/// Where a token of OAuth2 comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OAuth2 {
    /// Who gives the token.
    #[schemars(length(min = 1))]
    pub issuer: String,
    /// Id of the client.
    #[serde(default, rename = "clientID", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// For whom the token is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// What it allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Where the client's secret stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeyRef>,
}

/// The sidecar's own identity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpiffeAuth {
    /// As a signed token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwt: Option<SpiffeJwt>,
}

/// A signed token of the sidecar's identity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpiffeJwt {
    /// The header that carries it.
    #[schemars(length(min = 1))]
    pub header: String,
    /// What stands before it in the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header_value_prefix: Option<String>,
    /// For whom it is.
    #[schemars(length(min = 1))]
    pub audience: String,
}

/// A server that is a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpStdio {
    /// The program.
    #[schemars(length(min = 1))]
    pub command: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Its environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<NameValue>,
}

/// Workflows that run before and after calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Middleware {
    /// Before a tool is called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before_call_tool: Vec<MutatingHook>,
    /// After a tool was called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_call_tool: Vec<MutatingHook>,
    /// Before the tools are listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before_list_tools: Vec<ObservingHook>,
    /// After the tools were listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_list_tools: Vec<MutatingHook>,
}

/// A workflow that may change what passes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MutatingHook {
    /// The workflow.
    pub workflow: WorkflowReference,
    /// Whether what it gives takes the place of what it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutate: Option<bool>,
}

/// A workflow that only looks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservingHook {
    /// The workflow.
    pub workflow: WorkflowReference,
}

/// A workflow of an application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowReference {
    /// Id of the application; nothing means the one that calls.
    #[serde(default, rename = "appID", skip_serializing_if = "Option::is_none")]
    pub app_id: Option<String>,
    /// Name of the workflow.
    #[schemars(length(min = 1))]
    pub workflow_name: String,
}

/// What people read of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Catalog {
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<CatalogOwner>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Pages about it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, String>,
}

/// Whose a server is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogOwner {
    /// The team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// How to reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
}
