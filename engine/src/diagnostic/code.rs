//! The stable codes of findings: what control flow goes by, and what people look up.

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)*) => {
        /// The class of a diagnostic: the only part of it that may steer control flow.
        ///
        /// The names given by [`Code::as_str`] are stable: `docs/troubleshooting.md` has a section for each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)*
        }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The stable name, as it stands in the head of a diagnostic.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

codes! {
    /// The text is not YAML or JSON.
    Syntax = "syntax",
    /// A limit on size, depth, number of aliases or work was passed.
    Limit = "limit",
    /// The object is of a kind or version this phase does not take.
    WrongKind = "wrong_kind",
    /// A field that no reader knows.
    UnknownField = "unknown_field",
    /// A required field is absent.
    MissingField = "missing_field",
    /// A field has the wrong type or an impossible value.
    WrongType = "wrong_type",
    /// No definition of that type is known.
    UnknownDefinition = "unknown_definition",
    /// A definition is itself broken.
    BadDefinition = "bad_definition",
    /// Two things of one scope carry one name.
    DuplicateName = "duplicate_name",
    /// A name refers to nothing.
    UnknownReference = "unknown_reference",
    /// Things wait for each other in a circle.
    Cycle = "cycle",
    /// A trait does not apply to this workload.
    WrongWorkload = "wrong_workload",
    /// Understood, but not built yet.
    NotSupported = "not_supported",
    /// A parameter is missing, of the wrong type, or refused by the template.
    Parameter = "parameter",
    /// A parameter the template does not declare.
    UnknownParameter = "unknown_parameter",
    /// The template fails with these parameters.
    Template = "template",
    /// The template's own `errs` speak.
    Refused = "refused",
    /// A value is not there yet; the only code that means *pending*.
    Incomplete = "incomplete",
    /// The cluster or another server did not do its part: the same may succeed at another time.
    Unavailable = "unavailable",
    /// Two rendered objects have one identity.
    Collision = "collision",
    /// A rendered object that API servers do not take, or take only in part.
    InvalidObject = "invalid_object",
    /// The `if` of a workflow step can never be evaluated, so the step never runs.
    Condition = "condition",
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn names_are_unique_and_stable_words() {
        for (at, code) in Code::ALL.iter().enumerate() {
            let name = code.as_str();
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{name}");
            assert!(Code::ALL[..at].iter().all(|other| other.as_str() != name), "{name}");
        }
    }
}
