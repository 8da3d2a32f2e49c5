//! Tables of finite state entropy (RFC 8878, 4.1): how they are described, built and walked.

use super::bits::{Backward, Forward};

/// Symbols of one table at most.
const SYMBOLS_AT_MOST: usize = 256;

/// The values of the states, and their successors.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    symbol: u8,
    bits: u32,
    base: u32,
}

/// A table to decode by.
#[derive(Clone, Debug)]
pub(super) struct Table {
    accuracy: u32,
    states: Vec<State>,
}

impl Table {
    /// The table that is described at the beginning of these bytes, and what follows it.
    pub(super) fn read(bytes: &[u8], accuracy_at_most: u32) -> Result<(Self, &[u8]), String> {
        let mut reader = Forward::new(bytes);
        let accuracy = reader.read(4)? + 5;
        if accuracy > accuracy_at_most {
            return Err(format!("a table of accuracy {accuracy}; the limit is {accuracy_at_most}"));
        }
        let mut counts: Vec<i32> = Vec::new();
        let mut left: u32 = 1 << accuracy;
        while left > 0 {
            if counts.len() >= SYMBOLS_AT_MOST {
                return Err("a table of too many symbols".to_owned());
            }
            let value = count(&mut reader, left)?;
            let weight = value.saturating_sub(1).max(u32::from(value == 0));
            left = left.checked_sub(weight).ok_or("a table whose counts are too large")?;
            counts.push(i32::try_from(value).map_err(|error| error.to_string())? - 1);
            if value == 1 {
                zeros(&mut reader, &mut counts)?;
            }
        }
        let rest = reader.rest();
        Ok((Self::of(&counts, accuracy)?, rest))
    }

    /// The table of these counts; -1 is a symbol that is rarer than once.
    pub(super) fn of(counts: &[i32], accuracy: u32) -> Result<Self, String> {
        let size = 1_usize << accuracy;
        let mut states = vec![State::default(); size];
        let mut next: Vec<u32> = Vec::with_capacity(counts.len());
        let mut end = size;
        for (symbol, count) in counts.iter().enumerate() {
            let symbol = u8::try_from(symbol).map_err(|error| error.to_string())?;
            next.push(count.unsigned_abs());
            if *count == -1 {
                end = end.checked_sub(1).ok_or("a table whose counts are too large")?;
                states[end].symbol = symbol;
            }
        }
        spread(counts, &mut states, end)?;
        for state in &mut states {
            let next = next.get_mut(usize::from(state.symbol)).ok_or("a table without symbols")?;
            let highest = next.checked_ilog2().ok_or("a table with a symbol that never occurs")?;
            state.bits = accuracy.checked_sub(highest).ok_or("a table whose counts are too large")?;
            state.base = (*next << state.bits).wrapping_sub(1 << accuracy);
            *next += 1;
        }
        Ok(Self { accuracy, states })
    }

    /// A table that gives one symbol and reads nothing.
    pub(super) fn single(symbol: u8) -> Self {
        Self { accuracy: 0, states: vec![State { symbol, ..State::default() }] }
    }

    /// The state to begin in.
    pub(super) fn begin(&self, bits: &mut Backward<'_>) -> u32 {
        bits.read(self.accuracy)
    }

    /// The value of a state.
    pub(super) fn symbol(&self, state: u32) -> u8 {
        self.state(state).symbol
    }

    /// The state that follows.
    pub(super) fn next(&self, state: u32, bits: &mut Backward<'_>) -> u32 {
        let State { bits: count, base, .. } = self.state(state);
        base.wrapping_add(bits.read(count))
    }

    fn state(&self, state: u32) -> State {
        let found = usize::try_from(state).ok().and_then(|state| self.states.get(state));
        found.copied().unwrap_or_default()
    }
}

/// The next count of a description, and one more: of so many that are left, as few bits as it takes.
fn count(reader: &mut Forward<'_>, left: u32) -> Result<u32, String> {
    let bits = (left + 1).ilog2() + 1;
    let value = reader.read(bits)?;
    let lower = value & ((1 << (bits - 1)) - 1);
    let threshold = (1 << bits) - 1 - (left + 1);
    if lower < threshold {
        reader.back();
        return Ok(lower);
    }
    let is_upper = value >= 1 << (bits - 1);
    Ok(if is_upper { value - threshold } else { value })
}

/// Symbols that do not occur follow one another.
fn zeros(reader: &mut Forward<'_>, counts: &mut Vec<i32>) -> Result<(), String> {
    // Every round takes two bits of a description that ends.
    loop {
        let more = reader.read(2)?;
        counts.extend((0..more).map(|_| 0));
        if more != 3 {
            return Ok(());
        }
        if counts.len() > SYMBOLS_AT_MOST {
            return Err("a table of too many symbols".to_owned());
        }
    }
}

/// Symbols are spread over the states before `end` in steps that meet each of them once.
fn spread(counts: &[i32], states: &mut [State], end: usize) -> Result<(), String> {
    let size = states.len();
    let step = (size >> 1) + (size >> 3) + 3;
    let mut at = 0;
    let mut placed = 0;
    for (symbol, count) in counts.iter().enumerate() {
        for _ in 0..*count {
            if placed >= end {
                return Err("a table whose counts are too large".to_owned());
            }
            states[at].symbol = u8::try_from(symbol).map_err(|error| error.to_string())?;
            placed += 1;
            at = (at + step) & (size - 1);
            while at >= end && placed < end {
                at = (at + step) & (size - 1);
            }
        }
    }
    if placed < end {
        return Err("a table whose counts are too small".to_owned());
    }
    Ok(())
}
