//! A compressed block (RFC 8878, 3.1.1.3) → bytes behind those that were there before it.

use super::huffman::{Codes, split};
use super::sequences::{Sequence, Tables};

/// A block becomes no larger.
pub(super) const BLOCK_BYTES_AT_MOST: usize = 128 << 10;

/// The state that one block hands to the next.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    codes: Option<Codes>,
    tables: Tables,
    /// The last distances.
    offsets: [usize; 3],
    /// Where the frame begins: nothing before it may be repeated.
    begin: usize,
}

impl Memory {
    /// At the beginning of a frame.
    pub(super) fn new(begin: usize) -> Self {
        Self { codes: None, tables: Tables::default(), offsets: [1, 4, 8], begin }
    }

    /// Appends what a block means.
    pub(super) fn decode(&mut self, block: &[u8], output: &mut Vec<u8>) -> Result<(), String> {
        let before = output.len();
        let (literals, rest) = self.literals(block)?;
        let mut literals = literals.as_slice();
        for sequence in self.tables.sequences(rest)? {
            let (now, later) = literals
                .split_at_checked(sequence.literals)
                .ok_or("a sequence of literals that there are not")?;
            output.extend_from_slice(now);
            literals = later;
            self.repeat(sequence, output)?;
            if output.len() - before > BLOCK_BYTES_AT_MOST {
                return Err(format!("a block of more than {BLOCK_BYTES_AT_MOST} bytes"));
            }
        }
        output.extend_from_slice(literals);
        match output.len() - before > BLOCK_BYTES_AT_MOST {
            true => Err(format!("a block of more than {BLOCK_BYTES_AT_MOST} bytes")),
            false => Ok(()),
        }
    }

    /// Repeats what was there before; it may reach into what it makes.
    fn repeat(&mut self, sequence: Sequence, output: &mut Vec<u8>) -> Result<(), String> {
        let offset = self.offset(sequence)?;
        if sequence.length > BLOCK_BYTES_AT_MOST {
            return Err(format!("a block of more than {BLOCK_BYTES_AT_MOST} bytes"));
        }
        let from = output.len().checked_sub(offset).filter(|from| *from >= self.begin && offset > 0);
        let from = from.ok_or("a sequence that repeats what was never there")?;
        for at in from..from + sequence.length {
            output.push(output[at]);
        }
        Ok(())
    }

    /// How far back it is. The least values mean one of the last distances; where no literals come, the first of them would
    /// only go on with the last sequence, so they mean the next one each.
    fn offset(&mut self, sequence: Sequence) -> Result<usize, String> {
        let [first, second, third] = self.offsets;
        if let Some(offset) = sequence.offset.checked_sub(3).filter(|offset| *offset > 0) {
            self.offsets = [offset, first, second];
            return Ok(offset);
        }
        let offset = match sequence.offset + usize::from(sequence.literals == 0) {
            1 => return Ok(first),
            2 => {
                self.offsets = [second, first, third];
                return Ok(second);
            }
            3 => third,
            4 => first.checked_sub(1).filter(|offset| *offset > 0).ok_or("a sequence without a distance")?,
            _ => return Err("a sequence without a distance".to_owned()),
        };
        self.offsets = [offset, first, second];
        Ok(offset)
    }

    /// The literals of a block, and what follows them.
    fn literals<'a>(&mut self, block: &'a [u8]) -> Result<(Vec<u8>, &'a [u8]), String> {
        let first = *block.first().ok_or("an empty block")?;
        let (kind, format) = (first & 3, first >> 2 & 3);
        if kind < 2 {
            let (length, shift) = match format {
                1 => (2, 4),
                3 => (3, 4),
                _ => (1, 3),
            };
            let (header, rest) = split(block, length)?;
            let count = little_endian(header) >> shift;
            return plain(kind, count, rest);
        }
        let (length, bits) = match format {
            0 | 1 => (3, 10),
            2 => (4, 14),
            _ => (5, 18),
        };
        let (header, rest) = split(block, length)?;
        let header = little_endian(header) >> 4;
        let (count, packed) = (header & ((1 << bits) - 1), header >> bits);
        if count > BLOCK_BYTES_AT_MOST {
            return Err(format!("a block of more than {BLOCK_BYTES_AT_MOST} bytes"));
        }
        let (packed, rest) = split(rest, packed)?;
        let streams = match kind {
            2 => {
                let (codes, streams) = Codes::read(packed)?;
                self.codes = Some(codes);
                streams
            }
            _ => packed,
        };
        let codes = self.codes.as_ref().ok_or("a block that uses codes again that there are not")?;
        Ok((decoded(codes, format == 0, streams, count)?, rest))
    }
}

/// Literals as they are, or one of them many times.
fn plain(kind: u8, count: usize, rest: &[u8]) -> Result<(Vec<u8>, &[u8]), String> {
    if count > BLOCK_BYTES_AT_MOST {
        return Err(format!("a block of more than {BLOCK_BYTES_AT_MOST} bytes"));
    }
    if kind == 0 {
        let (literals, rest) = split(rest, count)?;
        return Ok((literals.to_vec(), rest));
    }
    let (literal, rest) = rest.split_first().ok_or("a block ends too early")?;
    Ok((vec![*literal; count], rest))
}

/// Literals of one stream or of four.
fn decoded(codes: &Codes, is_single: bool, streams: &[u8], count: usize) -> Result<Vec<u8>, String> {
    let mut literals = Vec::with_capacity(count);
    if is_single {
        codes.decode(streams, count, &mut literals)?;
        return Ok(literals);
    }
    let (sizes, mut rest) = split(streams, 6)?;
    let each = count.div_ceil(4);
    for size in sizes.chunks_exact(2) {
        let (stream, later) = split(rest, little_endian(size))?;
        codes.decode(stream, each, &mut literals)?;
        rest = later;
    }
    let left = count.checked_sub(literals.len()).ok_or("literals that do not add up")?;
    codes.decode(rest, left, &mut literals)?;
    Ok(literals)
}

/// A number of up to eight bytes, the least first.
pub(super) fn little_endian(bytes: &[u8]) -> usize {
    let value = bytes.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    usize::try_from(value).unwrap_or(usize::MAX)
}
