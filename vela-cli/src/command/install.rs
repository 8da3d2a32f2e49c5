//! `vela install`: a cluster in; it understands applications afterwards, and runs them when an image is given.

use crate::args::{Format, Global, Install};
use crate::error::{Error, Failure, Result};
use crate::installation::{self, webhooks};
use crate::screen::{Screen, data};
use crate::session::{Purpose, Session, block_on};

pub(crate) fn run(args: &Install, global: &Global, screen: &mut Screen) -> Result<()> {
    let mut objects = installation::objects()?;
    objects.extend(installation::access());
    if let Some(image) = &args.controller_image {
        if image.trim().is_empty() {
            return Err(Error::user("--controller-image is empty")
                .hint("name the image of vela-core")
                .into());
        }
        objects.extend(installation::controller(image, args.webhooks, args.authenticate_application));
    }
    if args.authenticate_application {
        if !args.webhooks && args.webhook_url.is_none() {
            return Err(Error::user("--authenticate-application needs --webhooks or --webhook-url")
                .hint("only admission knows who writes an application")
                .into());
        }
        objects.extend(installation::on_behalf());
    }
    if args.webhooks && args.controller_image.is_none() {
        return Err(Error::user("--webhooks needs --controller-image")
            .hint("without a controller in the cluster, give the address of one with --webhook-url")
            .into());
    }
    let server = match &args.webhook_url {
        Some(url) => Some(webhooks::outside(url)?),
        None => args.webhooks.then(webhooks::in_cluster),
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
        if args.trait_injector {
            objects.push(webhooks::trait_injector(server));
        }
    }
    if args.print {
        let documents =
            objects.iter().map(|object| data(Format::Yaml, object)).collect::<Result<Vec<_>>>()?;
        return screen.document(&documents.join("---\n"));
    }
    block_on(async {
        let session = Session::open(global, Purpose::Read, screen).await?;
        let done = installation::apply(&session.cluster, &objects, |line| screen.say(&line)).await;
        let closed = session.close().await;
        if let Some(failure) = Failure::all([done, closed].into_iter().filter_map(Result::err).collect()) {
            return Err(failure);
        }
        screen.say(&format!("{} objects are as they should be.", objects.len()));
        if args.controller_image.is_none() {
            screen.say(
                "No --controller-image was given: run vela-core yourself, best as the ServiceAccount vela-system/vela-core, or nothing \
                 acts on applications.",
            );
        }
        Ok(())
    })
}
