//! Zstandard frames (RFC 8878) → their content. Dictionaries are not known, and checksums are passed over: what is unpacked is
//! read as JSON, which finds what is broken.

use super::block::{BLOCK_BYTES_AT_MOST, Memory, little_endian};
use super::huffman::split;

const FRAME: usize = 0xfd2f_b528;
/// Frames of others, by the bits that they have in common.
const SKIPPED: usize = 0x184d_2a50;
const SKIPPED_BITS: usize = 0xffff_fff0;

/// The content of all frames, which must not be larger than the limit.
///
/// # Errors
/// It is not made of such frames, or is larger.
pub(super) fn decompress(packed: &[u8], limit: usize) -> Result<Vec<u8>, String> {
    let mut output = Vec::new();
    let mut rest = packed;
    while !rest.is_empty() {
        let (magic, behind) = split(rest, 4)?;
        rest = match little_endian(magic) {
            FRAME => frame(behind, limit, &mut output)?,
            magic if magic & SKIPPED_BITS == SKIPPED => {
                let (size, behind) = split(behind, 4)?;
                split(behind, little_endian(size))?.1
            }
            magic => return Err(format!("{magic:#x} begins no frame")),
        };
    }
    Ok(output)
}

/// One frame behind its magic number; gives what follows it.
fn frame<'a>(bytes: &'a [u8], limit: usize, output: &mut Vec<u8>) -> Result<&'a [u8], String> {
    let (descriptor, rest) = bytes.split_first().ok_or("a frame ends too early")?;
    let is_single = descriptor & 0x20 != 0;
    let has_checksum = descriptor & 4 != 0;
    let window = usize::from(!is_single);
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = match descriptor >> 6 {
        0 => usize::from(is_single),
        1 => 2,
        2 => 4,
        _ => 8,
    };
    let (_, rest) = split(rest, window)?;
    let (dictionary, rest) = split(rest, dictionary)?;
    if little_endian(dictionary) != 0 {
        return Err("a frame that needs a dictionary".to_owned());
    }
    let (_, mut rest) = split(rest, size)?;
    let mut memory = Memory::new(output.len());
    loop {
        let (header, behind) = split(rest, 3)?;
        let header = little_endian(header);
        rest = block(header, behind, &mut memory, output)?;
        if output.len() > limit {
            return Err(format!("more than {limit} bytes when unpacked"));
        }
        if header & 1 == 1 {
            break;
        }
    }
    Ok(split(rest, if has_checksum { 4 } else { 0 })?.1)
}

/// One block; gives what follows it.
fn block<'a>(
    header: usize,
    bytes: &'a [u8],
    memory: &mut Memory,
    output: &mut Vec<u8>,
) -> Result<&'a [u8], String> {
    let (kind, size) = (header >> 1 & 3, header >> 3);
    if size > BLOCK_BYTES_AT_MOST {
        return Err(format!("a block of more than {BLOCK_BYTES_AT_MOST} bytes"));
    }
    let (content, rest) = split(bytes, if kind == 1 { 1 } else { size })?;
    match kind {
        0 => output.extend_from_slice(content),
        1 => output.extend(std::iter::repeat_n(content[0], size)),
        2 => memory.decode(content, output)?,
        _ => return Err("a block of a kind that there is not".to_owned()),
    }
    Ok(rest)
}
