//! The sequences of a block (RFC 8878, 3.1.1.3.2): how many literals come, and what is repeated from where after them.

use super::bits::Backward;
use super::fse::Table;
use super::huffman::split;

/// Base and further bits of the codes of how many literals come: those before are the number itself.
const LITERALS: [(u32, u32); 20] = [
    (16, 1),
    (18, 1),
    (20, 1),
    (22, 1),
    (24, 2),
    (28, 2),
    (32, 3),
    (40, 3),
    (48, 4),
    (64, 6),
    (128, 7),
    (256, 8),
    (512, 9),
    (1024, 10),
    (2048, 11),
    (4096, 12),
    (8192, 13),
    (16384, 14),
    (32768, 15),
    (65536, 16),
];
/// The same of how much is repeated: those before are the number less three.
const MATCHES: [(u32, u32); 21] = [
    (35, 1),
    (37, 1),
    (39, 1),
    (41, 1),
    (43, 2),
    (47, 2),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 5),
    (131, 7),
    (259, 8),
    (515, 9),
    (1027, 10),
    (2051, 11),
    (4099, 12),
    (8195, 13),
    (16387, 14),
    (32771, 15),
    (65539, 16),
];
/// Codes of how much is repeated that are a number.
const MATCH_NUMBERS: u8 = 32;
/// The least that is repeated.
const MATCH_AT_LEAST: u32 = 3;
/// Codes of how many literals come that are a number.
const LITERAL_NUMBERS: u8 = 16;
/// The largest code of how far back it is.
const OFFSET_CODE_AT_MOST: u8 = 31;

/// One of the three fields of a sequence.
struct Field {
    accuracy: u32,
    accuracy_at_most: u32,
    /// Counts of the table that is used where none is written.
    counts: &'static [i32],
}

const LITERAL_FIELD: Field = Field {
    accuracy: 6,
    accuracy_at_most: 9,
    counts: &[
        4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1,
        -1, -1, -1,
    ],
};
const OFFSET_FIELD: Field = Field {
    accuracy: 5,
    accuracy_at_most: 8,
    counts: &[1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1],
};
const MATCH_FIELD: Field = Field {
    accuracy: 6,
    accuracy_at_most: 9,
    counts: &[
        1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
    ],
};

/// One step of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    /// Literals that come first.
    pub(super) literals: usize,
    /// Bytes that are repeated after them.
    pub(super) length: usize,
    /// How far back they are; up to three a number in the list of the last ones.
    pub(super) offset: usize,
}

/// The tables of the last block, which the next one may use again.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    literals: Option<Table>,
    offsets: Option<Table>,
    matches: Option<Table>,
}

impl Tables {
    /// All sequences of a block.
    pub(super) fn sequences(&mut self, bytes: &[u8]) -> Result<Vec<Sequence>, String> {
        let (count, rest) = number(bytes)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let (modes, rest) = rest.split_first().ok_or("a block without modes of its tables")?;
        let rest = choose(&mut self.literals, modes >> 6, &LITERAL_FIELD, rest)?;
        let rest = choose(&mut self.offsets, modes >> 4 & 3, &OFFSET_FIELD, rest)?;
        let rest = choose(&mut self.matches, modes >> 2 & 3, &MATCH_FIELD, rest)?;
        let (Some(literals), Some(offsets), Some(matches)) = (&self.literals, &self.offsets, &self.matches)
        else {
            return Err("a block that uses a table again that there is not".to_owned());
        };
        let mut bits = Backward::new(rest)?;
        let (mut literal, mut offset, mut matched) =
            (literals.begin(&mut bits), offsets.begin(&mut bits), matches.begin(&mut bits));
        let mut sequences = Vec::new();
        for left in (0..count).rev() {
            let codes = (literals.symbol(literal), offsets.symbol(offset), matches.symbol(matched));
            sequences.push(sequence(codes, &mut bits)?);
            if left > 0 {
                literal = literals.next(literal, &mut bits);
                matched = matches.next(matched, &mut bits);
                offset = offsets.next(offset, &mut bits);
            }
            if bits.is_overdrawn() {
                return Err("sequences end too early".to_owned());
            }
        }
        match bits.is_at_end() {
            true => Ok(sequences),
            false => Err("more sequences than there should be".to_owned()),
        }
    }
}

/// How many sequences there are, and what follows.
fn number(bytes: &[u8]) -> Result<(usize, &[u8]), String> {
    let byte = |at: usize| bytes.get(at).copied().map(usize::from).ok_or("a block without sequences");
    let (count, length) = match byte(0)? {
        first @ 0..128 => (first, 1),
        first @ 128..255 => (((first - 128) << 8) + byte(1)?, 2),
        _ => (byte(1)? + (byte(2)? << 8) + 0x7f00, 3),
    };
    let (_, rest) = split(bytes, length)?;
    Ok((count, rest))
}

/// The table of a field in this mode, and what follows its description.
fn choose<'a>(
    table: &mut Option<Table>,
    mode: u8,
    field: &Field,
    bytes: &'a [u8],
) -> Result<&'a [u8], String> {
    let (chosen, rest) = match mode {
        0 => (Table::of(field.counts, field.accuracy)?, bytes),
        1 => {
            let (symbol, rest) = bytes.split_first().ok_or("a block ends too early")?;
            (Table::single(*symbol), rest)
        }
        2 => Table::read(bytes, field.accuracy_at_most)?,
        _ => return Ok(bytes),
    };
    *table = Some(chosen);
    Ok(rest)
}

fn sequence((literal, offset, matched): (u8, u8, u8), bits: &mut Backward<'_>) -> Result<Sequence, String> {
    if offset > OFFSET_CODE_AT_MOST {
        return Err(format!("an offset of code {offset}"));
    }
    let offset = (1_u64 << offset) + u64::from(bits.read(u32::from(offset)));
    let length = match matched.checked_sub(MATCH_NUMBERS) {
        None => u32::from(matched) + MATCH_AT_LEAST,
        Some(code) => value(&MATCHES, code, bits)?,
    };
    let literals = match literal.checked_sub(LITERAL_NUMBERS) {
        None => u32::from(literal),
        Some(code) => value(&LITERALS, code, bits)?,
    };
    let number = |value: u64| usize::try_from(value).map_err(|error| error.to_string());
    Ok(Sequence {
        literals: number(u64::from(literals))?,
        length: number(u64::from(length))?,
        offset: number(offset)?,
    })
}

fn value(codes: &[(u32, u32)], code: u8, bits: &mut Backward<'_>) -> Result<u32, String> {
    let (base, more) = codes.get(usize::from(code)).ok_or("a code of a sequence that there is not")?;
    Ok(base + bits.read(*more))
}
