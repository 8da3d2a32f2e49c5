//! The text of a config template in CUE → the ConfigMap that holds it, in the shape of KubeVela; or its mistakes, at their places.

use std::sync::Arc;

use serde_json::{Value, json};
use vela_engine::config::{CATALOG, CATALOG_OF_CONFIGS, Template};
use vela_engine::definition::record;
use vela_engine::render::single;
use vela_engine::{Code, Definition, Diagnostic, Diagnostics, Place, Templates, dry_run, names};

/// What a template may use of the config that is made. KubeVela stores it with the text.
const CONTEXT: &str = "context: {\n\tname:      string\n\tnamespace: string\n}\n";
/// The key of the schema of the properties.
const SCHEMA: &str = "schema";
/// The longest text of a template: an object takes a mebibyte, with the schema of the template.
const TEXT_BYTES_AT_MOST: usize = 512 * 1024;

/// A template that was read of a file.
pub(super) struct Read<'a> {
    file: &'a str,
    text: &'a str,
    about: Value,
}

/// Reads the text of a file.
pub(super) fn read<'a>(file: &'a str, text: &'a str) -> Result<Read<'a>, Diagnostics> {
    let read = Read { file, text, about: Value::Null };
    if text.len() > TEXT_BYTES_AT_MOST {
        let found = text.len();
        let message = format!("the template takes {found} bytes; expected at most {TEXT_BYTES_AT_MOST}");
        return Err(read.wrong(Code::Limit, message, "leave out what no config needs").into());
    }
    // The compiler judges the text alone, so that no place of it is beyond its end.
    let alone = definition(&format!("{text}\n{CONTEXT}")).map_err(|found| read.placed(found.into()))?;
    Templates::default().get(&alone).map_err(|found| read.placed(found))?;
    let about = read.about()?;
    if about["takes"] != true {
        let hint = "declare the properties of a config: template: parameter: {host: string}";
        let message = "the template has no field `template.parameter`".to_owned();
        return Err(read.wrong(Code::MissingField, message, hint).into());
    }
    Ok(Read { about: about["metadata"].clone(), ..read })
}

impl Read<'_> {
    /// The name that the file gives the template.
    pub(super) fn name(&self) -> Result<&str, Diagnostics> {
        let hint = "write metadata: name: \"mysql\" into the file, or name it with --name";
        let wrong = |message: String| self.wrong(Code::MissingField, message, hint);
        let name = self.about["name"].as_str().unwrap_or_default();
        match name {
            "" => Err(wrong("the template has no `metadata.name`".to_owned()).into()),
            name if names::is_subdomain(name) => Ok(name),
            name => Err(wrong(format!("metadata.name {name:?} is no name of an object")).into()),
        }
    }

    /// The ConfigMap of the template.
    pub(super) fn config_map(&self, namespace: &str, name: &str) -> Result<Value, Diagnostics> {
        let text = |field: &str| self.about[field].as_str().unwrap_or_default();
        let scope = text("scope");
        if !(scope.is_empty() || names::is_label(scope)) {
            let message = format!("metadata.scope {scope:?} is no value of a label");
            return Err(self.wrong(Code::BadDefinition, message, "write \"system\" or \"project\"").into());
        }
        let stored = format!("{}\n{CONTEXT}", self.text.trim_end());
        let declared = definition(&format!("{stored}\nparameter: template.parameter\n"));
        let schema = record::schema(&declared.map_err(|found| self.placed(found.into()))?);
        Ok(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": Template::config_map(name),
                "namespace": namespace,
                "labels": {CATALOG: CATALOG_OF_CONFIGS, "config.oam.dev/scope": scope},
                "annotations": {
                    "config.oam.dev/alias": text("alias"),
                    "config.oam.dev/description": text("description"),
                    "config.oam.dev/sensitive": (self.about["sensitive"] == true).to_string(),
                },
            },
            "data": {"template": stored, SCHEMA: dry_run::yaml(&schema.unwrap_or_default())},
        }))
    }

    /// What the text says about the template, and whether it declares properties.
    fn about(&self) -> Result<Value, Diagnostics> {
        // Declared again, both fields are there to be asked for.
        let asks = "metadata: {...}\ntemplate: {...}\noutput: {\n\tkind: \"ConfigTemplate\"\n\tabout: metadata\n\
                    \tif template.parameter != _|_ {\n\t\ttakes: true\n\t}\n}\n";
        let asking = format!("{}\n{CONTEXT}{asks}", self.text);
        let context = json!({"name": "name", "namespace": "namespace"});
        let made = single::component(&asking, &json!({}), &context).map_err(|found| self.placed(found))?;
        Ok(json!({"metadata": made["output"]["about"], "takes": made["output"]["takes"]}))
    }

    fn wrong(&self, code: Code, message: String, hint: &str) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(code, message).hint(hint);
        diagnostic.manifest = Some(Place { file: Arc::from(self.file), line: 1, column: 1 });
        diagnostic
    }

    /// The findings at their places in the file: the engine counts lines in the text that it was given, which goes on where the
    /// file ends.
    fn placed(&self, found: Diagnostics) -> Diagnostics {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let last = self.text.lines().last().unwrap_or_default();
        let end = (number(self.text.lines().count()).max(1), number(last.chars().count() + 1));
        let place = |mut one: Diagnostic| {
            let at = one.definition.take().map_or((0, 0), |place| (place.line, place.column));
            let (line, column) = if at.0 == 0 { (1, 1) } else { at.min(end) };
            one.manifest = Some(Place { file: Arc::from(self.file), line, column });
            one.object = String::new();
            one
        };
        found.iter().cloned().map(place).collect()
    }
}

