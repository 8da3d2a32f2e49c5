//! The parts of a builtin package: functions with their parameters, constants and declarations.

use super::data::{Data, Failure, Kinds};

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
    /// Its code.
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
    /// Lists are passed with their shape only, so many levels deep: every element below, and every one that is not a list, is a
    /// [`Data::Opaque`], given back unchanged, with all its alternatives.
    Shape(u32, fn(&[Data]) -> Result<Data, Failure>),
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

/// A parameter that must be given.
pub(super) const fn required(kinds: Kinds) -> Parameter {
    Parameter { kinds, default: None }
}

pub(super) const TEXT: Parameter = required(Kinds::STRING);
pub(super) const INTEGER: Parameter = required(Kinds::INT);
pub(super) const NUMBER: Parameter = required(Kinds::NUMBER);
pub(super) const BYTES: Parameter = required(Kinds::BYTES.or(Kinds::STRING));
pub(super) const LIST: Parameter = required(Kinds::LIST);
pub(super) const STRUCT: Parameter = required(Kinds::STRUCT);
pub(super) const ANY: Parameter = required(Kinds::TOP);

/// A function over concrete data.
pub(super) const fn function(
    name: &'static str,
    parameters: &'static [Parameter],
    result: Kinds,
    run: fn(&[Data]) -> Result<Data, Failure>,
) -> Function {
    Function { name, parameters, result, run: Run::Data(run) }
}

/// A function over the shape of lists, which are opened so many levels deep.
pub(super) const fn shape(
    name: &'static str,
    parameters: &'static [Parameter],
    result: Kinds,
    levels: u32,
    run: fn(&[Data]) -> Result<Data, Failure>,
) -> Function {
    Function { name, parameters, result, run: Run::Shape(levels, run) }
}

/// A function over values that need not be concrete.
pub(super) const fn lenient(
    name: &'static str,
    parameters: &'static [Parameter],
    result: Kinds,
    run: fn(&[Data]) -> Result<Data, Failure>,
) -> Function {
    Function { name, parameters, result, run: Run::Lenient(run) }
}

/// A function over a number of elements.
pub(super) const fn count(
    name: &'static str,
    parameters: &'static [Parameter],
    run: fn(&[Data]) -> Result<Data, Failure>,
) -> Function {
    Function { name, parameters, result: Kinds::BOOL, run: Run::Count(run) }
}

/// A function that only the evaluator can do.
pub(super) const fn special(
    name: &'static str,
    parameters: &'static [Parameter],
    result: Kinds,
    special: Special,
) -> Function {
    Function { name, parameters, result, run: Run::Evaluator(special) }
}
