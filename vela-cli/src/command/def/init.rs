//! `vela def init`: prints the beginning of a definition in CUE, which `vela def vet` accepts.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vela_engine::Document;
use vela_engine::definition::cue_file;

use super::{files, stored};
use crate::args::{DefinitionType, InitDefinition};
use crate::cue_text::{self, Expressions};
use crate::error::{Error, Failure, Result};
use crate::pointer::text;
use crate::screen::Screen;
use crate::{input, new_file};

/// The label by which workloads of one component know their pods.
const COMPONENT: &str = "app.oam.dev/component";

pub(super) fn run(args: &InitDefinition, screen: &mut Screen) -> Result<()> {
    let objects = match &args.template_yaml {
        Some(file) => input::read(std::slice::from_ref(file))?,
        None => Vec::new(),
    };
    let text = text_of(args, &objects)?;
    let made = cue_file::document(&format!("{}.cue", args.name), &text)?;
    for found in files::judge(&[made])? {
        let found = found?;
        if found.has_errors() {
            let advice = "The definition was made of the objects as they are; correct them, or begin without --template-yaml.";
            return Err(Failure::from(found).closing(advice.to_owned()));
        }
    }
    match &args.output {
        None => screen.document(&text),
        Some(path) => {
            new_file::write(path, &text)?;
            let path = path.display();
            screen.say(&format!(
                "{path} is written: `vela def vet {path}` judges it, `vela def apply {path}` applies it"
            ));
            Ok(())
        }
    }
}

fn text_of(args: &InitDefinition, objects: &[Document]) -> Result<String> {
    let type_ = stored::kind(args.type_);
    let Draft { attributes, template } = match (args.type_, objects) {
        (DefinitionType::Component, _) => component(objects),
        (DefinitionType::Workload, _) => workload(objects),
        (DefinitionType::Trait, []) => annotating(),
        (DefinitionType::Trait, _) => {
            Draft { attributes: of_trait(), template: outputs(objects, None) + "parameter: {}\n" }
        }
        (DefinitionType::Policy | DefinitionType::WorkflowStep, [_, ..]) => {
            let error = Error::user(format!(
                "--template-yaml begins components, traits and workloads, and no {}",
                type_.noun()
            ));
            return Err(error.hint("leave out --template-yaml, or choose --type component or trait").into());
        }
        (DefinitionType::Policy, []) => Draft { attributes: json!({}), template: POLICY.to_owned() },
        (DefinitionType::WorkflowStep, []) => Draft { attributes: json!({}), template: STEP.to_owned() },
    };
    let about = [
        ("type", cue_text::type_name(type_).into()),
        ("description", args.desc.clone().unwrap_or_default().into()),
        ("attributes", attributes),
    ];
    Ok(cue_text::file(&args.name, &about, &template))
}

/// The parts of a definition that its type decides.
struct Draft {
    attributes: Value,
    template: String,
}

const DEPLOYMENT: &str = "\
output: {
	apiVersion: \"apps/v1\"
	kind:       \"Deployment\"
	spec: {
		selector: matchLabels: \"app.oam.dev/component\": context.name
		template: {
			metadata: labels: \"app.oam.dev/component\": context.name
			spec: containers: [{
				name:  context.name
				image: parameter.image
			}]
		}
	}
}
parameter: {
	// +usage=Image that the container runs
	image: string
}
";
const ANNOTATING: &str = "\
patch: metadata: annotations: \"example.com/note\": parameter.note
parameter: {
	// +usage=Value of the annotation that the workload gets
	note: string
}
";
const POLICY: &str = "\
output: {
	apiVersion: \"v1\"
	kind:       \"ConfigMap\"
	data: note: parameter.note
}
parameter: {
	// +usage=Text in the ConfigMap that the policy makes
	note: string
}
";
const STEP: &str = "\
import \"vela/builtin\"

say: builtin.#Message & {$params: message: parameter.message}
parameter: {
	// +usage=What the status of the step says
	message: string
}
";

fn annotating() -> Draft {
    Draft { attributes: of_trait(), template: ANNOTATING.to_owned() }
}

fn of_trait() -> Value {
    json!({"appliesToWorkloads": ["*"], "podDisruptive": false})
}

fn component(objects: &[Document]) -> Draft {
    let (of, template) = workload_template(objects);
    Draft { attributes: json!({"workload": {"definition": of}}), template }
}

