//! Places of a kind where ours differs from the references by choice. Each choice stands in `docs/differences/`.

/// A choice: a version of a kind, a place in it (without positions in lists, `*` for any one name), and why.
struct Choice {
    kind: &'static str,
    version: &'static str,
    place: &'static str,
    #[expect(dead_code, reason = "the reason is for readers of the list")]
    why: &'static str,
}

const BOTH_SPELLINGS: &str = "both versions accept both spellings while no webhook converts them";
const SAME_IN_BOTH: &str = "versions without a conversion between them must have the same fields";

const FILLED_IN: &str = "filled in by a webhook, and by the controller where no webhook runs";

const CHOICES: [Choice; 14] = [
    Choice {
        kind: "Application",
        version: "v1alpha2",
        place: "spec.components.settings",
        why: BOTH_SPELLINGS,
    },
    Choice {
        kind: "Application",
        version: "v1alpha2",
        place: "spec.components.properties",
        why: BOTH_SPELLINGS,
    },
    Choice {
        kind: "ComponentDefinition",
        version: "v1alpha2",
        place: "spec.schematic.terraform.deleteResource",
        why: SAME_IN_BOTH,
    },
    Choice {
        kind: "TraitDefinition",
        version: "v1alpha2",
        place: "spec.schematic.terraform.deleteResource",
        why: SAME_IN_BOTH,
    },
    Choice {
        kind: "Application",
        version: "v1alpha2",
        place: "spec.components.traits.name",
        why: BOTH_SPELLINGS,
    },
    Choice {
        kind: "Application",
        version: "v1alpha2",
        place: "spec.components.traits.type",
        why: BOTH_SPELLINGS,
    },
    Choice {
        kind: "ApplicationRevision",
        version: "v1alpha2",
        place: "spec.componentDefinitions.*.spec.schematic.terraform.deleteResource",
        why: SAME_IN_BOTH,
    },
    Choice {
        kind: "ApplicationRevision",
        version: "v1alpha2",
        place: "spec.traitDefinitions.*.spec.schematic.terraform.deleteResource",
        why: SAME_IN_BOTH,
    },
    Choice {
        kind: "ApplicationRevision",
        version: "v1alpha2",
        place: "spec.workloadDefinitions.*.spec.schematic.terraform.deleteResource",
        why: SAME_IN_BOTH,
    },
    Choice { kind: "ComponentDefinition", version: "v1alpha2", place: "spec.workload", why: FILLED_IN },
    Choice { kind: "ComponentDefinition", version: "v1beta1", place: "spec.workload", why: FILLED_IN },
    Choice {
        kind: "ApplicationRevision",
        version: "v1alpha2",
        place: "spec.componentDefinitions.*.spec.workload",
        why: FILLED_IN,
    },
    Choice {
        kind: "ApplicationRevision",
        version: "v1beta1",
        place: "spec.componentDefinitions.*.spec.workload",
        why: FILLED_IN,
    },
    Choice {
        kind: "DefinitionRevision",
        version: "v1beta1",
        place: "spec.componentDefinition.spec.workload",
        why: FILLED_IN,
    },
];

/// Whether this place differs by choice.
pub(super) fn is_known(kind: &str, version: &str, place: &str) -> bool {
    let place = without_positions(place);
    CHOICES.iter().any(|c| c.kind == kind && c.version == version && same(c.place, &place))
}

fn same(pattern: &str, place: &str) -> bool {
    let (pattern, place): (Vec<&str>, Vec<&str>) = (pattern.split('.').collect(), place.split('.').collect());
    pattern.len() == place.len() && pattern.iter().zip(place).all(|(one, name)| *one == "*" || *one == name)
}

fn without_positions(place: &str) -> String {
    let mut plain = String::new();
    let mut rest = place;
    while let Some((before, after)) = rest.split_once('[') {
        plain.push_str(before);
        rest = after.split_once(']').map_or("", |(_, after)| after);
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_in_lists_do_not_matter() {
        assert!(is_known("Application", "v1alpha2", "spec.components[3].settings"));
        assert!(!is_known("Application", "v1beta1", "spec.components[3].settings"));
        assert!(!is_known("Application", "v1alpha2", "spec.components[0].settings.x"));
    }
}
