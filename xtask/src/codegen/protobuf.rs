//! The fields of Go's types in, `apiserver/src/http/protobuf.txt` out: what each number means in the protobuf form.

use std::collections::BTreeMap;

use super::facts::RELEASE;

/// Types of definitions: their schemas have a form of their own in protobuf, which is not read.
const LEFT_OUT: &str = "apiextensions.";

/// The text of the file, with these types and those whose fields lie in them.
pub(super) fn text<'a>(
    structs: &'a BTreeMap<String, Vec<String>>,
    types: impl Iterator<Item = &'a String>,
) -> Result<String, String> {
    let mut blocks: BTreeMap<&str, &[String]> = BTreeMap::new();
    let mut open: Vec<&str> = types.map(String::as_str).filter(|name| !name.starts_with(LEFT_OUT)).collect();
    while let Some(name) = open.pop() {
        let fields = structs
            .get(name)
            .ok_or_else(|| format!("{name}: Go's types of Kubernetes {RELEASE} have no such struct"))?;
        if blocks.insert(name, fields).is_none() {
            open.extend(fields.iter().filter_map(|field| field.split_once(" >")).map(|(_, inner)| inner));
        }
    }
    let mut out = format!(
        "; Field numbers of the built-in types in the protobuf form of the API: `#type`, then `number name`, `*` where an\n\
         ; empty value counts, `number >type` where the fields of another type lie in the same object.\n\
         ; Made by `cargo xtask codegen` of Go's types of Kubernetes {RELEASE}; do not edit.\n"
    );
    for (name, fields) in blocks {
        out.push_str(&format!("#{name}\n"));
        for field in fields {
            out.push_str(field);
            out.push('\n');
        }
    }
    Ok(out)
}
