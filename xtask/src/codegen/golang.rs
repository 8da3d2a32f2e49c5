//! Go's sources of API types in, the fields of each struct out, as their tags number and name them.
//!
//! Only the few forms are read in which these sources are written: one field a line, its tag in backticks.

use std::collections::BTreeMap;

/// The module of each package of types, and the package's folder in it.
const PACKAGES: [(&str, &str, &str); 15] = [
    ("admissionregistration.v1", "api", "admissionregistration/v1"),
    ("apps.v1", "api", "apps/v1"),
    ("autoscaling.v1", "api", "autoscaling/v1"),
    ("autoscaling.v2", "api", "autoscaling/v2"),
    ("batch.v1", "api", "batch/v1"),
    ("coordination.v1", "api", "coordination/v1"),
    ("core.v1", "api", "core/v1"),
    ("discovery.v1", "api", "discovery/v1"),
    ("events.v1", "api", "events/v1"),
    ("meta.v1", "apimachinery", "pkg/apis/meta/v1"),
    ("networking.v1", "api", "networking/v1"),
    ("policy.v1", "api", "policy/v1"),
    ("rbac.v1", "api", "rbac/v1"),
    ("scheduling.v1", "api", "scheduling/v1"),
    ("storage.v1", "api", "storage/v1"),
];

/// The fields of every struct, by the short name of the type: `number name`, `*` behind it where the field is a pointer, and
/// `number >type` where the fields of another struct lie in the same object. `modules` is the folder of the modules of
/// `k8s.io`, `release` theirs.
pub(super) fn structs(
    modules: &std::path::Path,
    release: &str,
) -> Result<BTreeMap<String, Vec<String>>, String> {
    let mut all = BTreeMap::new();
    for (package, module, folder) in PACKAGES {
        let folder = modules.join(format!("{module}@v{release}")).join(folder);
        let path = folder.join("types.go");
        let source =
            std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        for (name, fields) in read(package, &source)? {
            all.insert(format!("{package}.{name}"), fields);
        }
    }
    Ok(all)
}

fn read(package: &str, source: &str) -> Result<Vec<(String, Vec<String>)>, String> {
    let mut imports: BTreeMap<&str, String> = BTreeMap::new();
    let mut structs: Vec<(String, Vec<String>)> = Vec::new();
    let mut inside = false;
    for line in source.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match *words.as_slice() {
            ["type", name, "struct", "{"] => {
                structs.push((name.to_owned(), Vec::new()));
                inside = true;
            }
            ["}"] => inside = false,
            [path] if !inside && path.starts_with('"') => {
                let path = path.trim_matches('"');
                imports.insert(path.rsplit('/').next().unwrap_or(path), short(path));
            }
            [alias, path] if !inside && path.starts_with('"') => {
                imports.insert(alias, short(path.trim_matches('"')));
            }
            _ if inside => {
                let field = field(package, &imports, line)?;
                if let Some((_, fields)) = structs.last_mut() {
                    fields.extend(field);
                }
            }
            _ => {}
        }
    }
    structs.retain(|(_, fields)| !fields.is_empty());
    Ok(structs)
}

/// `k8s.io/api/core/v1` → `core.v1`, `k8s.io/apimachinery/pkg/apis/meta/v1` → `meta.v1`.
fn short(path: &str) -> String {
    let parts: Vec<&str> = path.rsplit('/').take(2).collect();
    match *parts.as_slice() {
        [version, group] => format!("{group}.{version}"),
        _ => path.to_owned(),
    }
}

/// One field that has a number; nothing for others.
fn field(package: &str, imports: &BTreeMap<&str, String>, line: &str) -> Result<Option<String>, String> {
    let mut parts = line.split('`');
    let (Some(declared), Some(tags)) = (parts.next(), parts.next()) else { return Ok(None) };
    let Some(number) = tag(tags, "protobuf").and_then(|tag| tag.split(',').nth(1)) else { return Ok(None) };
    let Some(of_type) = declared.split_whitespace().last() else { return Ok(None) };
    let mut json = tag(tags, "json").unwrap_or_default().split(',');
    let name = json.next().unwrap_or_default();
    if json.any(|option| option == "inline") {
        let of_type = of_type.trim_start_matches('*');
        let inner = match of_type.split_once('.') {
            None => format!("{package}.{of_type}"),
            Some((alias, of_type)) => {
                let package =
                    imports.get(alias).ok_or_else(|| format!("{package}: {alias} is not imported"))?;
                format!("{package}.{of_type}")
            }
        };
        return Ok(Some(format!("{number} >{inner}")));
    }
    let pointer = if of_type.starts_with('*') { "*" } else { "" };
    Ok(Some(format!("{number} {name}{pointer}")).filter(|_| !matches!(name, "" | "-")))
}

/// The text of one tag: `json:"name,omitempty"`.
fn tag<'a>(tags: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tags.split_once(&format!("{name}:\""))?;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_numbered_named_and_told_apart_from_inner_ones() {
        let source = "import (\n\tmetav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\t\"k8s.io/api/core/v1\"\n)\n\
                      // A comment.\ntype A struct {\n\tmetav1.TypeMeta `json:\",inline\"`\n\
                      \tmetav1.ObjectMeta `json:\"metadata,omitempty\" protobuf:\"bytes,1,opt,name=metadata\"`\n\
                      \tReplicas *int32 `json:\"replicas,omitempty\" protobuf:\"varint,2,opt,name=replicas\"`\n\
                      \tv1.Handler `json:\",inline\" protobuf:\"bytes,3,opt,name=handler\"`\n\
                      \tOwn `json:\",inline\" protobuf:\"bytes,4,opt,name=own\"`\n\
                      \tRaw []byte `json:\"-\" protobuf:\"bytes,5,opt,name=raw\"`\n}\n";
        let expected = ["1 metadata", "2 replicas*", "3 >core.v1.Handler", "4 >x.v1.Own"];
        assert_eq!(read("x.v1", source).unwrap(), [("A".to_owned(), expected.map(str::to_owned).to_vec())]);
    }
}
