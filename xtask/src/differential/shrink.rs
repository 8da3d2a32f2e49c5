//! A program on which the evaluators disagree in; the smallest one found on which they still disagree in the same way out.

use vela_testkit::program::Program;

use super::answer::{Answer, Peers, differ};

/// Programs tried at most for one disagreement; each costs a process.
const TRIES: usize = 600;

/// A program and what was said about it.
pub(crate) struct Smallest {
    pub(crate) program: Program,
    pub(crate) real: Answer,
    pub(crate) ours: Answer,
}

/// Takes the first smaller program that still shows the disagreement, until none does.
pub(crate) fn smallest(program: &Program, peers: &mut Peers, order: bool) -> Result<Smallest, String> {
    let (real, ours) = peers.ask(&program.to_string())?;
    let kind = kind(&real, &ours);
    let mut best = Smallest { program: program.clone(), real, ours };
    let mut tries = 0;
    'smaller: loop {
        for candidate in best.program.smaller() {
            if tries >= TRIES {
                return Ok(best);
            }
            tries += 1;
            let (real, ours) = peers.ask(&candidate.to_string())?;
            if differ(&real, &ours, order) && self::kind(&real, &ours) == kind {
                best = Smallest { program: candidate, real, ours };
                continue 'smaller;
            }
        }
        return Ok(best);
    }
}

/// The way of a disagreement: who has a value.
fn kind(real: &Answer, ours: &Answer) -> (u8, u8) {
    let number = |answer: &Answer| match answer {
        Answer::Value { .. } => 0,
        Answer::Error(_) => 1,
        Answer::None(_) => 2,
    };
    (number(real), number(ours))
}

/// The text with all names and digits made alike, so that one mistake is told once.
pub(crate) fn pattern(text: &str) -> String {
    let mut pattern = String::new();
    for c in text.chars() {
        let c = if c.is_ascii_digit() { '0' } else { c };
        if !(c == '0' && pattern.ends_with('0')) {
            pattern.push(c);
        }
    }
    pattern
}
