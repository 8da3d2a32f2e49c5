//! CUE text in; values, JSON, diagnostics or formatted text out.

pub mod ast;
mod calls;
mod compile;
pub mod data_file;
pub mod diagnostic;
mod era;
mod evaluate;
pub mod export;
pub mod format;
mod input;
mod ir;
mod lexer;
pub mod literal;
pub mod modernize;
pub mod nearest;
pub mod number;
pub mod packages;
pub mod parser;
mod provider;
pub mod regexp;
pub mod source;
mod template;
mod value;

pub use calls::{Answer, Call, MAX_ANSWERS, MAX_CALLS, Progress, Run};
pub use data_file::Format;
pub use diagnostic::{Class, Code, Diagnostic, Diagnostics, Label};
pub use era::{Era, UnknownEra};
pub use evaluate::{Budget, Origin, OriginKind, Shown};
pub use input::{Input, Place, Positions, Segment};
pub use provider::{ImportedPackage, Provider};
pub use source::{FileId, Source, Sources, Span};
pub use template::{Instance, Template};
pub use value::{Comments, Field, FieldKind, FieldOptions, Kind, Value};
