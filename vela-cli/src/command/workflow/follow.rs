//! Waits for an application whose workflow was steered, as `vela up` waits.

use kube::api::DynamicObject;

use crate::args::Followed;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::screen::Screen;
use crate::wait::{self, Awaited};

/// Until the application runs, rests or has failed; not at all with `--no-wait`. `before` is what it was before it
/// was written, where more than its status was.
pub(super) async fn follow(
    cluster: &Cluster,
    written: &DynamicObject,
    before: Option<&DynamicObject>,
    followed: &Followed,
    screen: &mut Screen,
) -> Result<()> {
    match followed.no_wait {
        true => Ok(()),
        false => {
            wait::running(cluster, &[Awaited::published(written, before)], followed.timeout, screen).await
        }
    }
}
