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
pub use toml::{
    Field as TomlField, Node as TomlNode, Value as TomlValue, read as toml_read, read_tree as toml_tree,
};
pub use yaml::{
    marshal as yaml_marshal, marshal_stream as yaml_marshal_stream, read as yaml_read,
    read_stream as yaml_read_stream, read_tree as yaml_tree,
};

/// A package that a file can import.
pub struct Package {
    /// Import path, `encoding/json`.
    pub path: &'static str,
    /// Functions.
    pub functions: &'static [Function],
    /// Constants, each with its value in CUE syntax.
    pub constants: &'static [(&'static str, &'static str)],
    /// Further declarations in CUE syntax (definitions such as `list.Comparer`).
    pub declarations: &'static str,
}

impl Package {
    /// The name under which the package is used when the import gives none: the path's last element.
    pub fn name(&self) -> &'static str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }

    /// The function of that name.
    pub fn function(&self, name: &str) -> Option<&'static Function> {
        self.functions.iter().find(|f| f.name == name)
    }
}

/// A builtin function.
pub struct Function {
    /// Its name inside the package.
    pub name: &'static str,
    /// Parameters in order.
    pub parameters: &'static [Parameter],
    /// Kinds of the result.
    pub result: Kinds,
    /// What it does.
    pub run: Run,
}

impl Function {
    /// Whether it becomes a constraint when its first argument is left out.
    pub fn is_validator(&self) -> bool {
        self.result == Kinds::BOOL || self.result == Kinds::NONE
    }
}

/// One parameter of a function.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Accepted kinds.
    pub kinds: Kinds,
    /// A string that stands in when the argument is left out.
    pub default: Option<&'static str>,
}

/// How a function gets its arguments.
#[derive(Clone, Copy)]
pub enum Run {
    /// All arguments concrete to the leaves.
    Data(fn(&[Data]) -> Result<Data, Failure>),
    /// Lists are passed with their shape only: every element that is not a list is a [`Data::Opaque`], given back unchanged.
    Shape(fn(&[Data]) -> Result<Data, Failure>),
    /// Values need not be concrete: what is not is a [`Data::Opaque`], equal to others that look the same.
    Lenient(fn(&[Data]) -> Result<Data, Failure>),
    /// The first argument is passed as its number of elements or regular fields (a [`Data::Number`]).
    Count(fn(&[Data]) -> Result<Data, Failure>),
    /// The arguments are constraints: only the evaluator can do it.
    Evaluator(Special),
}

/// The functions that work on constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    /// `list.MatchN(list, number-constraint, value-constraint)`.
    ListMatchN,
    /// `list.Sort(list, comparer)`, stable.
    Sort,
    /// `list.IsSorted(list, comparer)`.
    IsSorted,
    /// `json.Validate(text, constraint)`.
    JsonValidate,
    /// `yaml.Validate(text, constraint)`: the result must be concrete.
    YamlValidate,
    /// `yaml.ValidatePartial(text, constraint)`.
    YamlValidatePartial,
}

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

/// A parameter that must be given.
const fn required(kinds: Kinds) -> Parameter {
    Parameter { kinds, default: None }
}

const TEXT: Parameter = required(Kinds::STRING);
const INTEGER: Parameter = required(Kinds::INT);
const NUMBER: Parameter = required(Kinds::NUMBER);
const BYTES: Parameter = required(Kinds::BYTES.or(Kinds::STRING));
const LIST: Parameter = required(Kinds::LIST);
const STRUCT: Parameter = required(Kinds::STRUCT);
const ANY: Parameter = required(Kinds::TOP);

/// A function over concrete data.
const fn function(
    name: &'static str,
    parameters: &'static [Parameter],
    result: Kinds,
    run: fn(&[Data]) -> Result<Data, Failure>,
) -> Function {
    Function { name, parameters, result, run: Run::Data(run) }
}

/// A function over the shape of lists.
const fn shape(
    name: &'static str,
    parameters: &'static [Parameter],
    result: Kinds,
    run: fn(&[Data]) -> Result<Data, Failure>,
) -> Function {
    Function { name, parameters, result, run: Run::Shape(run) }
}

/// A function over values that need not be concrete.
const fn lenient(
    name: &'static str,
    parameters: &'static [Parameter],
    result: Kinds,
    run: fn(&[Data]) -> Result<Data, Failure>,
) -> Function {
    Function { name, parameters, result, run: Run::Lenient(run) }
}

/// A function over a number of elements.
const fn count(
    name: &'static str,
    parameters: &'static [Parameter],
    run: fn(&[Data]) -> Result<Data, Failure>,
) -> Function {
    Function { name, parameters, result: Kinds::BOOL, run: Run::Count(run) }
}

/// A function that only the evaluator can do.
const fn special(
    name: &'static str,
    parameters: &'static [Parameter],
    result: Kinds,
    special: Special,
) -> Function {
    Function { name, parameters, result, run: Run::Evaluator(special) }
}
