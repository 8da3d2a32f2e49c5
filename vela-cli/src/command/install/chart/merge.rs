//! The texts of an object for each selection of choices → one template, in which only the lines that differ are conditional.

use super::choices::{CHOICES, Mask, closed};

const IF: &str = "{{- if ";
const END: &str = "{{- end }}";

/// Which choices make a difference, and the text for a selection; no lines where there is no object.
pub(super) struct Tree<'a, F: FnMut(Mask) -> Vec<String>> {
    pub(super) relevant: &'a [usize],
    pub(super) variant: F,
}

/// The template below the choices `on` and `off`, of which the first `at` relevant ones are made; nothing where they
/// contradict each other.
pub(super) fn merged<F: FnMut(Mask) -> Vec<String>>(
    tree: &mut Tree<'_, F>,
    at: usize,
    on: Mask,
    off: Mask,
) -> Option<Vec<String>> {
    let Some(choice) = tree.relevant.get(at) else {
        let mask = closed(on);
        return (mask & off == 0).then(|| (tree.variant)(mask));
    };
    let with = merged(tree, at + 1, on | 1 << choice, off);
    let without = merged(tree, at + 1, on, off | 1 << choice);
    match (with, without) {
        (Some(with), Some(without)) => Some(either(CHOICES[*choice].condition, &with, &without)),
        (with, without) => with.or(without),
    }
}

/// The lines that both have stand once; the others below the condition.
fn either(condition: &str, with: &[String], without: &[String]) -> Vec<String> {
    if with == without {
        return with.to_vec();
    }
    let head = whole(with.iter().zip(without).take_while(|(a, b)| a == b).map(|(line, _)| line));
    let (with_rest, without_rest) = (&with[head..], &without[head..]);
    let tail = whole(
        with_rest
            .iter()
            .rev()
            .zip(without_rest.iter().rev())
            .take_while(|(a, b)| a == b)
            .map(|(line, _)| line),
    );
    let (on, end) = with_rest.split_at(with_rest.len() - tail);
    let off = &without_rest[..without_rest.len() - tail];
    let mut out = with[..head].to_vec();
    match (on, off) {
        ([], off) => {
            out.push(format!("{IF}not {condition} }}}}"));
            out.extend_from_slice(off);
        }
        (on, off) => {
            out.push(format!("{IF}{condition} }}}}"));
            out.extend_from_slice(on);
            if !off.is_empty() {
                out.push("{{- else }}".to_owned());
                out.extend_from_slice(off);
            }
        }
    }
    out.push(END.to_owned());
    out.extend_from_slice(end);
    out
}

/// How many of the lines there are up to which no condition is cut in two.
fn whole<'a>(lines: impl Iterator<Item = &'a String>) -> usize {
    let (mut depth, mut whole) = (0_i32, 0);
    for (index, line) in lines.enumerate() {
        depth += i32::from(line.starts_with(IF)) - i32::from(line == END);
        if depth == 0 {
            whole = index + 1;
        }
    }
    whole
}

#[test]
fn only_lines_that_differ_are_conditional() {
    let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(either("x", &lines("a b c"), &lines("a c")), ["a", "{{- if x }}", "b", "{{- end }}", "c"]);
    assert_eq!(either("x", &lines("a c"), &lines("a b c"))[1], "{{- if not x }}");
    let both = either("x", &lines("a b d"), &lines("a c d"));
    assert_eq!(both.join(" "), "a {{- if x }} b {{- else }} c {{- end }} d");
    let nested =
        either("y", &either("x", &lines("a b"), &lines("a")), &either("x", &lines("a c"), &lines("a")));
    assert_eq!(
        nested.join(" "),
        "a {{- if y }} {{- if x }} b {{- end }} {{- else }} {{- if x }} c {{- end }} {{- end }}"
    );
}
