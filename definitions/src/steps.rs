//! The workflow step types.

use crate::definition::{Attributes, Definition, Kind, StatusTexts};

const fn one(name: &'static str, description: &'static str, template: &'static str) -> Definition {
    Definition {
        name,
        kind: Kind::WorkflowStep,
        description,
        template: Some(template),
        status: StatusTexts { health: None, message: None },
        attributes: Attributes::WorkflowStep,
    }
}

pub(crate) const STEPS: &[Definition] = &[
    one(
        "apply-application",
        "Applies every component with its traits, and waits until they are healthy.",
        include_str!("../steps/apply-application.cue"),
    ),
    one(
        "apply-application-in-parallel",
        "Applies every component with its traits at the same time, and waits for none.",
        include_str!("../steps/apply-application-in-parallel.cue"),
    ),
    one(
        "apply-component",
        "Applies one component with its traits, and waits until it is healthy.",
        include_str!("../steps/apply-component.cue"),
    ),
    one(
        "apply-deployment",
        "Makes a Deployment of an image, and waits until its pods are ready.",
        include_str!("../steps/apply-deployment.cue"),
    ),
    one("apply-object", "Applies an object as it is written.", include_str!("../steps/apply-object.cue")),
    one(
        "apply-remaining",
        "Applies every component that no other step applies.",
        include_str!("../steps/apply-remaining.cue"),
    ),
    one(
        "apply-terraform-config",
        "Makes a Terraform configuration, and waits until its cloud resources are there.",
        include_str!("../steps/apply-terraform-config.cue"),
    ),
    one(
        "apply-terraform-provider",
        "Makes a Terraform provider from the keys of an account, and waits until it is ready.",
        include_str!("../steps/apply-terraform-provider.cue"),
    ),
    one(
        "build-push-image",
        "Builds an image with kaniko and pushes it to a registry.",
        include_str!("../steps/build-push-image.cue"),
    ),
    one(
        "check-metrics",
        "Waits until a query of Prometheus holds, or fails when it does not.",
        include_str!("../steps/check-metrics.cue"),
    ),
    one("clean-jobs", "Deletes jobs and pods by their labels.", include_str!("../steps/clean-jobs.cue")),
    one(
        "collect-service-endpoints",
        "Waits for the addresses at which an application is reached, and gives them to later steps.",
        include_str!("../steps/collect-service-endpoints.cue"),
    ),
    one("create-config", "Makes or changes a config.", include_str!("../steps/create-config.cue")),
    one("delete-config", "Deletes a config.", include_str!("../steps/delete-config.cue")),
    one(
        "depends-on-app",
        "Waits until another application runs, and makes it from a ConfigMap where it is not there.",
        include_str!("../steps/depends-on-app.cue"),
    ),
    one(
        "deploy",
        "Applies the components where policies say, and as they say.",
        include_str!("../steps/deploy.cue"),
    ),
    one(
        "deploy-cloud-resource",
        "Makes the cloud resources of an environment, and brings their Secrets to its clusters.",
        include_str!("../steps/deploy-cloud-resource.cue"),
    ),
    one(
        "deploy2env",
        "Applies the components of an environment as its env-binding policy says.",
        include_str!("../steps/deploy2env.cue"),
    ),
    one(
        "deploy2runtime",
        "Applies every component in every cluster.",
        include_str!("../steps/deploy2runtime.cue"),
    ),
    one(
        "export-data",
        "Writes data into a ConfigMap or Secret where a topology policy says.",
        include_str!("../steps/export-data.cue"),
    ),
    one(
        "export-service",
        "Makes a Service for an address where a topology policy says.",
        include_str!("../steps/export-service.cue"),
    ),
    one("export2config", "Writes data into a ConfigMap.", include_str!("../steps/export2config.cue")),
    one("export2secret", "Writes data into a Secret.", include_str!("../steps/export2secret.cue")),
    one(
        "generate-jdbc-connection",
        "Reads the Secret of a database, and gives its JDBC connection to later steps.",
        include_str!("../steps/generate-jdbc-connection.cue"),
    ),
    one(
        "list-config",
        "Lists the configs of a template, and gives them to later steps.",
        include_str!("../steps/list-config.cue"),
    ),
    one(
        "notification",
        "Sends a message to Lark, DingTalk or Slack, or an e-mail.",
        include_str!("../steps/notification.cue"),
    ),
    one(
        "print-message-in-status",
        "Shows a message in the status of the step.",
        include_str!("../steps/print-message-in-status.cue"),
    ),
    one(
        "read-config",
        "Reads a config, and gives it to later steps.",
        include_str!("../steps/read-config.cue"),
    ),
    one(
        "read-object",
        "Reads an object, and gives it to later steps.",
        include_str!("../steps/read-object.cue"),
    ),
    one(
        "request",
        "Sends an HTTP request, and gives the answer to later steps.",
        include_str!("../steps/request.cue"),
    ),
    one(
        "restart-workflow",
        "Has the workflow restarted at a time, after a while, or again and again.",
        include_str!("../steps/restart-workflow.cue"),
    ),
    one(
        "share-cloud-resource",
        "Brings the Secrets of cloud resources to other clusters.",
        include_str!("../steps/share-cloud-resource.cue"),
    ),
    one(
        "step-group",
        "Runs the steps that are written in its `subSteps`.",
        include_str!("../steps/step-group.cue"),
    ),
    one(
        "suspend",
        "Suspends the workflow until a user resumes it, or for a while.",
        include_str!("../steps/suspend.cue"),
    ),
    one("vela-cli", "Runs a vela command in a Job.", include_str!("../steps/vela-cli.cue")),
    one("webhook", "Sends data, or the application, to a URL.", include_str!("../steps/webhook.cue")),
];
