//! `vela dry-run`: prints the objects that applications would become; writes nothing anywhere.

use std::path::PathBuf;

use serde_json::{Value, json};
use vela_engine::preview::PreviewStep;
use vela_engine::render::Rendered;
use vela_engine::{Bounds, ClusterVersion, Document, dry_run, preview};

use crate::appfile::{Origins, Resolved};
use crate::args::{DryRun, Format, Global};
use crate::error::{Error, Failure, Result};
use crate::offline::{JudgedWorkflows, RenderInputs};
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};
use crate::{appfile, input, offline};

pub(crate) fn run(args: &DryRun, global: &Global, screen: &mut Screen) -> Result<()> {
    // Both are read before either is refused, so that the errors of all files come together.
    let mut paths: Vec<PathBuf> = args.paths.iter().chain(&args.files).cloned().collect();
    if paths.is_empty() && args.kustomize.folders.is_empty() {
        paths.push(input::usual()?);
    }
    let documents = input::read_with_appfiles(&paths, args.recursive, &args.kustomize);
    let definitions = input::read_definitions(&args.definitions);
    let (documents, mut definitions) = match (documents, definitions) {
        (Ok(documents), Ok(definitions)) => (documents, definitions),
        (documents, definitions) => {
            let failures = [documents.err(), definitions.err()].into_iter().flatten().collect();
            return Failure::all(failures).map_or(Ok(()), Err);
        }
    };
    input::print_warnings(&documents, screen);
    input::print_warnings(&definitions, screen);
    if let Some(stranger) = definitions.iter().find(|document| !offline::is_definition(document)) {
        let place =
            stranger.places().value("kind").map_or_else(|| stranger.title(), |place| place.to_string());
        return Err(Error::user(format!("{place}: {} is no definition", stranger.title()))
            .hint("--definitions takes ComponentDefinitions, TraitDefinitions and their like")
            .into());
    }
    let is_shown = |one: &Document| offline::is_application(one) || appfile::is_appfile(one);
    let (applications, others): (Vec<_>, Vec<_>) = documents.into_iter().partition(is_shown);
    let (more, others): (Vec<_>, Vec<_>) = others.into_iter().partition(offline::is_definition);
    // Those of folders are a library: what is wrong with one matters where it is used.
    let library = definitions.len();
    definitions.extend(more);
    let (beside, others): (Vec<_>, Vec<_>) = others.into_iter().partition(preview::is_external);
    for other in &others {
        screen.say(&format!("{} is passed over: a dry run shows Applications.", other.title()));
    }
    if applications.is_empty() {
        return Err(Error::user("there is no Application in what was given").into());
    }
    let definitions: Vec<&Document> = definitions.iter().collect();
    let judged = &definitions[library..];
    let bounds =
        Bounds { own_namespace: !args.allow_cross_namespace, no_rights: !args.allow_granting_rights };
    if args.offline {
        let namespace = offline::namespace(global, screen)?;
        let version = args.kubernetes_version.clone().unwrap_or_else(ClusterVersion::newest);
        screen.say(&format!("Rendered for Kubernetes {}.{}.", version.major, version.minor));
        let reader = offline::built_in(version, &definitions)?.within(bounds);
        let (shown, rendered) = block_on(async {
            let unread = |error| offline::unread(None, error);
            let resolved = appfile::resolve(&reader, &namespace, applications, unread).await?;
            let shown = Shown::of(resolved, &namespace, &beside, args.merge, screen)?;
            let judged_workflows = offline::workflows(&reader, &shown.by_step, unread).await?;
            let inputs = RenderInputs::read(&reader, shown.applications(), judged, unread).await?;
            let rendered = offline::render(inputs.written(&shown.origins), args.strict)?;
            Ok((shown, (rendered, judged_workflows)))
        })?;
        return show(&shown, rendered, args.output, screen);
    }
    block_on(async {
        let session = Session::open(global, Purpose::Read, screen).await?;
        let rendered = async {
            let cluster = &session.cluster;
            let reader = offline::of_cluster(cluster, &definitions).await?.within(bounds);
            let unread = |error| offline::unread(Some(cluster), error);
            let resolved = appfile::resolve(&reader, cluster.namespace(), applications, unread).await?;
            let shown = Shown::of(resolved, cluster.namespace(), &beside, args.merge, screen)?;
            let workflows = offline::workflows(&reader, &shown.by_step, unread).await?;
            let inputs = RenderInputs::read(&reader, shown.applications(), judged, unread).await?;
            let rendered = offline::render(inputs.written(&shown.origins), args.strict)?;
            Ok((shown, (offline::succeeded(cluster, rendered).await?, workflows)))
        };
        let rendered: Result<(Shown, RenderedAll)> = rendered.await;
        session.close().await?;
        let (shown, rendered) = rendered?;
        show(&shown, rendered, args.output, screen)
    })
}

