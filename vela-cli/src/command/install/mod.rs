//! `vela install`: prepares a cluster for applications, and runs the controller and other operators there where an image
//! or a place is given.

#[cfg(test)]
mod chart;
mod leftovers;
mod upgrade;

use serde_json::Value;
use vela_core::access::{ACCOUNT, Needs};
use vela_core::options::Bounds;
use vela_core::{Controllers, LeaseConfig, Options, Process, Stop};
use vela_engine::bounds::{ALLOW_CROSS_NAMESPACE, ALLOW_GRANTING_RIGHTS};

use self::upgrade::Wanted;
use super::stop::stop_asked;
use crate::args::{Format, Global, Grant, Install};
use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::installation::operators::{self, DAPR, HARBOR, Operator, Run};
use crate::installation::{self, webhooks};
use crate::screen::{Screen, data};
use crate::session::{Purpose, Session, block_on, block_on_threads};
use crate::system_namespace::{self, USUAL};

const AUTHENTICATE: &str = "--authenticate-application";

pub(crate) fn run(args: &Install, global: &Global, screen: &mut Screen) -> Result<()> {
    let needs = needs(args);
    let asked = asked(args);
    let named = system_namespace::named(global)?;
    // What is wrong with the flags is told before any cluster is asked.
    let objects = objects(args, named.as_deref().unwrap_or(USUAL), needs, &asked)?;
    if args.print {
        let documents =
            objects.iter().map(|object| data(Format::Yaml, object)).collect::<Result<Vec<_>>>()?;
        return screen.document(&documents.join("---\n"));
    }
    match args.controller {
        // Its requests go on beside each other, as those of a controller in a cluster do.
        Some(_) => block_on_threads(install(args, needs, &asked, global, screen)),
        None => block_on(install(args, needs, &asked, global, screen)),
    }
}

fn needs(args: &Install) -> Needs {
    Needs {
        webhooks: args.webhooks || args.webhook_url.is_some(),
        behalf: args.authenticate_application,
        secrets: args.grant.contains(&Grant::Secrets),
        pods: args.grant.contains(&Grant::Pods),
        endpoints: args.grant.contains(&Grant::Endpoints),
        logs: args.grant.contains(&Grant::Logs),
    }
}

/// An operator that the flags ask for, and how it runs in the cluster where they say so.
type Asked<'a> = (&'static Operator, Option<Run<'a>>);

fn asked(args: &Install) -> Vec<Asked<'_>> {
    let sidecars = args.dapr_sidecar_image.as_deref().map(operators::sidecars).unwrap_or_default();
    let tokens = args.dapr_jwt_issuer.as_deref().map(operators::tokens).unwrap_or_default();
    let dapr = [sidecars, tokens].concat();
    [(args.dapr, &DAPR, &args.dapr_image, dapr), (args.harbor, &HARBOR, &args.harbor_image, Vec::new())]
        .into_iter()
        .filter(|(asked, ..)| *asked)
        .map(|(_, operator, image, more)| (operator, image.as_deref().map(|image| Run { image, more })))
        .collect()
}

fn image_is_named(flag: &str, image: &str, program: &str) -> Result<()> {
    if image.trim().is_empty() {
        return Err(Error::user(format!("{flag} is empty"))
            .hint(format!("name the image of {program}"))
            .into());
    }
    Ok(())
}

/// As OpenID Connect has it, and vela-dapr takes it.
fn is_issuer(issuer: &str) -> bool {
    let address = issuer.strip_prefix("https://").filter(|rest| !rest.is_empty() && !rest.starts_with('/'));
    address.is_some_and(|rest| !rest.contains(['?', '#', '@']) && !rest.contains(char::is_whitespace))
}

