//! Two texts in; the lines in which they differ out, with `-`, `+` and three lines around.

/// Lines shown around a change.
const AROUND: usize = 3;

/// Longer texts are told apart only as a whole between what they share at both ends.
const MAX_LINES: usize = 5_000;

/// A unified diff, empty when there is no difference.
pub(crate) fn unified(name: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let (a, b): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let edits = edits(&a, &b);
    let mut out = format!("--- {name}\n+++ {name}\n");
    let mut at = 0;
    while let Some(first) = edits[at..].iter().position(|edit| edit.0 != ' ').map(|i| at + i) {
        let start = first.saturating_sub(AROUND).max(at);
        let mut end = first;
        let mut last = first;
        while end < edits.len() && end <= last + 2 * AROUND {
            if edits[end].0 != ' ' {
                last = end;
            }
            end += 1;
        }
        let end = (last + AROUND + 1).min(edits.len());
        let count = |range: &[(char, &str)], mark| range.iter().filter(|edit| edit.0 != mark).count();
        let (before, hunk) = (&edits[..start], &edits[start..end]);
        out.push_str(&format!(
            "@@ -{},{} +{},{} @@\n",
            count(before, '+') + 1,
            count(hunk, '+'),
            count(before, '-') + 1,
            count(hunk, '-')
        ));
        for (mark, line) in hunk {
            out.push_str(&format!("{mark}{line}\n"));
        }
        at = end;
    }
    out
}

/// Every line of both texts with ` `, `-` or `+`, by the longest common subsequence.
fn edits<'a>(a: &[&'a str], b: &[&'a str]) -> Vec<(char, &'a str)> {
    let head = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(x, y)| x == y).count();
    let (x, y) = (&a[head..a.len() - tail], &b[head..b.len() - tail]);
    let mut out: Vec<(char, &str)> = a[..head].iter().map(|line| (' ', *line)).collect();
    if x.len() > MAX_LINES || y.len() > MAX_LINES {
        out.extend(x.iter().map(|line| ('-', *line)));
        out.extend(y.iter().map(|line| ('+', *line)));
    } else {
        let mut common = vec![vec![0u32; y.len() + 1]; x.len() + 1];
        for i in (0..x.len()).rev() {
            for j in (0..y.len()).rev() {
                common[i][j] = if x[i] == y[j] {
                    common[i + 1][j + 1] + 1
                } else {
                    common[i + 1][j].max(common[i][j + 1])
                };
            }
        }
        let (mut i, mut j) = (0, 0);
        while i < x.len() || j < y.len() {
            if i < x.len() && j < y.len() && x[i] == y[j] {
                out.push((' ', x[i]));
                (i, j) = (i + 1, j + 1);
            } else if j == y.len() || (i < x.len() && common[i + 1][j] >= common[i][j + 1]) {
                out.push(('-', x[i]));
                i += 1;
            } else {
                out.push(('+', y[j]));
                j += 1;
            }
        }
    }
    out.extend(a[a.len() - tail..].iter().map(|line| (' ', *line)));
    out
}
