//! Package `list`: lists in, lists, numbers and verdicts out.

use std::hash::{Hash as _, Hasher as _};

use rustc_hash::{FxHashMap, FxHasher};

use super::arguments::{any, integer, list, number, numbers, size, texts};
use super::{
    ANY, Data, Failure, INTEGER, Kinds, LIST, NUMBER, Package, Special, count, function, lenient, shape,
    special,
};
use crate::number::Decimal;

type Outcome = Result<Data, Failure>;

const B: Kinds = Kinds::BOOL;
const L: Kinds = Kinds::LIST;
const N: Kinds = Kinds::NUMBER;

/// Longest list that `Range` and `Repeat` make: each element becomes a node of the evaluation.
const MAX_ELEMENTS: usize = 1_000_000;

/// Levels of lists that `FlattenN` is shown.
const NESTED: u32 = 32;

/// Deepest nesting that `FlattenN` follows.
const MAX_DEPTH: usize = 500;

pub(super) static PACKAGE: Package = Package {
    path: "list",
    constants: &[],
    declarations: "Comparer: {T: _, x: T, y: T, less: bool}\nAscending: {Comparer, T: number | string, x: T, y: T, less: x < y}\nDescending: {Comparer, T: number | string, x: T, y: T, less: x > y}\n",
    functions: &[
        shape("Drop", &[LIST, INTEGER], L, 1, |a| Ok(part(list(a, 0)?, size(a, 1, "index")?, usize::MAX))),
        shape("FlattenN", &[ANY, INTEGER], L, NESTED, flatten),
        shape("Repeat", &[LIST, INTEGER], L, 1, repeat),
        shape("Concat", &[LIST], L, 2, concat),
        shape("Take", &[LIST, INTEGER], L, 1, |a| Ok(part(list(a, 0)?, 0, size(a, 1, "index")?))),
        shape("Slice", &[LIST, INTEGER, INTEGER], L, 1, slice),
        shape("Reverse", &[LIST], L, 1, |a| Ok(Data::List(list(a, 0)?.iter().rev().cloned().collect()))),
        count("MinItems", &[LIST, INTEGER], |a| Ok(Data::Bool(integer(a, 0)? >= integer(a, 1)?))),
        count("MaxItems", &[LIST, INTEGER], |a| Ok(Data::Bool(integer(a, 0)? <= integer(a, 1)?))),
        lenient("UniqueItems", &[LIST], B, unique),
        lenient("Contains", &[LIST, ANY], B, contains),
        special("MatchN", &[LIST, ANY, ANY], B, Special::ListMatchN),
        function("Avg", &[LIST], N, average),
        function("Max", &[LIST], N, |a| extreme(a, |items| items.into_iter().max())),
        function("Min", &[LIST], N, |a| extreme(a, |items| items.into_iter().min())),
        function("Product", &[LIST], N, |a| folded(a, Decimal::ONE, Decimal::mul)),
        function("Range", &[NUMBER, NUMBER, NUMBER], L, range),
        function("Sum", &[LIST], N, |a| folded(a, Decimal::ZERO, Decimal::add)),
        special("Sort", &[LIST, ANY], L, Special::Sort),
        special("SortStable", &[LIST, ANY], L, Special::Sort),
        function("SortStrings", &[LIST], L, |a| {
            let mut items = texts(a, 0)?;
            items.sort_unstable();
            Ok(Data::texts(items))
        }),
        special("IsSorted", &[LIST, ANY], B, Special::IsSorted),
        function("IsSortedStrings", &[LIST], B, |a| Ok(Data::Bool(texts(a, 0)?.is_sorted()))),
    ],
};

fn contains(a: &[Data]) -> Outcome {
    let wanted = any(a, 1)?;
    Ok(Data::Bool(list(a, 0)?.iter().any(|item| equal(item, wanted))))
}

/// Equality of values: numbers of one kind by value, structs without regard to order.
pub(super) fn equal(a: &Data, b: &Data) -> bool {
    match (a, b) {
        (Data::List(a), Data::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Data::Struct(a), Data::Struct(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, value)| b.iter().any(|(other, found)| name == other && equal(value, found)))
        }
        _ => a == b,
    }
}

fn part(items: &[Data], start: usize, end: usize) -> Data {
    let end = end.min(items.len());
    Data::List(items.get(start.min(end)..end).unwrap_or_default().to_vec())
}

fn slice(a: &[Data]) -> Outcome {
    let (items, start, end) = (list(a, 0)?, size(a, 1, "index")?, integer(a, 2)?);
    let end = usize::try_from(end).ok().filter(|end| *end >= start);
    let end = end
        .ok_or_else(|| Failure::error(format!("invalid index: {start} > {}", integer(a, 2).unwrap_or(-1))))?;
    if end > items.len() {
        return Err(Failure::error("slice bounds out of range"));
    }
    Ok(part(items, start, end))
}