/// Everything that these flags ask for in the system namespace `home`, in the order it is applied.
fn objects(args: &Install, home: &str, needs: Needs, asked: &[Asked<'_>]) -> Result<Vec<Value>> {
    let mut objects = installation::objects(home)?;
    objects.extend(installation::access(home, needs));
    if let Some(image) = &args.dapr_sidecar_image {
        image_is_named("--dapr-sidecar-image", image, "daprd, such as ghcr.io/dapr/daprd:1.18.3")?;
    }
    if let Some(issuer) = args.dapr_jwt_issuer.as_deref().filter(|issuer| !is_issuer(issuer)) {
        let error = Error::user(format!("--dapr-jwt-issuer {issuer:?} is no issuer of tokens"));
        return Err(error.hint("give an address like https://dapr.example.com, without ? and #").into());
    }
    for (operator, run) in asked {
        if let Some(run) = run {
            image_is_named(operator.image_flag, run.image, operator.name)?;
        }
        objects.extend(operator.objects(run.as_ref(), needs.behalf)?);
    }
    if let Some(image) = &args.controller_image {
        image_is_named("--controller-image", image, "vela-core")?;
        let flags = [
            (args.authenticate_application, AUTHENTICATE),
            (args.allow_cross_namespace, ALLOW_CROSS_NAMESPACE),
            (args.allow_granting_rights, ALLOW_GRANTING_RIGHTS),
        ];
        let flags: Vec<&str> = flags.into_iter().filter(|(asked, _)| *asked).map(|(_, flag)| flag).collect();
        objects.extend(installation::controller(home, image, args.webhooks, &flags));
    }
    if args.authenticate_application && !needs.webhooks {
        return Err(Error::user("--authenticate-application needs --webhooks or --webhook-url")
            .hint("only admission knows who writes an application")
            .into());
    }
    if args.webhooks && args.controller_image.is_none() {
        return Err(Error::user("--webhooks needs --controller-image")
            .hint("without a controller in the cluster, give the address of one with --webhook-url")
            .into());
    }
    let server = match &args.webhook_url {
        Some(url) => Some(webhooks::outside(home, url)?),
        None => args.webhooks.then(|| webhooks::in_cluster(home)),
    };
    if server.is_none() && (args.trait_injector || args.webhook_conversion) {
        return Err(Error::user("--trait-injector and --webhook-conversion need a webhook server")
            .hint("add --webhooks, or --webhook-url with the address of a vela-core outside the cluster")
            .into());
    }
    if let Some(server) = &server {
        if args.webhook_conversion {
            webhooks::convert(&mut objects, server);
        }
        // Last: from then on what the controller refuses is not written.
        objects.extend(webhooks::configurations(server));
        if args.authenticate_application {
            objects.extend(webhooks::authors(server));
        }
        if args.trait_injector {
            objects.push(webhooks::trait_injector(server));
        }
    }
    Ok(objects)
}

async fn install(
    args: &Install,
    needs: Needs,
    asked: &[Asked<'_>],
    global: &Global,
    screen: &mut Screen,
) -> Result<()> {
    let session = Session::open_anywhere(global, Purpose::Read, screen).await?;
    let done = install_in(&session, args, needs, asked, screen).await;
    let closed = session.close().await;
    Failure::all([done, closed].into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
}

async fn install_in(
    session: &Session,
    args: &Install,
    needs: Needs,
    asked: &[Asked<'_>],
    screen: &mut Screen,
) -> Result<()> {
    let home = if session.is_sandbox() { USUAL } else { installation::home(&session.cluster).await? };
    let objects = objects(args, home, needs, asked)?;
    if args.controller.is_some() && session.is_sandbox() {
        return Err(Error::user("the sandbox runs its own controllers")
            .hint("`vela up` starts them, and `vela sandbox run` keeps them running")
            .into());
    }
    for (operator, _) in asked {
        operators::refuse_others(&session.cluster, operator, &objects).await?;
    }
    let mut superseded = installation::superseded(&session.cluster, needs).await?;
    for (operator, run) in asked {
        if let Some(run) = run {
            superseded.extend(operators::superseded(&session.cluster, operator, run).await?);
        }
    }
    let (reset_definitions, dry_run) = (args.reset_definitions, args.dry_run);
    let wanted = Wanted { objects: &objects, superseded, flags: flags(args), reset_definitions, dry_run };
    upgrade::run(&session.cluster, &wanted, screen).await?;
    if args.dry_run {
        return Ok(());
    }
    missing_images(args, asked, screen);
    if args.controller.is_some() {
        return control(&session.cluster, home, args, screen).await;
    }
    if args.controller_image.is_none() {
        let there = match home == USUAL {
            true => String::new(),
            false => format!(", outside a pod of that namespace with --system-definition-namespace={home}"),
        };
        screen.say(&format!(
            "No --controller-image was given: run vela-core yourself, best as the ServiceAccount {home}/{ACCOUNT}{there}; run \
             `vela install --controller local`, or nothing acts on applications.",
        ));
    }
    Ok(())
}

/// The flags that decide what is installed, as the record of the installation remembers them.
fn flags(args: &Install) -> Vec<String> {
    let flags = [
        (args.controller_image.is_some(), "--controller-image"),
        (args.webhooks, "--webhooks"),
        (args.webhook_url.is_some(), "--webhook-url"),
        (args.authenticate_application, AUTHENTICATE),
        (args.allow_cross_namespace, ALLOW_CROSS_NAMESPACE),
        (args.allow_granting_rights, ALLOW_GRANTING_RIGHTS),
        (args.grant.contains(&Grant::Secrets), "--grant=secrets"),
        (args.grant.contains(&Grant::Pods), "--grant=pods"),
        (args.grant.contains(&Grant::Endpoints), "--grant=endpoints"),
        (args.grant.contains(&Grant::Logs), "--grant=logs"),
        (args.trait_injector, "--trait-injector"),
        (args.webhook_conversion, "--webhook-conversion"),
        (args.dapr, "--dapr"),
        (args.dapr_image.is_some(), "--dapr-image"),
        (args.dapr_sidecar_image.is_some(), "--dapr-sidecar-image"),
        (args.dapr_jwt_issuer.is_some(), "--dapr-jwt-issuer"),
        (args.harbor, "--harbor"),
        (args.harbor_image.is_some(), "--harbor-image"),
    ];
    flags.into_iter().filter(|(asked, _)| *asked).map(|(_, flag)| flag.to_owned()).collect()
}

/// Tells what does not run for want of an image.
fn missing_images(args: &Install, asked: &[Asked<'_>], screen: &mut Screen) {
    for (operator, _) in asked.iter().filter(|(_, run)| run.is_none()) {
        screen.say(&operator.without_image());
    }
    if args.dapr_image.is_some() && args.dapr_sidecar_image.is_none() {
        screen.say(
            "No --dapr-sidecar-image was given: vela-dapr adds no sidecars to pods. Name that of Dapr, such as \
             ghcr.io/dapr/daprd:1.18.3, or add the containers yourself.",
        );
    }
}

/// The controllers in this process, until a user stops it.
async fn control(cluster: &Cluster, home: &str, args: &Install, screen: &mut Screen) -> Result<()> {
    let stop = Stop::new();
    let bounds =
        Bounds { own_namespace: !args.allow_cross_namespace, no_rights: !args.allow_granting_rights };
    let process = Process {
        options: Options { bounds, system_namespace: home.to_owned(), ..Options::default() },
        lease: Some(LeaseConfig {
            namespace: home.to_owned(),
            name: ACCOUNT.to_owned(),
            identity: identity(),
        }),
        stop: stop.clone(),
        ..Process::default()
    };
    screen.say("The controller runs here, with the rights of this kubeconfig. Ctrl-C stops it; what runs in the cluster stays.");
    let mut controllers = std::pin::pin!(Controllers::run(cluster.client().clone(), process));
    let ended = tokio::select! {
        ended = &mut controllers => ended,
        asked = stop_asked() => {
            stop.cancel();
            let ended = controllers.await;
            asked?;
            ended
        }
    };
    ended.map_err(|error| {
        let message = format!("the controllers stopped: {}", crate::target::causes(&error));
        Error::cluster(message).hint("VELA_LOG=info shows what they did").into()
    })
}

/// No other process has it: the host, the process and the moment of its start.
fn identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{}_vela-{}-{:x}", host.trim(), std::process::id(), now.as_nanos())
}
