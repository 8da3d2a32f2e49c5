//! An import path in, the functions, constants and CUE declarations of that builtin package out.
//!
//! Functions know nothing of the evaluator: they take and give [`Data`]. The evaluator converts concrete values, decides
//! what *incomplete* means, and makes a validator of every function whose result is a bool (or that says so) when it is
//! called with one argument less than it has parameters.

mod arguments;
mod data;
mod entities;
mod float;
mod hashes;
#[cfg(test)]
mod inventory;
mod json;
mod lists;
mod math;
mod net;
mod package;
mod path;
mod pattern;
#[cfg(test)]
mod reference;
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
    &hashes::MD5,
    &hashes::SHA1,
    &hashes::SHA256,
    &hashes::SHA512,
    &hashes::HMAC,
    &signature::ED25519,
    &tables::CSV,
    &toml::PACKAGE,
    &tables::TABWRITER,
    &template::PACKAGE,
    &uuid::PACKAGE,
    &tools::TOOL,
    &tools::CLI,
    &tools::EXEC,
    &tools::FILE,
    &tools::HTTP,
    &tools::OS,
];