/// The rendered text, and the messages about workflows of which single steps are shown.
type RenderedAll = (Vec<Rendered>, JudgedWorkflows);

/// What is shown of the applications: each as a whole, or what each step of its workflow makes.
struct Shown {
    /// What is rendered, each with the comment that stands above it.
    parts: Vec<(Document, String)>,
    /// The applications of which single steps are shown.
    by_step: Vec<Document>,
    /// Of those that were written as Appfiles.
    origins: Origins,
}

impl Shown {
    /// With the Policies and Workflows `beside` them that they name, or with `all` that fit.
    fn of(
        resolved: Resolved,
        namespace: &str,
        beside: &[Document],
        all: bool,
        screen: &mut Screen,
    ) -> Result<Self> {
        let Resolved { documents, origins, warnings } = resolved;
        warnings.iter().for_each(|warning| screen.say(warning));
        let applications = documents.iter().map(|document| document.in_namespace(namespace));
        let mut shown = Self { parts: Vec::new(), by_step: Vec::new(), origins };
        let mut used = vec![false; beside.len()];
        let mut failures = Vec::new();
        for application in applications {
            let merged = preview::merge(&application, beside, all);
            used.iter_mut().zip(&merged.used).for_each(|(used, more)| *used |= more);
            match preview::steps(&merged.application) {
                Ok(steps) if steps.is_empty() => shown.parts.push((merged.application, String::new())),
                Ok(steps) => shown.add(merged.application, steps, screen),
                Err(found) => failures.push(Failure::from(found)),
            }
        }
        for (document, _) in beside.iter().zip(&used).filter(|(_, used)| !**used) {
            let title = document.title();
            screen.say(&format!(
                "{title} is passed over: no application names it; --merge takes in what fits."
            ));
        }
        Failure::all(failures).map_or(Ok(shown), Err)
    }

    fn add(&mut self, application: Document, steps: Vec<PreviewStep>, screen: &mut Screen) {
        for step in steps {
            let PreviewStep { name, type_, policies, application } = step;
            let Some(application) = application else {
                screen.say(&format!(
                    "Step {name:?} ({type_}) is passed over: what it makes is known when it runs."
                ));
                continue;
            };
            let by = if policies.is_empty() { String::new() } else { format!(": {}", policies.join(", ")) };
            self.parts.push((application, format!("# Step {name} ({type_}){by}\n")));
        }
        self.by_step.push(application);
    }

    fn applications(&self) -> Vec<Document> {
        self.parts.iter().map(|(application, _)| application.clone()).collect()
    }
}

fn show(shown: &Shown, rendered: RenderedAll, format: Format, screen: &mut Screen) -> Result<()> {
    let (rendered, workflows) = rendered;
    let (warnings, will_not_run) = offline::warnings(&rendered, &shown.origins);
    let mut said: Vec<String> = Vec::new();
    // Each step tells again what is doubtful about a component.
    for warning in workflows.warnings.into_iter().chain(warnings) {
        if !said.contains(&warning) {
            screen.say(&warning);
            said.push(warning);
        }
    }
    print(shown, &rendered, format, screen)?;
    let failure = match (workflows.will_not_run, will_not_run) {
        (Some(failure), _) => failure.closing("What its steps would make is shown all the same.".to_owned()),
        (None, Some(failure)) => failure.closing("The objects are shown without these parts.".to_owned()),
        (None, None) => return Ok(()),
    };
    Err(failure)
}

fn print(shown: &Shown, rendered: &[Rendered], format: Format, screen: &mut Screen) -> Result<()> {
    if let Format::Json | Format::JsonPath(_) = format {
        let lists = rendered.iter().map(dry_run::list);
        let items: Vec<Value> =
            lists.filter_map(|list| list.get("items").and_then(Value::as_array).cloned()).flatten().collect();
        return screen.data(format, &json!({"apiVersion": "v1", "kind": "List", "items": items}));
    }
    let parts = shown.parts.iter().zip(rendered);
    let text: String = parts.map(|((_, head), one)| format!("{head}{}", dry_run::text(one))).collect();
    screen.document(&text)
}
