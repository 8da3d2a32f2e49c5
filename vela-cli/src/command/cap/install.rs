//! `vela cap install` and `vela cap uninstall`: the definitions of a capability come into the cluster and go again.

use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_crds::labels::CAPABILITY_CENTER;
use vela_engine::nearest::advice;
use vela_engine::{DefinitionKind, Document};

use super::chart::{Chart, Helm};
use super::store::{self, Center};
use crate::appfile::Origins;
use crate::applications::{API_VERSION, enumerated};
use crate::args::{Capability, DefinitionType, Global, InstallCapability, UninstallCapability};
use crate::cluster::Cluster;
use crate::command::def::{self, Stored};
use crate::error::{Error, Failure, Result};
use crate::pointer::text;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};
use crate::{differences, offline};

pub(super) fn run(args: &InstallCapability, global: &Global, screen: &mut Screen) -> Result<()> {
    let Capability { center, name } = &args.capability;
    let all = store::all()?;
    let center = store::find(&all, center.as_deref().unwrap_or_default())?;
    let definitions = chosen(center, name, args.type_)?;
    block_on(async {
        let purpose = if args.dry_run { Purpose::Read } else { Purpose::Change };
        let session = Session::open_for_all(global, purpose, screen).await?;
        let helm = Helm::of(args.with_chart, &session, global);
        let installed = install(&session.cluster, center, &definitions, (args, helm.as_ref()), screen).await;
        let closed = session.close().await;
        Failure::all([installed, closed].into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
    })
}

/// Installs a capability of a centre where the cluster is opened, and replaces nothing that came from elsewhere.
pub(in crate::command) async fn install_of(
    cluster: &Cluster,
    center: &str,
    name: &str,
    screen: &mut Screen,
) -> Result<()> {
    let capability = Capability { center: Some(center.to_owned()), name: name.to_owned() };
    let args =
        InstallCapability { capability, type_: None, dry_run: false, overwrite: false, with_chart: false };
    let all = store::all()?;
    let center = store::find(&all, center)?;
    install(cluster, center, &chosen(center, name, None)?, (&args, None), screen).await
}

/// Deletes what a centre brought of this name, if no application uses it.
pub(in crate::command) async fn uninstall_of(
    cluster: &Cluster,
    name: &str,
    screen: &mut Screen,
) -> Result<()> {
    let capability = Capability { center: None, name: name.to_owned() };
    let args = UninstallCapability { capability, type_: None, yes: true, force: false, with_chart: false };
    uninstall(cluster, &args, None, screen).await
}

fn chosen<'a>(center: &'a Center, name: &str, type_: Option<DefinitionType>) -> Result<Vec<&'a Value>> {
    let wanted = type_.map(def::kind);
    let mut found = center.named(name);
    found.retain(|one| wanted.is_none_or(|wanted| store::kind(one) == Some(wanted)));
    if !found.is_empty() {
        return Ok(found);
    }
    let names = center.definitions.iter().map(|one| text(one, "/metadata/name"));
    let hint = advice(name, "capability", names);
    let error = Error::user(format!("the centre {} has no such capability: {name:?}", center.name));
    let sync = || format!("`vela cap center sync {}` reads it anew", center.name);
    Err(error.hint(hint.unwrap_or_else(sync)).into())
}

/// A definition of the centre, beside the one that has its place.
struct Step {
    kind: DefinitionKind,
    object: Value,
    before: Option<DynamicObject>,
}

impl Step {
    fn title(&self) -> String {
        format!("{} {}/{}", self.kind.kind(), text(&self.object, "/metadata/namespace"), self.name())
    }

    fn name(&self) -> &str {
        text(&self.object, "/metadata/name")
    }
}

async fn install(
    cluster: &Cluster,
    center: &Center,
    definitions: &[&Value],
    (args, helm): (&InstallCapability, Option<&Helm<'_>>),
    screen: &mut Screen,
) -> Result<()> {
    let objects: Vec<Value> =
        definitions.iter().map(|one| marked(one, &center.name, cluster.namespace())).collect();
    let documents: Vec<Document> = objects.iter().cloned().map(Document::from_object).collect();
    for warning in offline::check(cluster, &documents, &Origins::default(), true).await? {
        screen.say(&warning);
    }
    let mut steps = Vec::new();
    for object in objects {
        let Some(kind) = store::kind(&object) else { continue };
        let (namespace, name) = (Some(cluster.namespace()), text(&object, "/metadata/name"));
        let before = cluster.get(API_VERSION, kind.kind(), namespace, name).await?;
        steps.push(Step { kind, object, before });
    }
    // All that would be replaced is known before the first is.
    let taken = steps.iter().filter_map(|step| taken(step, &center.name)).map(Failure::from);
    if let Some(failure) = Failure::all(taken.collect()).filter(|_| !args.overwrite) {
        return Err(failure.closing("Nothing was written.".to_owned()));
    }
    if let Some(helm) = helm {
        for chart in helm.charts(steps.iter().map(|step| &step.object))? {
            match args.dry_run {
                true => {
                    screen.print(&format!("{chart} would be installed: `{}`", chart.command("install")))?
                }
                false => helm.install(&chart, screen)?,
            }
        }
    }
    for step in &steps {
        tell(cluster, step, args, screen).await?;
        if !args.dry_run {
            let (applied, _) = cluster.apply(&step.object, args.overwrite, false).await?;
            screen.say(&format!("{} {}", step.title(), applied.word()));
        }
    }
    let name = &args.capability.name;
    screen.say(&match args.dry_run {
        true => "Nothing was written.".to_owned(),
        false => {
            format!("The capability {name} of {} is installed; `vela show {name}` describes it.", center.name)
        }
    });
    Ok(())
}

/// The definition in the namespace, with the name of its centre.
fn marked(definition: &Value, center: &str, namespace: &str) -> Value {
    let mut object = definition.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.insert("namespace".to_owned(), json!(namespace));
        if let Some(labels) = metadata.entry("labels").or_insert_with(|| json!({})).as_object_mut() {
            labels.insert(CAPABILITY_CENTER.to_owned(), json!(center));
        }
    }
    object
}

