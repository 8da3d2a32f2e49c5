//! The stable codes of failures, and the coarse classes that the reference implementation tells apart.

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal: $class:ident,)*) => {
        /// The class of a failure. Only the code steers control flow; the words are for people.
        ///
        /// The names given by [`Code::as_str`] are stable: scripts may rely on them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)*
        }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The stable name, used in JSON.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// The class of the error, by which a caller decides whether to go on.
            pub const fn class(self) -> Class {
                match self {
                    $(Self::$name => Class::$class,)*
                }
            }
        }
    };
}

codes! {
    /// The text is not CUE (or not the JSON, YAML or TOML it should be).
    Syntax = "syntax": Build,
    /// An imported package is not known, or a package has no such member.
    Import = "import": Build,
    /// A name means nothing where it stands.
    Reference = "unresolved_reference": Build,
    /// One name is declared twice where it must be unique.
    Redeclared = "redeclared": Build,
    /// An import, alias or `let` is never used.
    Unused = "unused": Build,
    /// Two parts of one value cannot both hold.
    Conflict = "conflict": Eval,
    /// A value lies outside a bound such as `>0` or `=~"^a"`.
    OutOfBound = "out_of_bound": Eval,
    /// A function that judges the value says no.
    Unsatisfied = "unsatisfied": Eval,
    /// A closed struct has a field it does not declare.
    NotAllowed = "not_allowed": Eval,
    /// None of the alternatives of a disjunction holds.
    Disjunction = "disjunction": Eval,
    /// A closed struct is asked for a field it can never have.
    UndefinedField = "undefined_field": Eval,
    /// An operation cannot be done with its operands.
    Operation = "operation": Eval,
    /// An index or slice lies outside its list, or is of the wrong type.
    Index = "index": Eval,
    /// A function cannot work with its arguments.
    Argument = "argument": Eval,
    /// Any other failure of evaluation.
    Eval = "eval": Eval,
    /// An explicit `_|_` or `error()`.
    User = "user": User,
    /// A struct contains itself without end.
    StructuralCycle = "structural_cycle": StructuralCycle,
    /// A value is not known yet: more input may make it known.
    Incomplete = "incomplete": Incomplete,
    /// A field written with `!` has no value yet.
    MissingRequired = "missing_required": Incomplete,
    /// Several alternatives are left and none is the default.
    Ambiguous = "ambiguous": Incomplete,
    /// A value depends on itself: more input may break the cycle.
    Cycle = "cycle": Cycle,
    /// The budget of steps, depth or output is used up.
    Budget = "budget": Budget,
}

/// The coarse kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// The sources do not compile: no input can help.
    Build,
    /// The values do not go together: no further input can help.
    Eval,
    /// The author of the sources says no.
    User,
    /// A struct contains itself without end.
    StructuralCycle,
    /// More input may help.
    Incomplete,
    /// A value depends on itself; more input may help.
    Cycle,
    /// Evaluation was stopped.
    Budget,
}

impl Class {
    /// The word of the reference implementation, used in trees.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Eval => "eval",
            Self::User => "user",
            Self::StructuralCycle => "structural_cycle",
            Self::Incomplete => "incomplete",
            Self::Cycle => "cycle",
            Self::Budget => "budget",
        }
    }
}

impl Code {
    /// Whether more input may still make the value known.
    pub const fn is_incomplete(self) -> bool {
        matches!(self.class(), Class::Incomplete | Class::Cycle)
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, Code};

    #[test]
    fn names_are_unique_and_stable_words() {
        for (at, code) in Code::ALL.iter().enumerate() {
            let name = code.as_str();
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{name}");
            assert!(Code::ALL[..at].iter().all(|other| other.as_str() != name), "{name}");
            assert_eq!(code.is_incomplete(), matches!(code.class(), Class::Incomplete | Class::Cycle));
        }
    }
}
