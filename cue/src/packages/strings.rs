//! Package `strings`: texts in, texts out, counted in Unicode code points or bytes as the names say.

use super::arguments::{MAX_RESULT, bytes, integer, size, text, texts};
use super::{BYTES, Data, Failure, Function, INTEGER, Kinds, LIST, Package, TEXT, function};

type Outcome = Result<Data, Failure>;

const S: Kinds = Kinds::STRING;
const B: Kinds = Kinds::BOOL;
const I: Kinds = Kinds::INT;
const L: Kinds = Kinds::LIST;
/// Most repetitions, the same as the reference allows.
const MAX_REPEAT: usize = 1_000_000;

const TWO: &[super::Parameter] = &[TEXT, TEXT];

pub(super) static PACKAGE: Package = Package {
    path: "strings",
    constants: &[],
    declarations: "",
    functions: &[
        function("ByteAt", &[BYTES, INTEGER], I, byte_at),
        function("ByteSlice", &[BYTES, INTEGER, INTEGER], Kinds::BYTES.or(S), byte_slice),
        function("Runes", &[TEXT], L, runes),
        function("Repeat", &[TEXT, INTEGER], S, repeat),
        function("MinRunes", &[TEXT, INTEGER], B, min_runes),
        function("MaxRunes", &[TEXT, INTEGER], B, max_runes),
        function("ToTitle", &[TEXT], S, to_title),
        function("ToCamel", &[TEXT], S, to_camel),
        function("SliceRunes", &[TEXT, INTEGER, INTEGER], S, slice_runes),
        function("Compare", TWO, I, |a| Ok(Data::int(text(a, 0)?.cmp(text(a, 1)?) as i32))),
        function("Count", TWO, I, |a| Ok(length(count(text(a, 0)?, text(a, 1)?)))),
        function("Contains", TWO, B, |a| Ok(Data::Bool(text(a, 0)?.contains(text(a, 1)?)))),
        function("ContainsAny", TWO, B, |a| {
            let any = text(a, 1)?;
            Ok(Data::Bool(text(a, 0)?.contains(|c| any.contains(c))))
        }),
        function("Index", TWO, I, |a| Ok(position(text(a, 0)?.find(text(a, 1)?)))),
        function("LastIndex", TWO, I, |a| Ok(position(text(a, 0)?.rfind(text(a, 1)?)))),
        function("IndexAny", TWO, I, |a| {
            let any = text(a, 1)?;
            Ok(position(text(a, 0)?.find(|c| any.contains(c))))
        }),
        function("LastIndexAny", TWO, I, |a| {
            let any = text(a, 1)?;
            Ok(position(text(a, 0)?.rfind(|c| any.contains(c))))
        }),
        function("SplitN", &[TEXT, TEXT, INTEGER], L, |a| {
            split(text(a, 0)?, text(a, 1)?, integer(a, 2)?, false)
        }),
        function("SplitAfterN", &[TEXT, TEXT, INTEGER], L, |a| {
            split(text(a, 0)?, text(a, 1)?, integer(a, 2)?, true)
        }),
        function("Split", TWO, L, |a| split(text(a, 0)?, text(a, 1)?, -1, false)),
        function("SplitAfter", TWO, L, |a| split(text(a, 0)?, text(a, 1)?, -1, true)),
        function("Fields", &[TEXT], L, |a| Ok(Data::texts(text(a, 0)?.split_whitespace()))),
        function("Join", &[LIST, TEXT], S, join),
        function("HasPrefix", TWO, B, |a| Ok(Data::Bool(text(a, 0)?.starts_with(text(a, 1)?)))),
        function("HasSuffix", TWO, B, |a| Ok(Data::Bool(text(a, 0)?.ends_with(text(a, 1)?)))),
        function("ToUpper", &[TEXT], S, |a| Ok(Data::String(text(a, 0)?.chars().map(upper).collect()))),
        function("ToLower", &[TEXT], S, |a| Ok(Data::String(text(a, 0)?.chars().map(lower).collect()))),
        trim("Trim", |a| trimmed(a, |s, set| s.trim_matches(|c| set.contains(c)))),
        trim("TrimLeft", |a| trimmed(a, |s, set| s.trim_start_matches(|c| set.contains(c)))),
        trim("TrimRight", |a| trimmed(a, |s, set| s.trim_end_matches(|c| set.contains(c)))),
        function("TrimSpace", &[TEXT], S, |a| Ok(Data::text(text(a, 0)?.trim()))),
        trim("TrimPrefix", |a| trimmed(a, |s, affix| s.strip_prefix(affix).unwrap_or(s))),
        trim("TrimSuffix", |a| trimmed(a, |s, affix| s.strip_suffix(affix).unwrap_or(s))),
        function("Replace", &[TEXT, TEXT, TEXT, INTEGER], S, replace),
    ],
};

const fn trim(name: &'static str, run: fn(&[Data]) -> Outcome) -> Function {
    function(name, TWO, S, run)
}

fn trimmed(a: &[Data], cut: for<'t> fn(&'t str, &str) -> &'t str) -> Outcome {
    Ok(Data::text(cut(text(a, 0)?, text(a, 1)?)))
}

