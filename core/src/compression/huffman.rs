//! Literals as Huffman codes (RFC 8878, 4.2).

use super::bits::Backward;
use super::fse;

/// The longest code.
const BITS_AT_MOST: u32 = 11;
/// Accuracy of the table by which weights are packed.
const WEIGHT_ACCURACY: u32 = 6;
/// Weights that are written; one more follows from them.
const WEIGHTS_AT_MOST: usize = 255;

/// Codes, each at all the places that begin with it.
#[derive(Clone, Debug)]
pub(super) struct Codes {
    bits: u32,
    /// Symbol and length.
    codes: Vec<(u8, u32)>,
}

impl Codes {
    /// The codes that are described at the beginning of these bytes, and what follows.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, &[u8]), String> {
        let (header, rest) = bytes.split_first().ok_or("no codes of literals")?;
        let header = usize::from(*header);
        let (weights, rest) = match header.checked_sub(127) {
            Some(count) if count > 0 => {
                let (packed, rest) = split(rest, count.div_ceil(2))?;
                let weights = packed.iter().flat_map(|byte| [byte >> 4, byte & 15]).take(count).collect();
                (weights, rest)
            }
            _ => {
                let (packed, rest) = split(rest, header)?;
                (unpack(packed)?, rest)
            }
        };
        Ok((Self::of(weights)?, rest))
    }

    fn of(mut weights: Vec<u8>) -> Result<Self, String> {
        if weights.len() > WEIGHTS_AT_MOST || weights.iter().any(|weight| u32::from(*weight) > BITS_AT_MOST) {
            return Err("weights of literals out of range".to_owned());
        }
        let places = |weight: u8| if weight == 0 { 0 } else { 1_u32 << (weight - 1) };
        let sum: u32 = weights.iter().map(|weight| places(*weight)).sum();
        let bits = sum.checked_ilog2().ok_or("no weights of literals")? + 1;
        let left = (1_u32 << bits) - sum;
        if bits > BITS_AT_MOST || !left.is_power_of_two() {
            return Err("weights of literals that do not add up".to_owned());
        }
        weights.push(u8::try_from(left.ilog2() + 1).map_err(|error| error.to_string())?);
        let mut codes = Vec::with_capacity(1 << bits);
        for weight in 1..=bits {
            for (symbol, _) in weights.iter().enumerate().filter(|(_, own)| u32::from(**own) == weight) {
                let symbol = u8::try_from(symbol).map_err(|error| error.to_string())?;
                codes.extend((0..1_u32 << (weight - 1)).map(|_| (symbol, bits + 1 - weight)));
            }
        }
        Ok(Self { bits, codes })
    }

    /// So many literals of a stream, which must hold exactly these.
    pub(super) fn decode(&self, stream: &[u8], count: usize, into: &mut Vec<u8>) -> Result<(), String> {
        let mut bits = Backward::new(stream)?;
        for _ in 0..count {
            let at = usize::try_from(bits.peek(self.bits)).unwrap_or_default();
            let (symbol, length) = self.codes.get(at).ok_or("a literal without a code")?;
            bits.skip(*length);
            if bits.is_overdrawn() {
                return Err("literals end too early".to_owned());
            }
            into.push(*symbol);
        }
        match bits.is_at_end() {
            true => Ok(()),
            false => Err("more literals than there should be".to_owned()),
        }
    }
}

/// Weights that are packed: two states take turns until the bits are used up.
fn unpack(packed: &[u8]) -> Result<Vec<u8>, String> {
    let (table, stream) = fse::Table::read(packed, WEIGHT_ACCURACY)?;
    let mut bits = Backward::new(stream)?;
    let (mut state, mut other) = (table.begin(&mut bits), table.begin(&mut bits));
    if bits.is_overdrawn() {
        return Err("weights of literals end too early".to_owned());
    }
    let mut weights = Vec::new();
    loop {
        weights.push(table.symbol(state));
        state = table.next(state, &mut bits);
        if bits.is_overdrawn() {
            weights.push(table.symbol(other));
            return Ok(weights);
        }
        if weights.len() > WEIGHTS_AT_MOST {
            return Err("too many weights of literals".to_owned());
        }
        std::mem::swap(&mut state, &mut other);
    }
}

/// The first bytes and the rest.
pub(super) fn split(bytes: &[u8], count: usize) -> Result<(&[u8], &[u8]), String> {
    bytes.split_at_checked(count).ok_or_else(|| "a block ends too early".to_owned())
}
