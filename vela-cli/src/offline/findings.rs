//! One document and what may be named in it → everything that is wrong or doubtful about it, each finding with its place.
//!
//! Commands tell errors as texts; this is for programs that show each finding where it belongs.

use vela_engine::application_configuration::{self, type_resolution};
use vela_engine::{
    Code, Definition, Diagnostic, Diagnostics, Document, Severity, Snapshot, Templates, dry_run, parse, plan,
    preview, revision,
};
use vela_snapshot::{Error, Reader, Source};
use vela_webhooks::component;
use vela_webhooks::review::{Operation, Resource, Review, User};

use super::{DEFINITION_KINDS, everything, findings_of_definition};

/// What `vela dry-run` says of an Application, with the Policies and Workflows `beside` it that it names.
pub(crate) async fn of_application<S: Source>(
    reader: &Reader<S>,
    application: &Document,
    beside: &[Document],
) -> Result<Diagnostics, Error> {
    let whole = preview::merge(application, beside, false).application;
    let templates = Templates::default();
    let mut found = Diagnostics::new();
    let parts: Vec<Document> = match preview::steps(&whole) {
        Err(mistakes) => return Ok(mistakes),
        Ok(steps) if steps.is_empty() => vec![whole],
        Ok(steps) => {
            found.extend(of_workflow(reader, &whole).await?);
            steps.into_iter().filter_map(|step| step.application).collect()
        }
    };
    for part in parts {
        match reader.application(part.namespace(), &part).await {
            Ok(snapshot) => found.extend_new(of_part(&part, &snapshot, &templates)),
            Err(Error::Definition { found: mistakes, .. }) => found.extend_new(mistakes),
            Err(other) => return Err(other),
        }
    }
    Ok(found)
}

/// The whole of an application of which single steps are rendered, as far as its workflow goes.
async fn of_workflow<S: Source>(reader: &Reader<S>, whole: &Document) -> Result<Diagnostics, Error> {
    let snapshot = match reader.application(whole.namespace(), whole).await {
        // The steps tell it.
        Err(Error::Definition { .. }) => return Ok(Diagnostics::new()),
        snapshot => snapshot?,
    };
    let parsed = parse::parse(whole, &snapshot);
    Ok(match parsed.and_then(|parsed| plan::preview(revision::revision(parsed, None))) {
        Ok(plan) => with_left_out(plan.warnings(), plan.left_out()),
        Err(mistakes) => mistakes,
    })
}

fn of_part(application: &Document, snapshot: &Snapshot, templates: &Templates) -> Diagnostics {
    let rendered = dry_run::render(application, snapshot, templates);
    match rendered.and_then(vela_engine::Rendered::strictly) {
        Ok(rendered) => with_left_out(rendered.warnings(), rendered.plan().left_out()),
        Err(first) => everything(application, snapshot, first).strictly(),
    }
}

/// An application that needs what is not supported yet will not run: these parts are errors.
fn with_left_out(warnings: &Diagnostics, left_out: &Diagnostics) -> Diagnostics {
    let is_new = |warning: &&Diagnostic| !left_out.iter().any(|part| part == *warning);
    let errors = left_out.iter().cloned().map(|part| Diagnostic { severity: Severity::Error, ..part });
    errors.chain(warnings.iter().filter(is_new).cloned()).collect()
}

/// What admission would say of a definition, as `vela def vet` tells it.
pub(crate) async fn of_definition<S: Source>(
    reader: &Reader<S>,
    document: &Document,
) -> Result<Diagnostics, Error> {
    let written = match Definition::from_document(document) {
        Ok(written) => written,
        Err(mistake) => return Ok(mistake.into()),
    };
    let mut found: Diagnostics = document.warnings().cloned().collect();
    match reader.definition(document).await {
        Ok(definition) => found.extend(findings_of_definition(document, &definition, &Templates::default())),
        Err(Error::Definition { found: mistakes, .. }) => found.extend(mistakes),
        Err(other) => return Err(other),
    }
    let in_file = |mut finding: Diagnostic| {
        if let Some(place) = &mut finding.definition {
            written.in_file(place);
        }
        finding
    };
    Ok(found.into_iter().map(in_file).collect())
}

/// What a reconcile would say of an ApplicationConfiguration whose Components stand `beside` it. Admission also asks which
/// kinds the cluster has, which cannot be known here.
pub(crate) async fn of_configuration<S: Source>(
    reader: &Reader<S>,
    configuration: &Document,
    beside: &[Document],
) -> Result<Diagnostics, Error> {
    let namespace = configuration.namespace();
    let known = reader.all_definitions(namespace, &DEFINITION_KINDS).await?;
    let tell = |snapshot: &mut Snapshot| {
        known.definitions().for_each(|definition| snapshot.insert_definition(definition.clone()));
        for component in beside {
            snapshot.insert_object(component.in_namespace(namespace).into_value());
        }
    };
    let snapshot = reader.configuration_by(namespace, configuration, Some(&tell)).await?;
    let parsed = match application_configuration::parse(configuration, &snapshot) {
        Ok(parsed) => parsed,
        Err(mistakes) => return Ok(mistakes),
    };
    let mut found = parsed.warnings().clone();
    match application_configuration::render(&parsed, &snapshot) {
        Ok(rendered) => found.extend_new(rendered.warnings().clone()),
        Err(mistakes) => found.extend_new(mistakes),
    }
    Ok(found)
}

/// What admission would say of a Component.
pub(crate) async fn of_component<S: Source>(
    reader: &Reader<S>,
    document: &Document,
) -> Result<Diagnostics, Error> {
    let snapshot = reader.all_definitions(document.namespace(), &DEFINITION_KINDS).await?;
    let mut found: Diagnostics = document.warnings().cloned().collect();
    let mut object = document.value().clone();
    match type_resolution::workload_object(&object, &snapshot) {
        Ok(Some(typed)) => object["spec"]["workload"] = typed,
        Ok(None) => {}
        Err(message) => {
            let finding = Diagnostic::error(Code::UnknownDefinition, message);
            found.push(finding.at(document, "spec.workload.type"));
            return Ok(found);
        }
    }
    let review = Review {
        api_version: "admission.k8s.io/v1".to_owned(),
        uid: String::new(),
        operation: Operation::Create,
        resource: Resource::default(),
        namespace: document.namespace().to_owned(),
        object,
        old_object: serde_json::Value::Null,
        user: User::default(),
    };
    let verdict = component::validate(&review, &snapshot);
    for cause in verdict.causes {
        let code = if cause.reason == "FieldValueRequired" { Code::MissingField } else { Code::WrongType };
        found.push(Diagnostic::error(code, cause.message).at(document, cause.field));
    }
    for warning in verdict.warnings {
        found.push(Diagnostic::warning(Code::WrongType, warning).at(document, "spec.parameters"));
    }
    Ok(found)
}
