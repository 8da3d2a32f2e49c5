//! `vela def gen-api`: definitions → a file of typed clients for a language: a type for the properties of each, and a builder of
//! an Application that is written as JSON, which `vela up -f` takes.
//!
//! Types follow the description of parameters that `vela show -o json` prints. Nothing is read of the generated file, and a file
//! that was not generated is never overwritten.

mod go;
mod model;
mod names;
mod python;
mod typescript;

use std::path::Path;

use vela_engine::nearest::advice;
use vela_engine::{Definition, Diagnostics, Document};

use self::model::{MARK, Model};
use super::{files, found};
use crate::args::{DefinitionFiles, GenerateApi, Global, Language, Recursive, WhichDefinitions};
use crate::command::show::is_type;
use crate::error::{Error, Failure, Result};
use crate::input;
use crate::screen::Screen;

/// Bytes of a file that are read to find the mark.
const HEAD: usize = 256;

pub(super) fn run(args: &GenerateApi, global: &Global, screen: &mut Screen) -> Result<()> {
    let mut definitions = of_files(args, screen)?;
    definitions.extend(of_names(args, global, screen)?);
    definitions.sort_by_key(|one| (one.kind().noun(), one.name().to_owned()));
    definitions.dedup();
    let model = Model::of(&definitions);
    for warning in model.warnings() {
        screen.say(warning);
    }
    let (file, text) = match args.lang {
        Language::Typescript => ("vela.ts", typescript::generate(&model)),
        Language::Go => ("vela.go", go::generate(&model, &package(args)?)),
        Language::Python => ("vela.py", python::generate(&model)),
    };
    let path = args.output.join(file);
    write(&path, &text)?;
    let count = match definitions.len() {
        1 => "one definition".to_owned(),
        many => format!("{many} definitions"),
    };
    screen.say(&format!("{}: types of {count}", path.display()));
    Ok(())
}

/// The definitions of the files that are named.
fn of_files(args: &GenerateApi, screen: &mut Screen) -> Result<Vec<Definition>> {
    let paths: Vec<_> = args.what.iter().filter(|word| is_file(word)).map(Into::into).collect();
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let named =
        DefinitionFiles { paths, files: Vec::new(), recursive: Recursive { all: args.recursive.all } };
    let (documents, failures) = files::read(&named);
    if let Some(failure) = Failure::all(failures) {
        return Err(failure);
    }
    input::print_warnings(&documents, screen);
    let read = |document: &Document| {
        Definition::from_document(document).map_err(|found| Failure::from(Diagnostics::from(found)))
    };
    let definitions: Vec<Definition> = documents.iter().map(read).collect::<Result<_>>()?;
    let (types, others): (Vec<_>, Vec<_>) = definitions.into_iter().partition(is_type);
    for other in others {
        screen.say(&format!(
            "{} {} has no type that applications name: left out",
            other.kind().kind(),
            other.name()
        ));
    }
    Ok(types)
}

/// The definitions of the cluster, or built-in ones, that are named.
fn of_names(args: &GenerateApi, global: &Global, screen: &mut Screen) -> Result<Vec<Definition>> {
    let wanted: Vec<&str> = args.what.iter().filter(|word| !is_file(word)).map(String::as_str).collect();
    if wanted.is_empty() && !args.all {
        return Ok(Vec::new());
    }
    let which = WhichDefinitions { type_: args.which.type_, offline: args.which.offline };
    let snapshot = found::there(&which, global, screen)?;
    let known: Vec<&Definition> =
        found::chosen(&snapshot, &which).into_iter().filter(|one| is_type(one)).collect();
    if args.all {
        return Ok(known.into_iter().cloned().collect());
    }
    let mut found = Vec::new();
    for name in wanted {
        let before = found.len();
        found.extend(known.iter().filter(|one| one.name() == name).map(|one| (*one).clone()));
        if found.len() == before {
            let hint = advice(name, "definition", known.iter().map(|one| one.name()));
            let error = Error::user(format!("there is no definition {name:?}"));
            return Err(error.hint(hint.unwrap_or_else(|| "`vela def list` lists all".to_owned())).into());
        }
    }
    Ok(found)
}

/// Is it a file, and no name of a definition?
fn is_file(word: &str) -> bool {
    input::is_shaped_like_a_path(word) || word.ends_with(".cue") || Path::new(word).is_dir()
}

/// The name of the Go package: that of the folder where none is given.
fn package(args: &GenerateApi) -> Result<String> {
    match &args.package {
        Some(name) if names::is_package(name) => Ok(name.clone()),
        Some(name) => Err(Error::user(format!("{name:?} is no name of a package"))
            .hint("a package has lower-case letters and digits only, and is no word of Go")
            .into()),
        None => {
            let folder = args.output.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            Ok(if names::is_package(folder) { folder.to_owned() } else { "vela".to_owned() })
        }
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    let name = path.display();
    if path.exists() {
        let there =
            std::fs::read(path).map_err(|error| Error::user(format!("{name} cannot be read: {error}")))?;
        let head = String::from_utf8_lossy(&there[..there.len().min(HEAD)]);
        if !head.lines().next().unwrap_or_default().contains(MARK) {
            let error = Error::user(format!("{name} is there already, and was not generated"));
            return Err(error.hint("name another folder with --output (-o), or remove the file").into());
        }
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)
        .map_err(|error| Error::user(format!("{} cannot be created: {error}", folder.display())))?;
    std::fs::write(path, text)
        .map_err(|error| Error::user(format!("{name} cannot be written: {error}")).into())
}