fn repeat(a: &[Data]) -> Outcome {
    let (items, times) = (list(a, 0)?, size(a, 1, "count")?);
    if items.len().saturating_mul(times) > MAX_ELEMENTS {
        return Err(Failure::Budget(format!(
            "count {times} makes a list of more than {MAX_ELEMENTS} elements"
        )));
    }
    Ok(Data::List(std::iter::repeat_n(items, times).flatten().cloned().collect()))
}

fn concat(a: &[Data]) -> Outcome {
    let mut all = Vec::new();
    for (index, item) in list(a, 0)?.iter().enumerate() {
        match item {
            Data::List(items) => all.extend_from_slice(items),
            Data::Opaque(number) => return Err(Failure::Incomplete(*number)),
            _ => return Err(Failure::error(format!("element {index} is not a list"))),
        }
    }
    Ok(Data::List(all))
}

fn flatten(a: &[Data]) -> Outcome {
    fn walk(items: &[Data], depth: i64, level: usize, out: &mut Vec<Data>) -> Result<(), Failure> {
        if level > MAX_DEPTH {
            return Err(Failure::error(format!("lists are nested deeper than {MAX_DEPTH}")));
        }
        for item in items {
            match item {
                Data::List(inner) if depth != 0 => walk(inner, depth.saturating_sub(1), level + 1, out)?,
                other => out.push(other.clone()),
            }
        }
        Ok(())
    }
    let mut out = Vec::new();
    walk(list(a, 0)?, integer(a, 1)?, 0, &mut out)?;
    Ok(Data::List(out))
}

fn unique(a: &[Data]) -> Outcome {
    let items = list(a, 0)?;
    // Only what looks the same from afar is compared: there may be very many.
    let mut alike: FxHashMap<u64, Vec<&Data>> = FxHashMap::default();
    for item in items {
        let mut hasher = FxHasher::default();
        outline(item, &mut hasher);
        let others = alike.entry(hasher.finish()).or_default();
        if others.iter().any(|other| equal(item, other)) {
            return Ok(Data::Bool(false));
        }
        others.push(item);
    }
    Ok(Data::Bool(true))
}

/// Says the same of equal values: of structs, whose fields may stand in any order, the sum of what is said of each.
fn outline(value: &Data, hasher: &mut FxHasher) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Data::Null => {}
        Data::Bool(b) => b.hash(hasher),
        Data::Number { value, .. } => value.to_f64().to_bits().hash(hasher),
        Data::String(text) => text.hash(hasher),
        Data::Bytes(bytes) => bytes.hash(hasher),
        Data::Opaque(number) => number.hash(hasher),
        Data::List(items) => items.iter().for_each(|item| outline(item, hasher)),
        Data::Struct(fields) => {
            let field = |(name, value): &(String, Data)| {
                let mut own = FxHasher::default();
                name.hash(&mut own);
                outline(value, &mut own);
                own.finish()
            };
            fields.iter().map(field).fold(0_u64, u64::wrapping_add).hash(hasher);
        }
    }
}

fn folded(
    a: &[Data],
    start: Decimal,
    step: fn(&Decimal, &Decimal) -> Result<Decimal, crate::number::NumberError>,
) -> Outcome {
    let mut total = start;
    for item in numbers(a, 0)? {
        total = step(&total, item)?;
    }
    Ok(Data::number(total))
}

fn extreme(a: &[Data], choose: for<'t> fn(Vec<&'t Decimal>) -> Option<&'t Decimal>) -> Outcome {
    let best = choose(numbers(a, 0)?).ok_or_else(|| Failure::error("empty list"))?;
    Ok(Data::number(best.clone()))
}

fn average(a: &[Data]) -> Outcome {
    let items = numbers(a, 0)?;
    if items.is_empty() {
        return Err(Failure::error("empty list"));
    }
    let mut total = Decimal::ZERO;
    for item in &items {
        total = total.add(item)?;
    }
    Ok(Data::number(total.quo(&Decimal::from(i64::try_from(items.len()).unwrap_or(i64::MAX)))?))
}

fn range(a: &[Data]) -> Outcome {
    let (start, limit, step) = (number(a, 0)?, number(a, 1)?, number(a, 2)?);
    if step.is_zero() {
        return Err(Failure::error("step must be non zero"));
    }
    let down = step.is_negative();
    if !down && start > limit {
        return Err(Failure::error("end must be greater than start when step is positive"));
    }
    if down && start < limit {
        return Err(Failure::error("end must be less than start when step is negative"));
    }
    let mut items = Vec::new();
    let mut current = start.clone();
    while if down { current > *limit } else { current < *limit } {
        if items.len() >= MAX_ELEMENTS {
            return Err(Failure::Budget(format!("range has more than {MAX_ELEMENTS} elements")));
        }
        items.push(Data::number(current.clone()));
        current = step.add(&current)?;
    }
    Ok(Data::List(items))
}
