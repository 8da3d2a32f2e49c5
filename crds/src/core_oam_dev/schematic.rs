//! The template of a definition, in one of the template languages, and its status texts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::raw::Raw;

/// The template of a definition; at most one member is meaningful.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Schematic {
    /// A CUE template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cue: Option<TextTemplate>,
    /// A handlebars template that yields YAML documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handlebars: Option<TextTemplate>,
    /// A Helm chart, as Flux objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helm: Option<Helm>,
    /// A plain object whose fields parameters fill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kube: Option<Kube>,
    /// Cloud resources described in Terraform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Terraform>")]
    pub terraform: Option<Raw>,
}

/// A template given as text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextTemplate {
    /// The text.
    pub template: String,
}

/// A Helm chart and where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Helm {
    /// Spec of the HelmRelease.
    pub release: Raw,
    /// Spec of the HelmRepository.
    pub repository: Raw,
}

/// A plain object whose fields parameters fill.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Kube {
    /// The object.
    pub template: Raw,
    /// What users may set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<KubeParameter>,
}

/// One thing users may set in a plain object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeParameter {
    /// Name of the parameter.
    pub name: String,
    /// Type of the value.
    #[serde(rename = "type")]
    pub value_type: ParameterType,
    /// Where the value goes.
    pub field_paths: Vec<String>,
    /// Whether it must be given.
    #[serde(default)]
    pub required: bool,
    /// Text for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Type of a parameter of a plain object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ParameterType {
    /// A text.
    #[default]
    String,
    /// A number.
    Number,
    /// True or false.
    Boolean,
}

/// Cloud resources described in Terraform.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Terraform {
    /// The configuration, or where it is.
    pub configuration: String,
    /// How the configuration is written.
    #[serde(rename = "type", default)]
    pub configuration_type: ConfigurationType,
    /// Folder within a remote configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Secret with the credentials of a remote configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_credentials_secret_reference: Option<SecretReference>,
    /// Who provides the resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_ref: Option<ProviderReference>,
    /// The resources go with the object that asked for them.
    #[serde(default = "yes")]
    pub delete_resource: bool,
    /// Region, instead of the provider's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_region: Option<String>,
    /// Secret that gets the outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_connection_secret_to_ref: Option<ConnectionSecret>,
}

fn yes() -> bool {
    true
}

/// How a Terraform configuration is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConfigurationType {
    /// In Terraform's language.
    #[default]
    Hcl,
    /// In JSON.
    Json,
    /// In a repository.
    Remote,
}

/// Names a Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecretReference {
    /// Name of the Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Names a Terraform provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderReference {
    /// Name of the provider.
    pub name: String,
    /// Its namespace.
    #[serde(default = "default_namespace")]
    pub namespace: String,
}

fn default_namespace() -> String {
    "default".to_owned()
}

/// Names the Secret that gets the outputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionSecret {
    /// Name of the Secret.
    pub name: String,
    /// Its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// CUE texts that read an object's state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionStatusTexts {
    /// Yields `message`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_status: Option<String>,
    /// Yields `isHealth`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_policy: Option<String>,
    /// Yields a map of texts to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

/// Status of every kind of definition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionStatus {
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<crate::Condition>,
    /// ConfigMap that holds the schema of the parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<String>,
    /// Last revision cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_revision: Option<crate::Revision>,
}

impl crate::Conditioned for DefinitionStatus {
    fn conditions(&self) -> &[crate::Condition] {
        &self.conditions
    }

    fn conditions_mut(&mut self) -> &mut Vec<crate::Condition> {
        &mut self.conditions
    }
}
