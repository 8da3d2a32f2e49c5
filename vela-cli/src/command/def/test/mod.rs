//! `vela def test`: renders definitions with the values of test files and compares what they make; needs no cluster.

mod compare;
mod file;
mod render;

use std::path::Path;

use vela_engine::Document;

use self::compare::Fault;
use self::file::{Test, Tests};
use self::render::{Made, Renderer};
use crate::args::{Recursive, TestDefinitions};
use crate::error::{Error, Failure, Result};
use crate::input;
use crate::screen::Screen;
use crate::session::block_on;

/// Faults of one test that are printed.
const MOST_FAULTS: usize = 20;

/// How many tests passed, and how many did not.
#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
}

pub(super) fn run(args: &TestDefinitions, screen: &mut Screen) -> Result<()> {
    let files = input::test_files(&args.paths, args.recursive)?;
    let mut counts = Counts::default();
    let mut failures = Vec::new();
    for path in &files {
        match run_file(path, args.filter.as_deref(), &mut counts, screen) {
            Ok(()) => {}
            Err(failure) => failures.push(failure),
        }
    }
    let Counts { passed, failed } = counts;
    if passed + failed == 0 && failures.is_empty() {
        let which =
            args.filter.as_ref().map_or_else(String::new, |filter| format!(" whose name has {filter:?}"));
        return Err(Error::user(format!("there is no test{which}")).into());
    }
    screen.say(&format!("{passed} passed, {failed} failed."));
    if failed > 0 {
        failures.push(Error::user(format!("{failed} of {} tests failed", passed + failed)).into());
    }
    Failure::all(failures).map_or(Ok(()), Err)
}

fn run_file(path: &Path, filter: Option<&str>, counts: &mut Counts, screen: &mut Screen) -> Result<()> {
    let documents = input::read(std::slice::from_ref(&path.to_owned()))?;
    let mut all = Vec::new();
    for document in &documents {
        all.push((document, Tests::read(document, path)?));
    }
    for (document, tests) in &all {
        let chosen = |test: &&Test| filter.is_none_or(|filter| test.name.contains(filter));
        let chosen: Vec<&Test> = tests.tests.iter().filter(chosen).collect();
        if chosen.is_empty() {
            continue;
        }
        let (definitions, failures) = input::gather_definitions(&tests.definitions, Recursive { all: false });
        if let Some(failure) = Failure::all(failures) {
            return Err(failure.at(path.display().to_string()));
        }
        // One event loop for all: what reads the kinds lives in it.
        let made = block_on(async {
            let renderer = Renderer::new(&definitions)?;
            // What is wrong with a definition would be wrong in each of its tests.
            let faults = renderer.faults(&definitions).await?;
            if faults.has_errors() {
                return Err(faults.into());
            }
            let mut made = Vec::with_capacity(chosen.len());
            for test in &chosen {
                made.push(renderer.made(test).await);
            }
            Ok(made)
        })?;
        for (test, made) in chosen.iter().zip(&made) {
            let wrong = judge(test, made);
            let verdict = if wrong.is_empty() { "ok   " } else { "FAIL " };
            screen.print(&format!("{verdict} {}: {}", path.display(), test.name))?;
            for fault in wrong.iter().take(MOST_FAULTS) {
                screen.print(&format!("      {}", placed(document, fault)))?;
            }
            if wrong.len() > MOST_FAULTS {
                screen.print(&format!("      and {} more", wrong.len() - MOST_FAULTS))?;
            }
            if wrong.is_empty() { counts.passed += 1 } else { counts.failed += 1 }
        }
    }
    Ok(())
}

/// With the line in the test file that expects otherwise.
fn placed(document: &Document, fault: &Fault) -> String {
    let text = fault.text.trim_end().replace('\n', "\n      ");
    match document.places().value(&fault.path) {
        Some(place) => format!("{place}: {text}"),
        None => text,
    }
}

/// What is otherwise than the test expects.
fn judge(test: &Test, made: &std::result::Result<Made, Vec<String>>) -> Vec<Fault> {
    let wrong = |path: String, text: String| Fault { path: format!("{}.{path}", test.path), text };
    let expected = &test.expect.errors;
    match made {
        Err(messages) if expected.is_empty() => {
            messages.iter().map(|message| wrong("name".to_owned(), message.clone())).collect()
        }
        Err(messages) => {
            let missing = expected
                .iter()
                .enumerate()
                .filter(|(_, text)| !messages.iter().any(|message| message.contains(text.as_str())));
            let words = |(index, text): (usize, &String)| {
                let all = messages.join("\n");
                wrong(
                    format!("expect.errors[{index}]"),
                    format!("no error has {text:?}; the errors are:\n{all}"),
                )
            };
            missing.map(words).collect()
        }
        Ok(made) if !expected.is_empty() => {
            vec![wrong("expect.errors".to_owned(), format!("there is no error; {}", made.titles()))]
        }
        Ok(made) => compare::objects(test, made).into_iter().chain(compare::status(test, made)).collect(),
    }
}