/// Why the definition may not be written without being asked for.
fn taken(step: &Step, center: &str) -> Option<Error> {
    let before = step.before.as_ref()?;
    let from = match store::center_of(&json!(before)) {
        Some(from) if from == center => return None,
        Some(other) => format!("came from the centre {other}"),
        None => "did not come from a centre".to_owned(),
    };
    let error = Error::user(format!("{} is there already and {from}", step.title()));
    Some(error.hint("--dry-run --overwrite shows what would change, --overwrite replaces it"))
}

/// Says what is about to be done, and to whom.
async fn tell(cluster: &Cluster, step: &Step, args: &InstallCapability, screen: &mut Screen) -> Result<()> {
    if let Some(chart) = Chart::of(&step.object).filter(|_| !args.with_chart) {
        screen.say(&match chart {
            Ok(chart) => format!(
                "{} needs {chart}; --with-chart installs it: `{}`",
                step.title(),
                chart.command("install")
            ),
            Err(error) => error.message,
        });
    }
    let Some(before) = &step.before else {
        if args.dry_run {
            cluster.apply(&step.object, args.overwrite, true).await?;
            screen.print(&format!("{} would be created", step.title()))?;
        }
        return Ok(());
    };
    let (_, after) = cluster.apply(&step.object, args.overwrite, true).await?;
    let found = differences::between(&shown(before), &shown(&after));
    if found.is_empty() {
        return if args.dry_run {
            screen.print(&format!("{} would stay as it is", step.title()))
        } else {
            Ok(())
        };
    }
    screen.print(&format!("{} changes:\n{}", step.title(), differences::render(&found)))?;
    let users = def::users_of(cluster, step.kind, cluster.namespace(), step.name()).await?;
    if !users.is_empty() {
        screen.say(&format!("{} is used by {}.", step.title(), enumerated(&users)));
    }
    Ok(())
}

/// What people wrote of an object.
fn shown(object: &DynamicObject) -> Value {
    let object = json!(object);
    let metadata = &object["metadata"];
    json!({"spec": object["spec"], "metadata": {"labels": metadata["labels"], "annotations": metadata["annotations"]}})
}

pub(super) fn remove(args: &UninstallCapability, global: &Global, screen: &mut Screen) -> Result<()> {
    block_on(async {
        let session = Session::open_for_all(global, Purpose::Change, screen).await?;
        let helm = Helm::of(args.with_chart, &session, global);
        let removed = uninstall(&session.cluster, args, helm.as_ref(), screen).await;
        let closed = session.close().await;
        Failure::all([removed, closed].into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
    })
}

async fn uninstall(
    cluster: &Cluster,
    args: &UninstallCapability,
    helm: Option<&Helm<'_>>,
    screen: &mut Screen,
) -> Result<()> {
    let Capability { center, name } = &args.capability;
    let mut found = Vec::new();
    let mut others = Vec::new();
    for kind in def::KINDS {
        let is_wanted = args.type_.is_none_or(|type_| def::kind(type_) == kind);
        if !is_wanted || !cluster.knows(API_VERSION, kind.kind()).await? {
            continue;
        }
        let Some(object) = cluster.get(API_VERSION, kind.kind(), Some(cluster.namespace()), name).await?
        else {
            continue;
        };
        let stored = Stored { kind, object: json!(object) };
        let from = store::center_of(&stored.object);
        match from.is_some() && (center.is_none() || center.as_deref() == from) {
            true => found.push(stored),
            false => others.push(stored.title(cluster.namespace())),
        }
    }
    if found.is_empty() {
        return Err(not_installed(cluster, args, &others).into());
    }
    let wanted = found.iter().map(|stored| &stored.object);
    let charts = helm.map_or_else(|| Ok(Vec::new()), |helm| helm.charts(wanted))?;
    for stored in found {
        let title = stored.title(cluster.namespace());
        let left = Chart::of(&stored.object).and_then(std::result::Result::ok).filter(|_| !args.with_chart);
        def::delete(cluster, stored, &def::Ask { yes: args.yes, force: args.force }, screen).await?;
        screen.say(&format!("{title} deleted"));
        if let Some(chart) = left {
            screen.say(&format!("Where {chart} was installed, it stays: `{}`", chart.command("uninstall")));
        }
    }
    // What used it is gone by now.
    let Some(helm) = helm else { return Ok(()) };
    charts.iter().try_for_each(|chart| helm.uninstall(chart, screen))
}

fn not_installed(cluster: &Cluster, args: &UninstallCapability, others: &[String]) -> Error {
    let Capability { center, name } = &args.capability;
    let of = center
        .as_ref()
        .map_or_else(|| "a capability centre".to_owned(), |center| format!("the centre {center}"));
    let error = Error::user(format!("{name:?} of {of} is not installed in {}", cluster.place()));
    match others {
        [] => error.hint("`vela cap ls` says what is; -n names another namespace"),
        others => {
            error.hint(format!("{} came from elsewhere: `vela def del {name}` deletes it", others.join(", ")))
        }
    }
}
