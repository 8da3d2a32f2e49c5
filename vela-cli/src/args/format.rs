//! The ways in which results are printed.

use clap::ValueEnum;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For programs
    Json,
    /// For programs and people
    Yaml,
}

/// How a list is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// For people, as wide as the terminal
    Table,
    /// For people, with every text whole
    Wide,
    /// For programs
    Json,
    /// For programs and people
    Yaml,
    /// Only names, one a line
    Name,
}

/// How a description is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShowFormat {
    /// For people
    #[value(alias = "console")]
    Table,
    /// For programs
    Json,
    /// For programs and people
    Yaml,
    /// For documentation
    Markdown,
    /// Only names, one a line
    Name,
}