/// The text as a component type: the engine compiles, and describes the parameters of, definitions.
fn definition(text: &str) -> Result<Definition, Diagnostic> {
    Definition::from_object(json!({
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "ComponentDefinition",
        "metadata": {"name": "config-template"},
        "spec": {"schematic": {"cue": {"template": text}}},
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "import \"strings\"\n\nmetadata: {\n\tname:      \"mysql\"\n\tscope:     \"project\"\n\tsensitive: true\n}\n\
                        template: {\n\tparameter: {\n\t\t// +usage=Address\n\t\thost: string\n\t\tport: *3306 | int\n\t}\n\
                        \toutput: {\n\t\ttype: \"a/b\"\n\t\tstringData: url: strings.ToLower(context.name) + parameter.host\n\t}\n}\n";

    fn message(text: &str) -> String {
        read("mysql.cue", text).err().map(|found| found.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_file_becomes_the_config_map_that_kubevela_stores() {
        let file = read("mysql.cue", TEXT).unwrap_or_else(|found| unreachable!("{found}"));
        assert_eq!(file.name().ok(), Some("mysql"));
        let object = file.config_map("vela-system", "mysql").unwrap_or_default();
        assert_eq!(object["metadata"]["name"], "config-template-mysql");
        assert_eq!(object["metadata"]["labels"][CATALOG], CATALOG_OF_CONFIGS);
        assert_eq!(object["metadata"]["labels"]["config.oam.dev/scope"], "project");
        assert_eq!(object["metadata"]["annotations"]["config.oam.dev/sensitive"], "true");
        let schema = object["data"][SCHEMA].as_str().unwrap_or_default();
        for part in ["properties:", "host:", "Address", "default: 3306", "required:\n- host"] {
            assert!(schema.contains(part), "{part}: {schema}");
        }
        assert!(Template::read(&object).is_ok());
    }

    #[test]
    fn each_mistake_is_told_at_its_place_in_the_file() {
        assert!(
            message("metadata: name: \"a\"\ntemplate: {").starts_with("mysql.cue:2:"),
            "{}",
            message("a: {")
        );
        let unknown = message(&TEXT.replace("parameter.host", "paramete.host"));
        assert!(unknown.starts_with("mysql.cue:16:52") && unknown.contains("paramete"), "{unknown}");
        let conflict = message("metadata: name: \"a\"\nmetadata: name: \"b\"\ntemplate: parameter: {}\n");
        assert!(conflict.starts_with("mysql.cue:") && conflict.contains("conflict"), "{conflict}");
        let none = message("metadata: name: \"a\"\n");
        assert!(none.contains("mysql.cue:1:1") && none.contains("no field `template.parameter`"), "{none}");
        assert!(message("template: parameter: {}\n").is_empty());
        let nameless = read("mysql.cue", "template: parameter: {}\n").map(|file| file.name().is_err());
        assert!(nameless.is_ok_and(|is_nameless| is_nameless));
        let huge = "// x\n".repeat(TEXT_BYTES_AT_MOST / 5 + 1);
        assert!(message(&huge).contains("expected at most"));
    }
}
