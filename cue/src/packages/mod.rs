//! An import path in, the functions, constants and CUE declarations of that builtin package out.
//!
//! Functions know nothing of the evaluator: they take and give [`Data`]. The evaluator converts concrete values, decides
//! what *incomplete* means, and makes a validator of every function whose result is a bool (or that says so) when it is
//! called with one argument less than it has parameters.

mod arguments;
mod data;
mod entities;
mod float;
mod functions_of_floats;
#[cfg(feature = "crypto")]
mod hashes;
#[cfg(test)]
#[cfg(feature = "crypto")]
mod inventory;
mod json;
mod lists;
mod math;
mod net;
mod package;
mod path;
mod pattern;
#[cfg(test)]
#[cfg(feature = "crypto")]
mod reference;
#[cfg(feature = "crypto")]
mod signature;
mod strconv;
mod strings;
mod structs;
mod tables;
mod template;
mod text;
mod time;
mod toml;
mod tools;
#[cfg(feature = "crypto")]
mod uuid;
mod yaml;

pub use data::{Data, Failure, Kinds};
pub use json::{
    check as json_check, marshal as json_marshal, marshal_indented as json_marshal_indented,
    read as json_read,
};
use package::{
    ANY, BYTES, INTEGER, LIST, NUMBER, STRUCT, TEXT, count, function, lenient, required, shape, special,
};
pub use package::{Function, Package, Parameter, Run, Special};
pub use toml::{
    Field as TomlField, Node as TomlNode, Value as TomlValue, read as toml_read, read_tree as toml_tree,
};
pub use yaml::{
    marshal as yaml_marshal, marshal_stream as yaml_marshal_stream, read as yaml_read,
    read_stream as yaml_read_stream, read_tree as yaml_tree,
};

/// The package of that import path.
pub fn lookup(path: &str) -> Option<&'static Package> {
    PACKAGES.iter().copied().find(|p| p.path == path)
}

/// The import paths of all packages.
pub fn paths() -> impl Iterator<Item = &'static str> {
    PACKAGES.iter().map(|package| package.path)
}

/// The feature of this crate that would bring a package which this build lacks.
pub(crate) fn feature_of(path: &str) -> Option<&'static str> {
    let left_out = cfg!(not(feature = "crypto")) && (path == "uuid" || path.starts_with("crypto/"));
    left_out.then_some("crypto")
}

/// The package that is used by that name.
pub(crate) fn lookup_by_name(name: &str) -> Option<&'static Package> {
    PACKAGES.iter().copied().find(|p| p.name() == name)
}

/// The package a function belongs to.
pub(crate) fn package_of(function: &'static Function) -> Option<&'static Package> {
    PACKAGES.iter().copied().find(|p| p.functions.iter().any(|f| std::ptr::eq(f, function)))
}

static PACKAGES: &[&Package] = &[
    &strings::PACKAGE,
    &strconv::PACKAGE,
    &lists::PACKAGE,
    &json::PACKAGE,
    &yaml::PACKAGE,
    &text::BASE64,
    &text::HEX,
    &text::HTML,
    &math::PACKAGE,
    &math::BITS,
    &pattern::PACKAGE,
    &structs::PACKAGE,
    &time::PACKAGE,
    &net::PACKAGE,
    &path::PACKAGE,
    #[cfg(feature = "crypto")]
    &hashes::MD5,
    #[cfg(feature = "crypto")]
    &hashes::SHA1,
    #[cfg(feature = "crypto")]
    &hashes::SHA256,
    #[cfg(feature = "crypto")]
    &hashes::SHA512,
    #[cfg(feature = "crypto")]
    &hashes::HMAC,
    #[cfg(feature = "crypto")]
    &signature::ED25519,
    &tables::CSV,
    &toml::PACKAGE,
    &tables::TABWRITER,
    &template::PACKAGE,
    #[cfg(feature = "crypto")]
    &uuid::PACKAGE,
    &tools::TOOL,
    &tools::CLI,
    &tools::EXEC,
    &tools::FILE,
    &tools::HTTP,
    &tools::OS,
];

#[cfg(test)]
#[cfg(not(feature = "crypto"))]
mod without_crypto {
    use crate::{Source, Template};

    #[test]
    fn a_package_that_was_left_out_names_its_feature() {
        let text = "import \"crypto/sha256\"\nx: sha256.Sum256(\"a\")\n";
        let Err(found) = Template::compile(&[Source::new("a.cue", text)]) else { panic!("it is not there") };
        let hint = found.iter().next().and_then(|first| first.hint.clone()).unwrap_or_default();
        assert!(hint.contains("feature \"crypto\""), "{hint}");
    }
}
