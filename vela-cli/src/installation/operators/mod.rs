//! The operators that `vela install` brings where a flag asks for them: those of Dapr and of Harbor.

mod dapr;
mod harbor;
mod operator;
mod presence;

pub(crate) use self::dapr::{DAPR, sidecars, tokens};
pub(crate) use self::harbor::HARBOR;
pub(crate) use self::operator::{Operator, Run};
pub(crate) use self::presence::{is_of, lease, refuse_others, superseded, take_made, take_registration};

/// Every operator.
pub(crate) const OPERATORS: [&Operator; 2] = [&DAPR, &HARBOR];
