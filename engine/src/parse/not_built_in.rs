//! Advice for component types that upstream has built in and we do not: what to write instead.

/// Types that upstream's documentation uses as if they were always there.
const INSTEAD: &[(&str, &str)] = &[
    (
        "helm",
        "it is a definition of upstream's addon fluxcd; the built-in type \"helmchart\" makes the same objects of Flux, and a \
         ComponentDefinition with `schematic.helm` makes a type of one chart",
    ),
    (
        "kustomize",
        "it is a definition of upstream's addon fluxcd; write what `kustomize build` prints in a component of type \"k8s-objects\"",
    ),
];

/// The advice in place of a component type of upstream that is not defined here.
pub(super) fn advice(type_: &str) -> Option<String> {
    let found = INSTEAD.iter().find(|(name, _)| *name == type_);
    found.map(|(_, instead)| (*instead).to_owned())
}