fn length(count: usize) -> Data {
    Data::int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn position(at: Option<usize>) -> Data {
    at.map_or_else(|| Data::int(-1), length)
}

fn out_of_range() -> Failure {
    Failure::error("index out of range")
}

/// Case mapping is one code point to one, so that lengths in code points never change.
fn single(c: char, mut mapped: impl ExactSizeIterator<Item = char>) -> char {
    if mapped.len() == 1 { mapped.next().unwrap_or(c) } else { c }
}

fn upper(c: char) -> char {
    single(c, c.to_uppercase())
}

fn lower(c: char) -> char {
    // The dotted capital İ is the one letter whose single lower-case form the full mapping hides.
    if c == 'İ' { 'i' } else { single(c, c.to_lowercase()) }
}

fn title(c: char) -> char {
    match c {
        'Ǆ' | 'ǆ' => 'ǅ',
        'Ǉ' | 'ǉ' => 'ǈ',
        'Ǌ' | 'ǌ' => 'ǋ',
        'Ǳ' | 'ǳ' => 'ǲ',
        _ => upper(c),
    }
}

fn at_word_starts(text: &str, map: fn(char) -> char) -> String {
    let mut previous = ' ';
    text.chars()
        .map(|c| {
            let mapped = if previous.is_whitespace() { map(c) } else { c };
            previous = c;
            mapped
        })
        .collect()
}

fn to_title(a: &[Data]) -> Outcome {
    Ok(Data::String(at_word_starts(text(a, 0)?, title)))
}

fn to_camel(a: &[Data]) -> Outcome {
    Ok(Data::String(at_word_starts(text(a, 0)?, lower)))
}

fn byte_at(a: &[Data]) -> Outcome {
    let at = usize::try_from(integer(a, 1)?).map_err(|_| out_of_range())?;
    let byte = bytes(a, 0)?.get(at).ok_or_else(out_of_range)?;
    Ok(Data::int(i64::from(*byte)))
}

fn range(a: &[Data]) -> Result<std::ops::Range<usize>, Failure> {
    let bound = |index| usize::try_from(integer(a, index)?).map_err(|_| out_of_range());
    let (start, end) = (bound(1)?, bound(2)?);
    if start > end { Err(out_of_range()) } else { Ok(start..end) }
}

fn byte_slice(a: &[Data]) -> Outcome {
    let slice = bytes(a, 0)?.get(range(a)?).ok_or_else(out_of_range)?;
    Ok(Data::Bytes(slice.to_vec()))
}

fn runes(a: &[Data]) -> Outcome {
    Ok(Data::List(text(a, 0)?.chars().map(|c| Data::int(i64::from(u32::from(c)))).collect()))
}

fn slice_runes(a: &[Data]) -> Outcome {
    let characters: Vec<char> = text(a, 0)?.chars().collect();
    let slice = characters.get(range(a)?).ok_or_else(out_of_range)?;
    Ok(Data::String(slice.iter().collect()))
}

fn repeat(a: &[Data]) -> Outcome {
    let (unit, times) = (text(a, 0)?, size(a, 1, "count")?);
    if times > MAX_REPEAT {
        return Err(Failure::Budget(format!("count {times} exceeds limit of {MAX_REPEAT}")));
    }
    if unit.len().saturating_mul(times) > MAX_RESULT {
        return Err(Failure::Budget(format!("count {times} makes a text of more than {MAX_RESULT} bytes")));
    }
    Ok(Data::String(unit.repeat(times)))
}

fn rune_count(a: &[Data]) -> Result<i64, Failure> {
    Ok(i64::try_from(text(a, 0)?.chars().count()).unwrap_or(i64::MAX))
}

fn min_runes(a: &[Data]) -> Outcome {
    Ok(Data::Bool(rune_count(a)? >= integer(a, 1)?))
}

fn max_runes(a: &[Data]) -> Outcome {
    Ok(Data::Bool(rune_count(a)? <= integer(a, 1)?))
}

fn count(text: &str, part: &str) -> usize {
    if part.is_empty() { text.chars().count() + 1 } else { text.matches(part).count() }
}

/// `limit` below zero: all parts; zero: none. An empty separator splits after every code point.
fn split(text: &str, separator: &str, limit: i64, keep: bool) -> Outcome {
    if limit == 0 {
        return Ok(Data::List(Vec::new()));
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    let mut rest = text;
    while parts.len() + 1 < limit {
        let cut = if separator.is_empty() {
            rest.chars()
                .next()
                .map(char::len_utf8)
                .filter(|width| *width < rest.len())
                .map(|width| (width, width))
        } else {
            rest.find(separator)
                .map(|at| (if keep { at + separator.len() } else { at }, at + separator.len()))
        };
        let Some((end, next)) = cut else { break };
        parts.push(&rest[..end]);
        rest = &rest[next..];
    }
    if !(separator.is_empty() && text.is_empty()) {
        parts.push(rest);
    }
    Ok(Data::texts(parts))
}

fn join(a: &[Data]) -> Outcome {
    Ok(Data::String(texts(a, 0)?.join(text(a, 1)?)))
}

fn replace(a: &[Data]) -> Outcome {
    let (source, old, new) = (text(a, 0)?, text(a, 1)?, text(a, 2)?);
    let limit = usize::try_from(integer(a, 3)?).unwrap_or(usize::MAX);
    let growth = count(source, old).min(limit).saturating_mul(new.len());
    if growth > MAX_RESULT {
        return Err(Failure::Budget(format!("result would be longer than {MAX_RESULT} bytes")));
    }
    Ok(Data::String(source.replacen(old, new, limit)))
}
