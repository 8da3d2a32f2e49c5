//! The words of an API server that refuses a request → the right that is missing, and how to get it.

/// What to ask for after a refusal, which names user, verb, resource and namespace in the words of the API server: `User "a"
/// cannot list resource "applications" in API group "core.oam.dev" in the namespace "b"`.
pub(crate) fn to_ask_for(refusal: &str) -> String {
    let quoted = |after: &str| {
        let rest = refusal.split_once(after)?.1;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let verb =
        refusal.split_once("\" cannot ").and_then(|(_, rest)| rest.split_once(' ')).map(|(verb, _)| verb);
    let (Some(verb), Some(resource)) = (verb, quoted("resource \"")) else {
        return "ask for the right to do this, or use another context".to_owned();
    };
    let resource = match quoted("API group \"").filter(|group| !group.is_empty()) {
        Some(group) => format!("{resource}.{group}"),
        None => resource,
    };
    let place = match quoted("namespace \"") {
        Some(namespace) => format!("in the namespace {namespace}"),
        None => "in the whole cluster".to_owned(),
    };
    let role = match resource.ends_with("oam.dev") {
        true => ", for example by the ClusterRole vela-author or vela-viewer, which `vela install` makes",
        false => "",
    };
    format!("ask an administrator for the right to {verb} {resource} {place}{role}; or use another context")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_right_is_named() {
        let of_namespace = "traitdefinitions.core.oam.dev is forbidden: User \"ann\" cannot list resource \"traitdefinitions\" in \
                            API group \"core.oam.dev\" in the namespace \"vela-system\"";
        let hint = to_ask_for(of_namespace);
        assert!(hint.contains("list traitdefinitions.core.oam.dev in the namespace vela-system"), "{hint}");
        assert!(hint.contains("vela-viewer"), "{hint}");
        let of_cluster = "nodes is forbidden: User \"ann\" cannot list resource \"nodes\" in API group \"\" at the cluster scope";
        let hint = to_ask_for(of_cluster);
        assert!(hint.contains("list nodes in the whole cluster") && !hint.contains("vela-"), "{hint}");
        assert!(to_ask_for("no").contains("ask for the right"));
    }
}
