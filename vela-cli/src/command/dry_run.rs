//! `vela dry-run`: prints the objects that applications would become; writes nothing anywhere.

use serde_json::{Value, json};
use vela_engine::render::Rendered;
use vela_engine::{Bounds, Document, dry_run};

use crate::args::{DryRun, Format, Global};
use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::offline::RenderInputs;
use crate::screen::{Screen, data};
use crate::session::{Purpose, Session, block_on};
use crate::{input, offline};

pub(crate) fn run(args: &DryRun, global: &Global, screen: &mut Screen) -> Result<()> {
    // Both are read before either is refused, so that the errors of all files come together.
    let (documents, definitions) = (input::read(&args.files), input::read_definitions(&args.definitions));
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
    let (applications, others): (Vec<_>, Vec<_>) = documents.into_iter().partition(offline::is_application);
    let (more, others): (Vec<_>, Vec<_>) = others.into_iter().partition(offline::is_definition);
    // Those of folders are a library: what is wrong with one matters where it is used.
    let library = definitions.len();
    definitions.extend(more);
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
        let namespace = global.namespace.as_deref().unwrap_or("default");
        let reader = offline::built_in(&definitions)?.within(bounds);
        let applications = within(applications, namespace);
        let inputs = block_on(RenderInputs::read(&reader, applications, judged, |error| {
            offline::unread(None, error)
        }))?;
        return show(&offline::render(inputs, args.strict)?, args.output, screen);
    }
    block_on(async {
        let session = Session::open(global, Purpose::Read, screen).await?;
        let applications = within(applications, session.cluster.namespace());
        let rendered =
            render(&session.cluster, applications, (&definitions[..], judged), bounds, args.strict).await;
        session.close().await?;
        show(&rendered?, args.output, screen)
    })
}

async fn render(
    cluster: &Cluster,
    applications: Vec<Document>,
    (definitions, judged): (&[&Document], &[&Document]),
    bounds: Bounds,
    strict: bool,
) -> Result<Vec<Rendered>> {
    let reader = offline::of_cluster(cluster, definitions).await?.within(bounds);
    let inputs =
        RenderInputs::read(&reader, applications, judged, |error| offline::unread(Some(cluster), error))
            .await?;
    offline::succeeded(cluster, offline::render(inputs, strict)?).await
}

fn within(applications: Vec<Document>, namespace: &str) -> Vec<Document> {
    applications.iter().map(|document| offline::in_namespace(document, namespace)).collect()
}

fn show(rendered: &[Rendered], format: Format, screen: &mut Screen) -> Result<()> {
    let (warnings, will_not_run) = offline::warnings(rendered);
    for warning in warnings {
        screen.say(&warning);
    }
    print(rendered, format, screen)?;
    will_not_run.map_or(Ok(()), |failure| {
        Err(failure.closing("The objects are shown without these parts.".to_owned()))
    })
}

fn print(rendered: &[Rendered], format: Format, screen: &mut Screen) -> Result<()> {
    if format == Format::Json {
        let lists = rendered.iter().map(dry_run::list);
        let items: Vec<Value> =
            lists.filter_map(|list| list.get("items").and_then(Value::as_array).cloned()).flatten().collect();
        return screen.print(&data(format, &json!({"apiVersion": "v1", "kind": "List", "items": items}))?);
    }
    screen.document(&rendered.iter().map(dry_run::text).collect::<String>())
}