fn workload(objects: &[Document]) -> Draft {
    let (of, template) = workload_template(objects);
    let group = text(&of, "/apiVersion").split_once('/').map_or("", |(group, _)| group);
    let plural = format!("{}s", text(&of, "/kind").to_lowercase());
    let name = if group.is_empty() { plural } else { format!("{plural}.{group}") };
    Draft { attributes: json!({"definitionRef": {"name": name}}), template }
}

/// Version and kind of the workload, and the template that makes it.
fn workload_template(objects: &[Document]) -> (Value, String) {
    let has_pods = |object: &&Document| object.value().pointer("/spec/template/spec/containers").is_some();
    let Some(output) = objects.iter().find(has_pods).or_else(|| objects.first()) else {
        return (json!({"apiVersion": "apps/v1", "kind": "Deployment"}), DEPLOYMENT.to_owned());
    };
    let of = json!({"apiVersion": output.api_version(), "kind": output.kind()});
    let mut object = bare(output);
    if let Some(metadata) = object["metadata"].as_object_mut() {
        // It is called like its component.
        metadata.remove("name");
        if metadata.is_empty() {
            object.as_object_mut().map(|object| object.remove("metadata"));
        }
    }
    let (expressions, parameters) = parameters(&mut object);
    let mut template = format!("output: {}\n", cue_text::value(&object, &expressions));
    template.push_str(&outputs(objects, Some(output)));
    let parameters: String = parameters.iter().map(|one| format!("\t{one}\n")).collect();
    template.push_str(&match parameters.is_empty() {
        true => "parameter: {}\n".to_owned(),
        false => format!("parameter: {{\n{parameters}}}\n"),
    });
    (of, template)
}

/// What most users want to choose becomes a parameter, with what the file says as its default; the selector becomes one
/// that no other component shares.
fn parameters(object: &mut Value) -> (Expressions, Vec<String>) {
    let mut expressions = Expressions::new();
    let mut parameters = Vec::new();
    const IMAGE: &str = "/spec/template/spec/containers/0/image";
    for (pointer, name, usage) in
        [(IMAGE, "image", "Image that the container runs"), ("/spec/replicas", "replicas", "Number of pods")]
    {
        let type_ = match object.pointer(pointer) {
            Some(Value::String(_)) => "string",
            Some(Value::Number(_)) => "int",
            _ => continue,
        };
        let default = object.pointer(pointer).cloned().unwrap_or_default();
        expressions.insert(pointer.to_owned(), format!("parameter.{name}"));
        parameters.push(format!("// +usage={usage}"));
        parameters.push(format!("{name}: *{default} | {type_}"));
    }
    let selects = "/spec/selector/matchLabels";
    let labels = "/spec/template/metadata/labels";
    if [selects, labels].iter().all(|pointer| object.pointer(pointer).is_some_and(Value::is_object)) {
        for pointer in [selects, labels] {
            if let Some(labels) = object.pointer_mut(pointer).and_then(Value::as_object_mut) {
                labels.insert(COMPONENT.to_owned(), Value::Null);
            }
            expressions
                .insert(format!("{pointer}/{}", COMPONENT.replace('/', "~1")), "context.name".to_owned());
        }
    }
    (expressions, parameters)
}

/// Further objects, each under a name of its own.
fn outputs(objects: &[Document], but: Option<&Document>) -> String {
    let mut names = BTreeSet::new();
    let mut text = String::new();
    for object in objects.iter().filter(|object| but.is_none_or(|but| !std::ptr::eq(*object, but))) {
        let kind = object.kind().to_lowercase();
        let numbered = (1..=objects.len()).map(|number| format!("{kind}{number}"));
        let name =
            std::iter::once(kind.clone()).chain(numbered).find(|name| !names.contains(name)).unwrap_or(kind);
        let name_in_cue = cue_text::value(&json!({ name.as_str(): bare(object) }), &Expressions::new());
        names.insert(name);
        text.push_str(&format!("outputs: {name_in_cue}\n"));
    }
    text
}

/// The object without what the server wrote.
fn bare(document: &Document) -> Value {
    let mut object = document.value().clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| matches!(field.as_str(), "name" | "labels" | "annotations"));
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|name, _| cue_text::is_for_users(name));
        }
    }
    object
}
