//! The flags of `vela install` that are values of the chart → the objects of each selection of them.

use clap::Parser as _;
use serde_json::Value;

use super::super::{asked, needs, objects as printed};
use super::texts;
use crate::args::{Command, Vela};
use crate::installation::record::Id;

/// A selection: a bit for each choice.
pub(super) type Mask = u32;

/// A flag that is a value.
pub(super) struct Choice {
    /// What is typed.
    pub(super) words: &'static [&'static str],
    /// When it is chosen, as a template says it.
    pub(super) condition: &'static str,
    /// The flag without which it is refused.
    needs: Option<&'static str>,
}

const fn choice(
    words: &'static [&'static str],
    condition: &'static str,
    needs: Option<&'static str>,
) -> Choice {
    Choice { words, condition, needs }
}

/// Every choice, after the one that it needs.
pub(super) const CHOICES: [Choice; 16] = [
    choice(&["--controller-image", texts::IMAGE], ".Values.controller.image", None),
    choice(&["--webhooks"], ".Values.webhooks.enabled", Some("--controller-image")),
    choice(&["--authenticate-application"], ".Values.webhooks.authenticateApplication", Some("--webhooks")),
    choice(&["--trait-injector"], ".Values.webhooks.traitInjector", Some("--webhooks")),
    choice(&["--allow-cross-namespace"], ".Values.allowCrossNamespace", None),
    choice(&["--allow-granting-rights"], ".Values.allowGrantingRights", None),
    choice(&["--grant", "secrets"], ".Values.grant.secrets", None),
    choice(&["--grant", "pods"], ".Values.grant.pods", None),
    choice(&["--grant", "endpoints"], ".Values.grant.endpoints", None),
    choice(&["--grant", "logs"], ".Values.grant.logs", None),
    choice(&["--dapr"], ".Values.dapr.enabled", None),
    choice(&["--dapr-image", texts::DAPR_IMAGE], ".Values.dapr.image", Some("--dapr")),
    choice(
        &["--dapr-sidecar-image", texts::SIDECAR_IMAGE],
        ".Values.dapr.sidecarImage",
        Some("--dapr-image"),
    ),
    choice(&["--dapr-jwt-issuer", texts::JWT_ISSUER], ".Values.dapr.jwtIssuer", Some("--dapr-image")),
    choice(&["--harbor"], ".Values.harbor.enabled", None),
    choice(&["--harbor-image", texts::HARBOR_IMAGE], ".Values.harbor.image", Some("--harbor")),
];

/// All of them.
pub(super) const ALL: Mask = (1 << CHOICES.len()) - 1;

/// The choice of a flag.
pub(super) fn find(flag: &str) -> usize {
    let found = CHOICES.iter().position(|choice| choice.words[0] == flag);
    found.unwrap_or_else(|| unreachable!("{flag} is no choice"))
}

/// The selection with everything that it needs.
pub(super) fn closed(mask: Mask) -> Mask {
    let mut mask = mask;
    for (index, choice) in CHOICES.iter().enumerate().rev() {
        if let Some(needed) = choice.needs.filter(|_| mask & (1 << index) != 0) {
            mask |= 1 << find(needed);
        }
    }
    mask
}

/// Is nothing missing that a choice of it needs?
pub(super) fn is_valid(mask: Mask) -> bool {
    closed(mask) == mask
}

/// What is printed for a selection.
pub(super) fn objects(mask: Mask) -> Vec<Value> {
    let chosen = CHOICES.iter().enumerate().filter(|(index, _)| mask & (1 << index) != 0);
    let words: Vec<&str> = chosen.flat_map(|(_, choice)| choice.words).copied().collect();
    let mut objects = objects_of(texts::NAMESPACE, &words);
    // Helm makes the namespace of a release, or finds it; a chart that has it is refused then.
    objects.retain(|object| Id::of(object).name != texts::NAMESPACE);
    objects
}

/// What is printed for the words behind `vela install`, in a system namespace.
pub(super) fn objects_of(home: &str, words: &[&str]) -> Vec<Value> {
    let words = ["vela", "install", "--print"].iter().chain(words);
    let Command::Install(args) = Vela::try_parse_from(words).unwrap().command else {
        unreachable!("install is what was typed")
    };
    printed(&args, home, needs(&args), &asked(&args)).unwrap()
}
