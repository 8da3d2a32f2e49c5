//! The ways in which results are printed.

use std::ffi::OsStr;
use std::marker::PhantomData;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, ValueEnum};

use crate::json_path::Template;

/// What a template of kubectl begins with.
const JSON_PATH: &str = "jsonpath=";

/// A format that may be a template.
pub(crate) trait OfTemplate: ValueEnum + Send + Sync + 'static {
    fn of_template(template: Template) -> Self;
}

/// Reads the name of a format, or `jsonpath=` and a template.
#[derive(Debug)]
pub(crate) struct FormatParser<F>(PhantomData<F>);

impl<F> Clone for FormatParser<F> {
    fn clone(&self) -> Self {
        Self(PhantomData)
    }
}

/// Reads how a command prints its result.
pub(super) fn output<F: OfTemplate>() -> FormatParser<F> {
    FormatParser(PhantomData)
}

impl<F: OfTemplate> TypedValueParser for FormatParser<F> {
    type Value = F;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<F, clap::Error> {
        match value.to_str().is_some_and(|text| text.starts_with(JSON_PATH)) {
            true => {
                let read =
                    |text: &str| Template::read(text.trim_start_matches(JSON_PATH)).map(F::of_template);
                read.parse_ref(command, arg, value)
            }
            false => {
                let names = PossibleValuesParser::new(self.possible_values().into_iter().flatten());
                let name = names.parse_ref(command, arg, value)?;
                F::from_str(&name, false).map_err(|why| command.clone().error(ErrorKind::InvalidValue, why))
            }
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let template = PossibleValue::new(JSON_PATH)
            .help("What a template of kubectl finds, such as jsonpath='{.metadata.name}'; a list is .items");
        let names: Vec<PossibleValue> = F::value_variants().iter().filter_map(F::to_possible_value).collect();
        Some(Box::new(names.into_iter().chain([template])))
    }
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For programs
    Json,
    /// For programs and people
    Yaml,
    #[value(skip)]
    JsonPath(Template),
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
    #[value(skip)]
    JsonPath(Template),
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
    #[value(skip)]
    JsonPath(Template),
}

/// How a definition is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DefinitionFormat {
    /// The object
    Yaml,
    /// The object
    Json,
    /// Only its template
    Cue,
    #[value(skip)]
    JsonPath(Template),
}

impl From<DataFormat> for Format {
    fn from(format: DataFormat) -> Self {
        match format {
            DataFormat::Json => Self::Json,
            DataFormat::Yaml => Self::Yaml,
            DataFormat::JsonPath(template) => Self::JsonPath(template),
        }
    }
}

/// How data is printed that has no table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFormat {
    /// For programs
    Json,
    /// For programs and people
    Yaml,
    #[value(skip)]
    JsonPath(Template),
}

macro_rules! formats_with_templates {
    ($($format:ident),*) => {$(
        impl OfTemplate for $format {
            fn of_template(template: Template) -> Self {
                Self::JsonPath(template)
            }
        }
    )*};
}

formats_with_templates!(Format, ListFormat, ShowFormat, DefinitionFormat, DataFormat);

macro_rules! data_of_formats {
    ($($format:ident),*) => {$(
        impl $format {
            /// How it is printed for programs; nothing where it is printed for people.
            pub(crate) fn data(self) -> Option<Format> {
                match self {
                    Self::Json => Some(Format::Json),
                    Self::Yaml => Some(Format::Yaml),
                    Self::JsonPath(template) => Some(Format::JsonPath(template)),
                    _ => None,
                }
            }
        }
    )*};
}

data_of_formats!(ListFormat, ShowFormat);
