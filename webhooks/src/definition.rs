//! Validates a definition that is created or changed: it may enter if its template compiles and it says what it makes.

use serde_json::{Value, json};
use vela_crds::annotations::DEFINITION_REVISION_NAME;
use vela_engine::definition::version::is_complete;
use vela_engine::definition::{Language, record};
use vela_engine::render::Compiled;
use vela_engine::{
    Code, Definition, DefinitionKind, Diagnostic, Diagnostics, Document, ObjectKey, Templates, plan, policy,
    steps, transform,
};

use crate::charts;
use crate::review::{Operation, Review};
use crate::verdict::{Cause, Refusal, Verdict};

const COMPONENT: &str = "ComponentDefinition";
const TRAIT: &str = "TraitDefinition";
/// The workload of a component type that is looked for in what the template makes.
const AUTODETECT: &str = "autodetects.core.oam.dev";
/// More parameters without a description are only counted.
const UNDESCRIBED_AT_MOST: usize = 5;

/// The definition of a review. A caller that has a cluster adds the kinds that it imports.
pub fn read(review: &Review) -> Result<Definition, Diagnostic> {
    Definition::from_document(&Document::from_object(review.object.clone()))
}

/// The DefinitionRevision that keeps the version which the definition names, if it names one.
pub fn revision(definition: &Definition, namespace: &str) -> Option<ObjectKey> {
    record::named_version(definition)?;
    Some(ObjectKey::local(
        "core.oam.dev/v1beta1",
        "DefinitionRevision",
        namespace,
        record::revision(definition, None).name,
    ))
}

/// The cluster's objects that a definition names.
#[derive(Clone, Debug, Default)]
pub struct DefinitionFacts {
    /// The DefinitionRevision that has the name of its version.
    pub recorded: Option<Value>,
    /// The resource (`<plural>.<group>`) of the workload's kind, where that is installed.
    pub resource: Option<String>,
    /// Is the WorkloadDefinition there that a ComponentDefinition names?
    pub workload: Option<bool>,
    /// Why the kinds that it makes keep it out.
    pub absent: Vec<Cause>,
}

/// The WorkloadDefinition that a ComponentDefinition names, where nothing else says its workload.
pub fn workload_type(object: &Value) -> Option<&str> {
    let named = text(&object["spec"]["workload"], "type");
    let is_named = object["kind"] == COMPONENT && !named.is_empty() && named != AUTODETECT;
    (is_named && workload_kind(object).is_none()).then_some(named)
}

/// The kind (`apiVersion`, `kind`) of the workload, where a ComponentDefinition says it.
pub fn workload_kind(object: &Value) -> Option<(&str, &str)> {
    let definition = object.pointer("/spec/workload/definition").filter(|_| object["kind"] == COMPONENT)?;
    let text = |field: &str| definition[field].as_str().filter(|text| !text.is_empty());
    Some((text("apiVersion")?, text("kind")?))
}

/// Says what a ComponentDefinition leaves open of its workload: the resource of the kind that it names, or that the
/// workload is unknown before the template has made it.
pub fn mutate(review: &Review, resource: Option<&str>) -> Verdict {
    let workload = &review.object["spec"]["workload"];
    let named = !text(workload, "type").is_empty();
    let type_ = match (workload_kind(&review.object), resource) {
        (Some(_), Some(resource)) => resource,
        // Which resource the kind is will be known when it is installed.
        (Some(_), None) => return Verdict::allowed(),
        (None, _) => AUTODETECT,
    };
    let is_component = review.object["kind"] == COMPONENT && review.object["spec"].is_object();
    if named || !is_component || !(workload.is_null() || workload.is_object()) {
        return Verdict::allowed();
    }
    let mut object = review.object.clone();
    object["spec"]["workload"]["type"] = json!(type_);
    Verdict::changed(review, &object)
}

