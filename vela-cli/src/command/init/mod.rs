//! `vela init`: writes the file of an application with one component, by flags and by questions on a terminal.

mod properties;
mod questions;

pub(super) use self::properties::typed;

use serde_json::{Value, json};
use vela_engine::nearest::advice;
use vela_engine::parameters::{Parameter, parameters};
use vela_engine::{ClusterVersion, Definition, DefinitionKind, Document, dry_run, names};
use vela_snapshot::{Reader, Source};

use crate::applications::{API_VERSION, KIND};
use crate::args::{Global, Init};
use crate::error::{Error, Failure, Result};
use crate::offline::RenderInputs;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on, block_on_threads};
use crate::{input, new_file, offline, prompt, terminal};

/// What most applications begin with.
const USUAL_TYPE: &str = "webservice";
/// How often a person is asked again after an answer that cannot be taken.
const MOST_TRIES: usize = 5;

pub(crate) fn run(args: &Init, global: &Global, screen: &mut Screen) -> Result<()> {
    if !args.render_only {
        // Told before the questions, not behind them.
        new_file::must_be_free(&args.output)?;
    }
    let documents =
        if args.definitions.is_empty() { Vec::new() } else { input::read_definitions(&args.definitions)? };
    let documents: Vec<&Document> = documents.iter().filter(|one| offline::is_definition(one)).collect();
    let text = if args.offline {
        let namespace = offline::namespace(global, screen)?;
        let reader = offline::built_in(ClusterVersion::newest(), &documents)?;
        block_on(made(&reader, &namespace, args, |error| offline::unread(None, error), screen))?
    } else {
        let work = async {
            let session = Session::open(global, Purpose::Read, screen).await?;
            let made = async {
                if terminal::is_there() {
                    // Questions take their time, which other commands need not wait for.
                    session.share().await?;
                }
                let cluster = &session.cluster;
                let reader = offline::of_cluster(cluster, &documents).await?;
                let unread = |error| offline::unread(Some(cluster), error);
                made(&reader, cluster.namespace(), args, unread, screen).await
            }
            .await;
            session.close().await?;
            made
        };
        if terminal::is_there() { block_on_threads(work)? } else { block_on(work)? }
    };
    if args.render_only {
        return screen.document(&text);
    }
    new_file::write(&args.output, &text)?;
    let path = args.output.display();
    screen.say(&format!(
        "{path} is written: `vela dry-run {path}` shows what it makes, `vela up {path}` runs it."
    ));
    Ok(())
}

/// The text of the file, of an application that a dry run takes.
async fn made<S: Source>(
    reader: &Reader<S>,
    namespace: &str,
    args: &Init,
    unread: impl Fn(vela_snapshot::Error) -> Failure,
    screen: &mut Screen,
) -> Result<String> {
    let kinds = [DefinitionKind::Component, DefinitionKind::Workload];
    let snapshot = reader.all_definitions(namespace, &kinds).await.map_err(&unread)?;
    let mut known: Vec<&Definition> = snapshot
        .definitions()
        .map(AsRef::as_ref)
        .filter(|one| one.kind() == DefinitionKind::Component)
        .collect();
    known.sort_by_key(|one| one.name());
    let asks = terminal::is_there();
    let name = match &args.name {
        Some(name) => name.clone(),
        None if asks => asked_name(screen)?,
        None => {
            let error = Error::user("the application has no name");
            return Err(error
                .hint("write `vela init NAME`; on a terminal, vela asks for what is missing")
                .into());
        }
    };
    let type_ = match &args.type_ {
        Some(type_) => type_.clone(),
        None if asks => asked_type(&known, screen)?,
        None => USUAL_TYPE.to_owned(),
    };
    let schema = parameters(chosen(&known, &type_)?).root;
    let properties = filled(&type_, &schema, args, asks, screen)?;
    let component = match properties.as_object().is_some_and(serde_json::Map::is_empty) {
        true => json!({"name": name, "type": type_}),
        false => json!({"name": name, "type": type_, "properties": properties}),
    };
    let object = json!({
        "apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": {"components": [component]},
    });
    let text = dry_run::yaml(&object);
    let application = Document::from_object(object).in_namespace(namespace);
    let inputs = RenderInputs::read(reader, vec![application], &[], &unread).await?;
    offline::render(inputs, true).map_err(|failure| {
        failure.closing(format!("No file was written; `vela show {type_}` describes the parameters."))
    })?;
    Ok(text)
}

fn filled(type_: &str, schema: &Parameter, args: &Init, asks: bool, screen: &mut Screen) -> Result<Value> {
    let mut properties = properties::of_flags(type_, schema, args)?;
    if asks {
        questions::ask(schema, &mut properties, screen)?;
    }
    let missing: Vec<&str> =
        properties::missing(schema, &properties).into_iter().map(|one| one.name.as_str()).collect();
    if missing.is_empty() {
        return Ok(properties);
    }
    let give = |name: &&str| {
        if *name == "image" { "--image IMAGE".to_owned() } else { format!("--set {name}=VALUE") }
    };
    let flags: Vec<String> = missing.iter().map(give).collect();
    let error = Error::user(format!("a component of the type {type_} needs {}", missing.join(", ")));
    Err(error.hint(format!("add {}", flags.join(" "))).into())
}

fn chosen<'a>(known: &[&'a Definition], type_: &str) -> Result<&'a Definition> {
    // A version of the type has the parameters of the type, as far as is known before it is rendered.
    let name = type_.split('@').next().unwrap_or(type_);
    known.iter().copied().find(|one| one.name() == name).ok_or_else(|| {
        let hint = advice(name, "type", known.iter().map(|one| one.name()));
        let error = Error::user(format!("there is no type {name:?} of components"));
        error.hint(hint.unwrap_or_else(|| "`vela show` lists all types".to_owned())).into()
    })
}

fn asked_name(screen: &mut Screen) -> Result<String> {
    for _ in 0..MOST_TRIES {
        let name = prompt::line("Name of the application:", screen)?;
        if names::is_subdomain(&name) {
            return Ok(name);
        }
        screen.say("A name has lower-case letters, digits, '-' and '.' only.");
    }
    Err(Error::user("the application has no name").into())
}

fn asked_type(known: &[&Definition], screen: &mut Screen) -> Result<String> {
    let all: Vec<&str> = known.iter().map(|one| one.name()).collect();
    let question = format!("Type of its component ({}) [{USUAL_TYPE}]:", all.join(", "));
    for _ in 0..MOST_TRIES {
        let typed = prompt::line(&question, screen)?;
        let type_ = if typed.is_empty() { USUAL_TYPE } else { &typed };
        match chosen(known, type_) {
            Ok(_) => return Ok(type_.to_owned()),
            Err(failure) => screen.failure(&failure),
        }
    }
    Err(Error::user("no type was chosen").into())
}
