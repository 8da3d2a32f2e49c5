//! Harbor → its parts as objects of their own kinds, and what they need: secrets, certificates, Ingresses, network policies.

mod certificates;
mod components;
mod optional;
mod routes;
mod secrets;
mod stack;
mod storage;

use super::node::Node;
use super::settings::Settings;
use crate::error::Error;
use crate::owner::Owner;
use stack::Stack;

pub(super) fn children(owner: &Owner, settings: &Settings) -> Result<Vec<Node>, Error> {
    owner.spec("version").text()?;
    let name = owner.child("harbor")?;
    let stack = Stack { owner, settings, name, tls: owner.spec("internalTLS.enabled").flag()? };
    // The longest name of all: a mistake is said before anything is written.
    stack.part("notarysigner-authentication")?;
    let mut nodes = secrets::children(&stack)?;
    nodes.extend(certificates::children(&stack)?);
    nodes.push(components::registry(&stack)?);
    nodes.push(components::registry_controller(&stack)?);
    nodes.push(components::core(&stack)?);
    nodes.push(components::job_service(&stack)?);
    nodes.extend(optional::children(&stack)?);
    nodes.extend(routes::policies(&stack)?);
    nodes.extend(routes::ingresses(&stack)?);
    Ok(nodes)
}
