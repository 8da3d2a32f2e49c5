//! Finds the kinds of objects that a template makes whatever its parameters are.

use vela_cue::Value;
use vela_cue::value::FieldOptions;

use super::Template;

impl Template {
    /// Field (`output`, `outputs.service`), version and kind of every object whose kind stands in the text as it is.
    pub fn kinds(&self) -> Vec<(String, String, String)> {
        let root = self.template.instantiate(&[]).root();
        let others = root.lookup("outputs").fields(FieldOptions::default());
        let others = others.into_iter().map(|field| (format!("outputs.{}", field.name), field.value));
        let all = std::iter::once(("output".to_owned(), root.lookup("output"))).chain(others);
        all.filter_map(|(field, object)| named(field, &object)).collect()
    }
}

fn named(field: String, object: &Value) -> Option<(String, String, String)> {
    let text = |name: &str| object.lookup(name).as_str();
    Some((field, text("apiVersion")?, text("kind")?))
}

#[cfg(test)]
mod tests {
    use vela_cue::Era;

    use super::*;

    #[test]
    fn kinds_that_hang_on_no_parameter_are_found() {
        let text = "output: {apiVersion: \"apps/v1\", kind: \"Deployment\", metadata: name: context.name}\n\
                    outputs: service: {apiVersion: \"v1\", kind: \"Service\", spec: ports: parameter.ports}\n\
                    outputs: other: {apiVersion: \"v1\", kind: parameter.kind}\n\
                    if parameter.more != _|_ {outputs: more: {apiVersion: \"v1\", kind: \"Secret\"}}\n\
                    parameter: {kind: string, ports: [...int], more?: bool}\n";
        let template = Template::compile("t", text, Era::default()).unwrap_or_else(|e| unreachable!("{e}"));
        let found = template.kinds();
        let found: Vec<[&str; 3]> = found
            .iter()
            .map(|(field, version, kind)| [field.as_str(), version.as_str(), kind.as_str()])
            .collect();
        assert_eq!(found, [["output", "apps/v1", "Deployment"], ["outputs.service", "v1", "Service"]]);
    }
}
