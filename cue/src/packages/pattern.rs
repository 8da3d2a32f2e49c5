//! Package `regexp`: a pattern and a text in, matches out.

use std::ops::Range;

use super::arguments::{integer, text};
use super::{Data, Failure, INTEGER, Kinds, Package, Parameter, TEXT, function};
use crate::regexp::{Regexp, quote_meta};

type Outcome = Result<Data, Failure>;

const S: Kinds = Kinds::STRING;
const L: Kinds = Kinds::LIST;
const TWO: &[Parameter] = &[TEXT, TEXT];
const WITH_LIMIT: &[Parameter] = &[TEXT, TEXT, INTEGER];

pub(super) static PACKAGE: Package = Package {
    path: "regexp",
    constants: &[],
    declarations: "",
    functions: &[
        function("Find", TWO, S, |a| Ok(Data::text(group(text(a, 1)?, first(a)?.first())))),
        function("FindAll", WITH_LIMIT, L, |a| {
            let subject = text(a, 1)?;
            Ok(Data::texts(all(a)?.1.iter().map(|m| group(subject, m.first()))))
        }),
        function("FindAllNamedSubmatch", WITH_LIMIT, L, |a| {
            let (regexp, found) = all(a)?;
            let subject = text(a, 1)?;
            Ok(Data::List(found.iter().map(|m| named(&regexp, subject, m)).collect()))
        }),
        function("FindAllSubmatch", WITH_LIMIT, L, |a| {
            let subject = text(a, 1)?;
            Ok(Data::List(all(a)?.1.iter().map(|m| groups(subject, m)).collect()))
        }),
        function("FindNamedSubmatch", TWO, Kinds::STRUCT, |a| {
            let regexp = compile(a)?;
            Ok(named(&regexp, text(a, 1)?, &first(a)?))
        }),
        function("FindSubmatch", TWO, L, |a| Ok(groups(text(a, 1)?, &first(a)?))),
        function("ReplaceAll", &[TEXT, TEXT, TEXT], S, |a| replace(a, true)),
        function("ReplaceAllLiteral", &[TEXT, TEXT, TEXT], S, |a| replace(a, false)),
        function("Valid", &[TEXT], Kinds::BOOL, |a| compile(a).map(|_| Data::Bool(true))),
        function("Match", TWO, Kinds::BOOL, |a| Ok(Data::Bool(compile(a)?.is_match(text(a, 1)?)))),
        function("QuoteMeta", &[TEXT], S, |a| Ok(Data::String(quote_meta(text(a, 0)?)))),
    ],
};

type Match = Vec<Option<Range<usize>>>;

fn compile(a: &[Data]) -> Result<Regexp, Failure> {
    Regexp::compile(text(a, 0)?).map_err(Failure::Error)
}

fn no_match() -> Failure {
    Failure::error("no match")
}

fn first(a: &[Data]) -> Result<Match, Failure> {
    compile(a)?.matches(text(a, 1)?, 1).pop().ok_or_else(no_match)
}

fn all(a: &[Data]) -> Result<(Regexp, Vec<Match>), Failure> {
    let regexp = compile(a)?;
    let limit = usize::try_from(integer(a, 2)?).unwrap_or(usize::MAX);
    let found = regexp.matches(text(a, 1)?, limit);
    if found.is_empty() { Err(no_match()) } else { Ok((regexp, found)) }
}

fn group<'t>(subject: &'t str, place: Option<&Option<Range<usize>>>) -> &'t str {
    place.and_then(Option::as_ref).and_then(|range| subject.get(range.clone())).unwrap_or_default()
}

fn groups(subject: &str, found: &Match) -> Data {
    Data::texts((0..found.len()).map(|index| group(subject, found.get(index))))
}

/// Named groups, sorted by name.
fn named(regexp: &Regexp, subject: &str, found: &Match) -> Data {
    let mut fields: Vec<(String, Data)> = regexp
        .group_names()
        .into_iter()
        .enumerate()
        .filter_map(|(index, name)| Some((name?.to_string(), Data::text(group(subject, found.get(index))))))
        .collect();
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    Data::Struct(fields)
}

fn replace(a: &[Data], expand: bool) -> Outcome {
    let (subject, replacement) = (text(a, 1)?, text(a, 2)?);
    let regexp = compile(a)?;
    let mut out = String::new();
    let mut end = 0;
    for found in regexp.matches(subject, usize::MAX) {
        let Some(Some(whole)) = found.first() else { continue };
        out.push_str(&subject[end..whole.start]);
        if expand {
            expanded(&mut out, replacement, &regexp, subject, &found);
        } else {
            out.push_str(replacement);
        }
        end = whole.end;
        if out.len() > super::arguments::MAX_RESULT {
            return Err(Failure::error("result is too long"));
        }
    }
    out.push_str(&subject[end..]);
    Ok(Data::String(out))
}

/// `$1`, `${1}`, `$name` and `$$` in a replacement.
fn expanded(out: &mut String, template: &str, regexp: &Regexp, subject: &str, found: &Match) {
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
            continue;
        }
        let word = |s: &str| s.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(s.len());
        let (name, after) = match rest.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some((name, after)) if !name.is_empty() && word(name) == name.len() => (name, after),
            _ => rest.split_at(word(rest)),
        };
        if name.is_empty() {
            out.push('$');
            continue;
        }
        let index = name.parse().ok().or_else(|| regexp.group_names().iter().position(|n| *n == Some(name)));
        out.push_str(group(subject, index.and_then(|i: usize| found.get(i))));
        rest = after;
    }
    out.push_str(rest);
}
