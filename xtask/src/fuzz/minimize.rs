//! An input that shows a mistake in; the shortest found that still shows it out.

use super::child::{Child, Verdict};

/// Inputs tried for one find.
const TRIES: usize = 300;
/// A find that takes its time is cut a few times only: each try waits as long again.
const TRIES_HANG: usize = 12;

/// Leaves out pieces, from halves down to single bytes, as long as the mistake stays.
pub(crate) fn smallest(input: &[u8], verdict: &Verdict, child: &mut Child) -> Result<Vec<u8>, String> {
    let mut best = input.to_vec();
    let mut left = if *verdict == Verdict::Hang { TRIES_HANG } else { TRIES };
    let mut piece = best.len().div_ceil(2);
    while piece > 0 {
        let mut start = 0;
        while start < best.len() {
            if left == 0 {
                return Ok(best);
            }
            left -= 1;
            let mut shorter = best.clone();
            shorter.drain(start..(start + piece).min(best.len()));
            if child.run(&shorter)?.is_like(verdict) {
                best = shorter;
            } else {
                start += piece;
            }
        }
        piece /= 2;
    }
    Ok(best)
}
