//! CUE text in; values, JSON, diagnostics or formatted text out.
//!
//! # A template, its inputs, its result
//!
//! A [`Template`] is compiled once from the files of a package and kept: it is `Send + Sync`, cheap to clone, and never
//! compiled again. Each use makes an [`Instance`] of it with [`Input`]s, which are further conjuncts at paths such as
//! `parameter`. The template evaluates nothing before a caller asks a [`Value`] for something.
//!
//! ```
//! use vela_cue::{Input, Source, Template};
//!
//! let text = r#"
//! parameter: {
//!     // +usage=Image to run
//!     image: string
//!     port:  *80 | int & >0
//! }
//! output: {
//!     kind: "Pod"
//!     spec: containers: [{image: parameter.image, ports: [{containerPort: parameter.port}]}]
//! }
//! "#;
//! let template = Template::compile(&[Source::new("pod.cue", text)])?;
//! let given = serde_json::json!({"image": "nginx"});
//! let root = template.instantiate(&[Input::new("parameter", &given)]).root();
//! assert_eq!(
//!     root.lookup("output.spec").to_json()?,
//!     serde_json::json!({"containers": [{"image": "nginx", "ports": [{"containerPort": 80}]}]}),
//! );
//! assert_eq!(root.lookup("parameter.image").comments().marker("usage"), Some("Image to run"));
//! # Ok::<(), vela_cue::Diagnostics>(())
//! ```
//!
//! # What goes wrong
//!
//! Everything that fails gives [`Diagnostics`]: all mistakes of one evaluation, each with a stable [`Code`], the path of the
//! value, labelled places (several files in one message), what was expected and found, and a hint. They are written as
//! lines (`Display`), with the source and carets (`Diagnostics::render`, feature `render`) or as JSON
//! ([`Diagnostics::to_json`]). Only the code may steer what a program does: [`Code::is_incomplete`] tells that more input
//! may help.
//!
//! ```
//! use vela_cue::{Code, Source, Template};
//!
//! let root = Template::compile(&[Source::new("a.cue", "replicas: int\nreplicas: \"3\"\n")])?.instantiate(&[]).root();
//! let Err(found) = root.validate(true) else { panic!("an int is no string") };
//! assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), [Code::Conflict]);
//! assert_eq!(
//!     found.to_string(),
//!     "a.cue:1:11: replicas: conflicting values int and \"3\" (mismatched types int and string)",
//! );
//! # #[cfg(feature = "render")]
//! assert!(found.render(false).contains("help: write it without quotes: 3"));
//! # Ok::<(), vela_cue::Diagnostics>(())
//! ```
//!
//! # Where a value comes from
//!
//! [`Value::origins`] lists what made a value, in the order it is written: values, defaults, constraints, references and
//! what they mean, computations and what they used, inputs and patches. Inputs with [`Positions`](input::Positions) are
//! named by the place in the text they were read from. Evaluation keeps nothing for this; the caller of it pays.
//!
//! ```
//! use vela_cue::value::OriginKind;
//! use vela_cue::{Source, Template};
//!
//! let root = Template::compile(&[Source::new("a.cue", "port: *80 | int\nurl: \"localhost:\\(port)\"\n")])?.instantiate(&[]).root();
//! let url = root.lookup("url");
//! let sources = url.sources();
//! let told: Vec<_> = url.origins().iter().map(|o| (o.kind, sources.text(o.span).to_owned())).collect();
//! assert_eq!(told[1], (OriginKind::Operand, "port".to_owned()));
//! assert_eq!(told[2], (OriginKind::Default, "80".to_owned()));
//! # Ok::<(), vela_cue::Diagnostics>(())
//! ```
//!
//! # Data files
//!
//! JSON, YAML and TOML are sources too ([`Source::with_format`]): their values are conjuncts with places and comments of
//! their own.
//!
//! ```
//! use vela_cue::{Format, Source, Template};
//!
//! let rules = Source::new("rules.cue", "port: int");
//! let data = Source::new("values.yaml", "# where it listens\nport: eighty\n").with_format(Format::Yaml);
//! let Err(found) = Template::compile(&[rules, data])?.instantiate(&[]).root().validate(true) else { panic!() };
//! assert!(found.to_string().starts_with("values.yaml:2:7: port: "));
//! # Ok::<(), vela_cue::Diagnostics>(())
//! ```
//!
//! # Limits
//!
//! A hostile template ends with [`Code::Budget`]: steps, depth, memory and output of each evaluation are limited by its
//! [`Budget`], nesting and size of every text that is read by constants beside its reader. A [`Guard`] may end an
//! evaluation for reasons of its own, such as time, and lends it its memory where many share some.
//!
//! # What is where
//!
//! The types at the root are all that most programs need. The modules go further:
//!
//! | module | for |
//! |---|---|
//! | [`value`] | fields, their kinds and comments, origins of values |
//! | [`input`] | inputs that know where they were written, and parts of them that only they declare |
//! | [`calls`] | templates that ask for something while they are evaluated |
//! | [`diagnostic`], [`source`] | places, labels and classes of what went wrong |
//! | [`provider`], [`packages`], [`number`] | packages of one's own; the builtin ones, their data and exact numbers |
//! | [`parser`], [`ast`], [`mod@format`], [`literal`], [`regexp`] | texts and their syntax trees |
//! | [`data_file`], [`export`] | JSON, YAML and TOML files; OpenAPI and CUE texts of values |
//! | [`era`], [`modernize`] | texts that were written for older releases of CUE |
//! | [`nearest`] | the name that was probably meant |
//!
//! # Features
//!
//! All are on unless they are switched off: `cli` makes the command `cue-eval`, `render` draws diagnostics with the lines of
//! their sources and carets below them, `crypto` brings the packages `crypto/…` and `uuid`. The library needs none of them.

#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod ast;
mod call;
pub mod calls;
mod compile;
pub mod data_file;
pub mod diagnostic;
pub mod era;
mod evaluate;
pub mod export;
pub mod format;
pub mod input;
mod ir;
mod lexer;
pub mod literal;
pub mod modernize;
pub mod nearest;
pub mod number;
pub mod packages;
pub mod parser;
mod plain;
pub mod provider;
pub mod regexp;
pub mod source;
mod template;
pub mod value;

pub use diagnostic::{Code, Diagnostic, Diagnostics};
pub use era::Era;
pub use evaluate::{Budget, Guard};
pub use input::Input;
pub use provider::Provider;
pub use source::{Format, Source};
pub use template::{Instance, Template};
pub use value::{Kind, Value};
