//! Sources in; everything that is wrong with them out.

use vela_cue::source::Sources;
use vela_cue::{Budget, Diagnostics, Format, Source, data_file};

use super::failure::Failure;
use super::inputs::compiled;
use super::read::is_side_file;

/// The reference's message when the value is right but incomplete.
const INCOMPLETE: &str =
    "some instances are incomplete; use the -c flag to show errors or -c=false to allow incomplete instances";

/// Checks CUE files by themselves, or every value of the data files against them.
pub(crate) fn run(mut sources: Vec<Source>, concrete: Option<bool>, budget: Budget) -> Result<(), Failure> {
    sources.retain(|source| !is_side_file(&source.name));
    let (rules, data): (Vec<Source>, Vec<Source>) =
        sources.into_iter().partition(|source| source.format == Format::Cue);
    if rules.is_empty() || data.is_empty() {
        return alone(&[rules, data].concat(), concrete, budget);
    }
    // Errors of the rules themselves are reported once, not for every value.
    compiled(&rules, budget)?.instantiate(&[]).root().validate(false)?;
    let mut found: Option<Diagnostics> = None;
    for value in values(data)? {
        let mut together = rules.clone();
        together.push(value);
        let result = compiled(&together, budget)
            .and_then(|template| template.instantiate(&[]).root().validate(concrete != Some(false)));
        if let Err(diagnostics) = result {
            found = Some(match found {
                Some(known) => known.and(diagnostics),
                None => diagnostics,
            });
        }
    }
    found.map_or(Ok(()), |diagnostics| Err(diagnostics.into()))
}

fn alone(sources: &[Source], concrete: Option<bool>, budget: Budget) -> Result<(), Failure> {
    let root = compiled(sources, budget)?.instantiate(&[]).root();
    root.validate(concrete == Some(true))?;
    if concrete.is_none() && root.validate(true).is_err() {
        return Err(Failure::Message(INCOMPLETE.into()));
    }
    Ok(())
}

/// Each value of the data files: a YAML text may hold several.
fn values(data: Vec<Source>) -> Result<Vec<Source>, Failure> {
    let mut values = Vec::new();
    for source in data {
        let count = data_file::documents(&source).map_err(|mistake| {
            let mut sources = Sources::default();
            sources.add(source.clone());
            Diagnostics::new(vec![mistake], sources)
        })?;
        if source.format == Format::Yaml && count > 1 {
            values.extend((0..count).map(|at| source.clone().with_format(Format::YamlDocument(at))));
        } else {
            values.push(source);
        }
    }
    Ok(values)
}
