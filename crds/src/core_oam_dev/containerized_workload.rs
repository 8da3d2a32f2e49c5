//! ContainerizedWorkload (v1alpha2): long-running containers, described without Kubernetes' words.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::raw::is_false;
use crate::{Condition, Conditioned, TypedReference};

/// Long-running containers.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1alpha2",
    kind = "ContainerizedWorkload",
    plural = "containerizedworkloads",
    namespaced,
    status = "ContainerizedWorkloadStatus",
    category = "crossplane",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "Long-running containers."
)]
#[serde(rename_all = "camelCase")]
pub struct ContainerizedWorkloadSpec {
    /// Operating system the containers need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os_type: Option<OperatingSystem>,
    /// Processor the containers need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arch: Option<CpuArchitecture>,
    /// The containers.
    pub containers: Vec<Container>,
}

/// Operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OperatingSystem {
    /// Linux.
    Linux,
    /// Windows.
    Windows,
}

/// Processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CpuArchitecture {
    /// 32-bit x86.
    I386,
    /// 64-bit x86.
    Amd64,
    /// 32-bit ARM.
    Arm,
    /// 64-bit ARM.
    Arm64,
}

/// One container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    /// Name, unique within the workload.
    pub name: String,
    /// Image to run.
    pub image: String,
    /// What the container needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ContainerResources>,
    /// Entry point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Arguments of the entry point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<ContainerEnvVar>,
    /// Files written into the container.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub config: Vec<ContainerConfigFile>,
    /// Ports the container listens on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<ContainerPort>,
    /// Restarts the container when it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness_probe: Option<ContainerHealthProbe>,
    /// Takes the container out of the Service while it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness_probe: Option<ContainerHealthProbe>,
    /// Secret with the credentials of the image registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_pull_secret: Option<String>,
}

/// What a container needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerResources {
    /// Processor time.
    pub cpu: Quantity,
    /// Memory.
    pub memory: Quantity,
    /// Graphics processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<Quantity>,
    /// Disks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<VolumeResource>,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extended: Vec<ExtendedResource>,
}

/// An amount that must be there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Quantity {
    /// The amount, as a Kubernetes quantity.
    pub required: String,
}

/// A disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeResource {
    /// Name, unique within the container.
    pub name: String,
    /// Path in the container.
    pub mount_path: String,
    /// Read only, or read and write (the meaning when absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_mode: Option<VolumeAccessMode>,
    /// Alone, or shared with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing_policy: Option<VolumeSharingPolicy>,
    /// Size and life of the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskResource>,
}

/// Access to a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VolumeAccessMode {
    /// Read only.
    #[serde(rename = "RO")]
    ReadOnly,
    /// Read and write.
    #[serde(rename = "RW")]
    ReadWrite,
}

/// Who may use a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VolumeSharingPolicy {
    /// One user.
    Exclusive,
    /// Many users.
    Shared,
}

/// Size and life of a disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiskResource {
    /// Size, as a Kubernetes quantity.
    pub required: String,
    /// The disk goes when the container goes.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ephemeral: bool,
}

/// A resource of any name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtendedResource {
    /// Name, such as `nvidia.com/gpu`.
    pub name: String,
    /// Amount.
    pub required: IntOrString,
}

/// One variable of the environment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerEnvVar {
    /// Name of the variable.
    #[schemars(regex(pattern = r"^[-_a-zA-Z0-9]+$"))]
    pub name: String,
    /// Its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where the value is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_secret: Option<SecretKeySelector>,
}

/// A file written into a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerConfigFile {
    /// Path of the file.
    pub path: String,
    /// Its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where the content is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_secret: Option<SecretKeySelector>,
}

/// One key of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKeySelector {
    /// Name of the Secret.
    pub name: String,
    /// Key in it.
    pub key: String,
}

/// A port a container listens on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerPort {
    /// Name of the port: lower-case letters only.
    #[schemars(regex(pattern = r"^[a-z]+$"))]
    pub name: String,
    /// The port.
    pub container_port: i32,
    /// Transport; TCP when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<TransportProtocol>,
}

/// Transport of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum TransportProtocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// How to ask a container whether it is well.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerHealthProbe {
    /// By running a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<ExecProbe>,
    /// By an HTTP request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_get: Option<HttpGetProbe>,
    /// By opening a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_socket: Option<TcpSocketProbe>,
    /// Wait before the first question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_delay_seconds: Option<i32>,
    /// Time between questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_seconds: Option<i32>,
    /// Time an answer may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<i32>,
    /// Good answers that make it well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_threshold: Option<i32>,
    /// Bad answers that make it unwell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_threshold: Option<i32>,
}

/// A command to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecProbe {
    /// The command and its arguments.
    pub command: Vec<String>,
}

/// An HTTP request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpGetProbe {
    /// Path to ask.
    pub path: String,
    /// Port to ask.
    pub port: i32,
    /// Headers to send.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub http_headers: Vec<HttpHeader>,
}

/// One HTTP header.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpHeader {
    /// Name of the header.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A connection to open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TcpSocketProbe {
    /// The port.
    pub port: i32,
}

/// Status of a ContainerizedWorkload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerizedWorkloadStatus {
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Objects made for the workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<TypedReference>,
}

impl Conditioned for ContainerizedWorkloadStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    fn conditions_mut(&mut self) -> &mut Vec<Condition> {
        &mut self.conditions
    }
}