/// A DefinitionRevision is what its version means to everybody who names it: it never changes.
pub fn validate_revision(review: &Review) -> Verdict {
    if !review.concerns_a_living_object() || review.operation != Operation::Update || review.keeps_the_spec()
    {
        return Verdict::allowed();
    }
    let message = "what a version of a definition means never changes: change the definition, which makes a new version";
    Verdict::refused(Refusal::Invalid, vec![Cause::invalid("spec", message)])
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

/// Judges a definition by compiling its template, and by what the cluster says of what it names.
pub fn validate(
    review: &Review,
    definition: Result<Definition, Diagnostic>,
    facts: &DefinitionFacts,
    templates: &Templates,
) -> Verdict {
    if !review.concerns_a_living_object() || review.keeps_the_spec() {
        return Verdict::allowed();
    }
    let definition = match definition {
        Ok(definition) => definition,
        Err(diagnostic) => {
            let mut causes = nothing_to_make(&review.object);
            causes.push(unreadable(&review.object, &diagnostic));
            let refusal = if is_template_alone(&review.object) { Refusal::Denied } else { Refusal::Invalid };
            return Verdict::refused(refusal, causes);
        }
    };
    let mut verdict = faults(&definition, templates).as_refusal(refusal(&review.object));
    verdict.causes.extend(facts.recorded.as_ref().and_then(|recorded| taken(&definition, recorded)));
    verdict
        .causes
        .extend(facts.resource.as_deref().and_then(|resource| contradicts(&review.object, resource)));
    verdict.causes.extend(facts.absent.iter().cloned());
    verdict.warnings.extend(undescribed(&definition));
    verdict.warnings.extend(not_run(&definition));
    verdict.warnings.extend(deprecated(&review.object));
    verdict.warnings.extend(without_workload(&review.object, facts));
    verdict
}

/// The errors of a definition, for both callers: admission, and a controller about a definition that was not judged.
pub fn faults(definition: &Definition, templates: &Templates) -> Verdict {
    Verdict::from_diagnostics(&findings(definition, templates))
}

/// The same for a program that shows diagnostics.
pub fn findings(definition: &Definition, templates: &Templates) -> Diagnostics {
    let (mut found, compiled) = match templates.get(definition) {
        Ok(compiled) => match &*compiled {
            Compiled::Cue(template) => (template.warnings().clone(), Some(compiled)),
            _ => (Diagnostics::new(), Some(compiled)),
        },
        Err(broken) => (broken, None),
    };
    found.extend(transform::mistakes(definition, compiled.as_deref()));
    found.extend(charts::findings(definition));
    for cause in nothing_to_make(definition.object()) {
        let finding = Diagnostic::error(Code::MissingField, cause.message);
        found.push(Diagnostic { path: cause.field, ..finding });
    }
    if let Some(cause) = version(&definition.object()["spec"]["version"], definition) {
        let finding = Diagnostic::error(Code::WrongType, cause.message);
        found.push(Diagnostic { path: cause.field, ..finding });
    }
    if let Some(message) = definition.stage().err().filter(|_| definition.kind() == DefinitionKind::Trait) {
        let finding = Diagnostic::error(Code::WrongType, message);
        found.push(Diagnostic { path: "spec.stage".to_owned(), ..finding });
    }
    found
}

/// A version is three numbers, and there is one place for it.
fn version(version: &Value, definition: &Definition) -> Option<Cause> {
    let version = version.as_str().filter(|version| !version.is_empty())?;
    if !is_complete(version) {
        let message = format!("{version:?} is no version: write three numbers, such as \"1.2.0\"");
        return Some(Cause::invalid("spec.version", message));
    }
    let annotation = &definition.object()["metadata"]["annotations"][DEFINITION_REVISION_NAME];
    annotation.as_str().filter(|name| !name.is_empty()).map(|_| {
        let message =
            format!("the annotation {DEFINITION_REVISION_NAME} names a version too: write only one of both");
        Cause::invalid("spec.version", message)
    })
}

/// The meaning of a version never changes: applications name it for that.
fn taken(definition: &Definition, recorded: &Value) -> Option<Cause> {
    let version = record::named_version(definition)?;
    let named = record::revision(definition, None);
    if record::keeps(&named.name, &recorded["spec"], definition, &named.hash) {
        return None;
    }
    let field = match definition.object()["spec"]["version"].as_str() {
        Some(_) => "spec.version".to_owned(),
        None => format!("metadata.annotations[{DEFINITION_REVISION_NAME:?}]"),
    };
    Some(Cause::invalid(field, record::conflict(version, &named.name)))
}

/// Is it a trait that names no resource, so that all it is stands in its template?
fn is_template_alone(object: &Value) -> bool {
    object["kind"] == TRAIT && text(&object["spec"]["definitionRef"], "name").is_empty()
}

/// A trait without anything to make is not invalid in a field: it may not enter as it is.
fn refusal(object: &Value) -> Refusal {
    let is_nothing = object["kind"] == TRAIT && !nothing_to_make(object).is_empty();
    if is_nothing { Refusal::Denied } else { Refusal::Invalid }
}

/// A definition that cannot be read; the type of a trait that names no resource is unknown.
fn unreadable(object: &Value, diagnostic: &Diagnostic) -> Cause {
    let mut cause = Cause::from_diagnostic(diagnostic);
    if is_template_alone(object) {
        cause.message = format!("error occurs when validating definition reference: {}", cause.message);
    }
    cause
}

/// Is there a template that a trait can be made by? A chart can only be a component.
fn has_trait_template(spec: &Value) -> bool {
    let written = |language: &Value| !text(language, "template").trim().is_empty();
    let schematic = &spec["schematic"];
    let in_words = ["cue", "handlebars"].into_iter().filter(|name| schematic[*name].is_object());
    let in_objects = ["kube", "terraform"].into_iter().any(|name| schematic[name].is_object());
    in_objects || in_words.map(|name| &schematic[name]).any(written) || written(&spec["extension"])
}

/// A definition must name the resource it is, or have a template that makes one.
fn nothing_to_make(object: &Value) -> Vec<Cause> {
    let spec = &object["spec"];
    let text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let named = text(&spec["definitionRef"]["name"]);
    let has_template = spec["schematic"].as_object().is_some_and(|members| !members.is_empty())
        || text(&spec["extension"]["template"]);
    let workload = &spec["workload"];
    let (field, message) = match object["kind"].as_str().unwrap_or_default() {
        TRAIT if !named && !has_trait_template(spec) => (
            "spec.definitionRef",
            "if definition reference is omitted, patch or output with GVK is required: \
             add spec.schematic.cue.template or spec.definitionRef.name",
        ),
        "WorkloadDefinition" | "ScopeDefinition" if !named => {
            ("spec.definitionRef.name", "name the resource, `<plural>.<group>`, such as deployments.apps")
        }
        COMPONENT if !text(&workload["type"]) && !text(&workload["definition"]["kind"]) && !has_template => (
            "spec.workload",
            "name the workload: its kind in spec.workload.definition, or a WorkloadDefinition in spec.workload.type; or \
             write a template that makes it, spec.schematic.cue.template",
        ),
        _ => return Vec::new(),
    };
    vec![Cause::required(field, message)]
}

/// A component type is of one workload: readers of its kind and readers of its resource must see the same.
fn contradicts(object: &Value, resource: &str) -> Option<Cause> {
    let type_ = text(&object["spec"]["workload"], "type");
    let (api_version, kind) = workload_kind(object)?;
    (!type_.is_empty() && type_ != resource).then(|| {
        let message = format!(
            "{type_:?} and spec.workload.definition ({api_version} {kind}, which is {resource:?}) are not the same \
             workload: write only the definition"
        );
        Cause::invalid("spec.workload.type", message)
    })
}

/// Parameters are what users see of a definition.
fn undescribed(definition: &Definition) -> Option<String> {
    let schema = record::schema(definition)?;
    let described =
        |parameter: &Value| parameter["description"].as_str().is_some_and(|text| !text.is_empty());
    let parameters = schema["properties"].as_object()?;
    let names: Vec<&str> =
        parameters.iter().filter(|(_, schema)| !described(schema)).map(|(name, _)| name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let more = names.len().saturating_sub(UNDESCRIBED_AT_MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown = names[..names.len().min(UNDESCRIBED_AT_MOST)].join(", ");
    Some(format!(
        "{}: parameters without a description: {shown}{more}; write `// +usage=…` above each",
        definition.title()
    ))
}

/// Admission keeps definitions that applications cannot use yet, for users who move here with all they have.
fn not_run(definition: &Definition) -> Option<String> {
    let named = match definition.kind() {
        DefinitionKind::WorkflowStep => {
            let is_run = match definition.language() {
                Language::Cue(text) => steps::unanswered(text).is_none(),
                _ => false,
            };
            !is_run && !plan::SUPPORTED_STEPS.contains(&definition.name())
        }
        DefinitionKind::Policy => !policy::SUPPORTED.contains(&definition.name()),
        _ => false,
    };
    named.then(|| format!("{} is kept, but applications that use it are not run yet", definition.title()))
}

/// It may be made later, so it is no reason to refuse; until then the type of the component is unknown.
fn without_workload(object: &Value, facts: &DefinitionFacts) -> Option<String> {
    let name = workload_type(object).filter(|_| facts.workload == Some(false))?;
    Some(format!(
        "spec.workload.type: there is no WorkloadDefinition {name:?} in this namespace or the system namespace: make it, or name \
         the kind instead, in spec.workload.definition"
    ))
}

fn deprecated(object: &Value) -> Option<String> {
    let template = object["spec"]["extension"]["template"].as_str().is_some_and(|text| !text.is_empty());
    template.then(|| "spec.extension.template is deprecated; write spec.schematic.cue.template".to_owned())
}
