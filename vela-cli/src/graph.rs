//! The tree of an application as a picture: an SVG file that needs no script, no font and no network.
//!
//! It names each health in words beside its colour, and has its own ground, so that it can be read on light and dark pages.

use std::fmt::Write as _;

use crate::health::Health;
use crate::screen::{cut, text_width};
use crate::tree::Node;

/// Boxes that are drawn; those beyond are counted.
const MOST_BOXES: usize = 1_000;
/// Columns of a line in a box. A longer line is cut; the box has all of it as its title.
const MOST_COLUMNS: usize = 96;
/// Columns between a health and what is said about it.
const GAP: usize = 2;
/// An origin that would be cut shorter is left out.
const LEAST_ORIGIN: usize = 4;
/// Columns of the title of a box.
const LONGEST_TITLE: usize = 2_000;

/// Pixels: a column and the letters, the box, and the distances between boxes and from the edge.
const COLUMN: usize = 8;
const FONT: usize = 13;
const BOX: usize = 46;
const ROW: usize = 56;
const INDENT: usize = 28;
const PAD: usize = 14;
const EDGE: usize = 16;
/// The stripe of its health at the left of a box.
const STRIPE: usize = 5;

/// Colours by the scheme of the person who looks.
const STYLE: &str = "\
text { font: 13px ui-monospace, Menlo, Consolas, \"DejaVu Sans Mono\", monospace; fill: #1f2328; white-space: pre; }
path { fill: none; stroke: #818b98; }
.ground { fill: #ffffff; } .box { fill: #f6f8fa; stroke: #d1d9e0; }
.name { font-weight: bold; } .dim { fill: #59636e; }
.healthy .mark { fill: #1a7f37; } .progressing .mark { fill: #9a6700; }
.unhealthy .mark, .missing .mark { fill: #cf222e; } .unknown .mark { fill: #59636e; }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc; }
path { stroke: #656c76; }
.ground { fill: #0d1117; } .box { fill: #151b23; stroke: #3d444d; }
.dim { fill: #9198a1; }
.healthy .mark { fill: #3fb950; } .progressing .mark { fill: #d29922; }
.unhealthy .mark, .missing .mark { fill: #f85149; } .unknown .mark { fill: #9198a1; }
}
";

/// A node at its place.
struct Row<'a> {
    node: &'a Node,
    depth: usize,
    /// The row of the node above it.
    above: Option<usize>,
}

/// The picture of a tree.
pub(crate) fn svg(root: &Node) -> String {
    let mut rows = Vec::new();
    collect(root, (0, None), &mut rows);
    let left_out = rows.len().saturating_sub(MOST_BOXES);
    let counts = counts(&rows);
    rows.truncate(MOST_BOXES);

    let texts: Vec<Texts> = rows.iter().map(|row| Texts::of(row.node)).collect();
    let right =
        rows.iter().zip(&texts).map(|(row, texts)| left(row.depth) + texts.width(row.node.health.word()));
    let width = right.max().unwrap_or_default() + EDGE;
    let lines = rows.len() * ROW + if left_out > 0 { ROW } else { 0 };
    let height = lines + 2 * EDGE - (ROW - BOX);

    let mut out = String::new();
    let title = format!("{}: {}", named(root), root.worst().word());
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"title desc\">\n\
         <title id=\"title\">{}</title>\n\
         <desc id=\"desc\">Its components and objects as a tree, each with its health: {counts}.</desc>\n\
         <style>\n{STYLE}</style>\n\
         <rect class=\"ground\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>\n",
        escaped(&title)
    );
    for (index, row) in rows.iter().enumerate() {
        if let Some(above) = row.above {
            let (x, from, to) = (left(row.depth - 1) + INDENT / 2, top(above) + BOX, top(index) + BOX / 2);
            let _ = writeln!(out, "<path d=\"M{x} {from}V{to}H{}\"/>", left(row.depth));
        }
    }
    for (index, (row, texts)) in rows.iter().zip(&texts).enumerate() {
        draw(row, texts, top(index), &mut out);
    }
    if left_out > 0 {
        let y = top(rows.len()) + BOX / 2;
        let _ =
            writeln!(out, "<text class=\"dim\" x=\"{EDGE}\" y=\"{y}\">… and {left_out} more objects</text>");
    }
    out.push_str("</svg>\n");
    out
}

fn collect<'a>(node: &'a Node, (depth, above): (usize, Option<usize>), into: &mut Vec<Row<'a>>) {
    let index = into.len();
    into.push(Row { node, depth, above });
    for child in &node.children {
        collect(child, (depth + 1, Some(index)), into);
    }
}

/// How many are how, in words.
fn counts(rows: &[Row<'_>]) -> String {
    let all = [Health::Healthy, Health::Progressing, Health::Unhealthy, Health::Missing, Health::Unknown];
    let count = |health| rows.iter().filter(|row| row.node.health == health).count();
    let some = all.into_iter().map(|health| (count(health), health.word())).filter(|(count, _)| *count > 0);
    some.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// Where a box of this depth begins.
fn left(depth: usize) -> usize {
    EDGE + depth * INDENT
}

/// Where the box of a row begins.
fn top(row: usize) -> usize {
    EDGE + row * ROW
}

/// What a box says beside its health.
struct Texts {
    kind: String,
    name: String,
    origin: String,
    message: String,
}

impl Texts {
    fn of(node: &Node) -> Self {
        let kind = cut(&line(&node.kind), MOST_COLUMNS / 2);
        let name = cut(&line(&node.name), MOST_COLUMNS - text_width(&kind) - 1);
        let rest = MOST_COLUMNS.saturating_sub(text_width(&kind) + text_width(&name) + 2);
        let origin = match node.origin.is_empty() || rest < LEAST_ORIGIN {
            true => String::new(),
            false => cut(&format!("({})", line(&node.origin)), rest),
        };
        let message = cut(&line(&node.message), MOST_COLUMNS - node.health.word().len() - GAP);
        Self { kind, name, origin, message }
    }

    fn width(&self, health: &str) -> usize {
        let Self { kind, name, origin, message } = self;
        let first = text_width(kind) + 1 + text_width(name) + 1 + text_width(origin);
        let second = health.len() + GAP + text_width(message);
        first.max(second) * COLUMN + STRIPE + 2 * PAD
    }
}

fn draw(row: &Row<'_>, texts: &Texts, y: usize, out: &mut String) {
    let (node, x) = (row.node, left(row.depth));
    let health = node.health.word();
    let mut title = format!("{}: {health}", named(node));
    if !node.message.is_empty() {
        title.push_str(&format!(". {}", line(&node.message)));
    }
    let Texts { kind, name, origin, message } = texts;
    let text = x + STRIPE + PAD;
    let (first, second) = (y + PAD + FONT / 2 - 1, y + BOX - PAD + FONT / 2 - 3);
    let of_name = text + (text_width(kind) + 1) * COLUMN;
    let of_origin = of_name + (text_width(name) + 1) * COLUMN;
    let of_message = text + (health.len() + GAP) * COLUMN;
    let _ = write!(
        out,
        "<g class=\"{health}\"><title>{}</title>\n\
         <rect class=\"box\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{BOX}\" rx=\"4\"/>\
         <rect class=\"mark\" x=\"{x}\" y=\"{y}\" width=\"{STRIPE}\" height=\"{BOX}\" rx=\"2\"/>\n\
         <text y=\"{first}\"><tspan class=\"dim\" x=\"{text}\">{}</tspan>\
         <tspan class=\"name\" x=\"{of_name}\">{}</tspan>",
        escaped(&cut(&title, LONGEST_TITLE)),
        texts.width(health),
        escaped(kind),
        escaped(name)
    );
    if !origin.is_empty() {
        let _ = write!(out, "<tspan class=\"dim\" x=\"{of_origin}\">{}</tspan>", escaped(origin));
    }
    let _ = write!(out, "</text>\n<text y=\"{second}\"><tspan class=\"mark\" x=\"{text}\">{health}</tspan>");
    if !message.is_empty() {
        let _ = write!(out, "<tspan x=\"{of_message}\">{}</tspan>", escaped(message));
    }
    out.push_str("</text></g>\n");
}

/// Which object or component it is.
fn named(node: &Node) -> String {
    let place = if node.namespace.is_empty() { String::new() } else { format!("{}/", node.namespace) };
    line(&format!("{} {place}{}", node.kind, node.name))
}

/// The text on one line, without what XML cannot hold.
fn line(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    text.trim().chars().map(shown).collect()
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(kind: &str, name: &str, health: Health, children: Vec<Node>) -> Node {
        Node {
            api_version: "v1".to_owned(),
            kind: kind.to_owned(),
            namespace: "default".to_owned(),
            name: name.to_owned(),
            origin: String::new(),
            health,
            message: String::new(),
            children,
        }
    }

    /// Reads it as XML: every element is closed, values are quoted, and `&` begins an entity. Gives its texts.
    fn texts(xml: &str) -> Vec<String> {
        let mut open: Vec<&str> = Vec::new();
        let mut texts = Vec::new();
        let mut rest = xml;
        while let Some(start) = rest.find('<') {
            texts.push(plain(&rest[..start]));
            let end = start + rest[start..].find('>').unwrap();
            let tag = &rest[start + 1..end];
            rest = &rest[end + 1..];
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name), "{xml}");
                continue;
            }
            let (tag, is_closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
            let (name, mut values) = tag.split_once(' ').unwrap_or((tag, ""));
            assert!(name.bytes().all(|b| b.is_ascii_lowercase()) && !name.is_empty(), "{tag}");
            while let Some((_, value)) = values.split_once("=\"") {
                let (value, more) = value.split_once('"').unwrap();
                plain(value);
                values = more;
            }
            assert!(values.trim().is_empty(), "{tag}");
            if !is_closed {
                open.push(name);
            }
        }
        assert!(open.is_empty() && rest.trim().is_empty(), "{open:?}");
        texts
    }

    fn plain(text: &str) -> String {
        let is_allowed = |c: char| c == '\n' || (!c.is_control() && c != '\u{fffe}' && c != '\u{ffff}');
        assert!(text.chars().all(is_allowed), "{text:?}");
        let decoded = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
        assert!(decoded.split('&').skip(1).all(|after| after.starts_with("amp;")), "{text}");
        decoded.replace("&amp;", "&")
    }

    #[test]
    fn a_tree_is_boxes_with_lines_between_them() {
        let pods = vec![node("Pod", "web-1", Health::Unhealthy, vec![])];
        let deployment = node("Deployment", "web", Health::Progressing, pods);
        let root = node("Application", "shop", Health::Healthy, vec![deployment]);
        let svg = svg(&root);
        let texts = texts(&svg);
        for said in ["Application default/shop: unhealthy", "Deployment default/web: progressing", "web-1"] {
            assert!(texts.iter().any(|text| text == said), "{said}: {texts:?}");
        }
        assert!(svg.contains("its health: 1 healthy, 1 progressing, 1 unhealthy."), "{svg}");
        assert!(svg.starts_with("<svg xmlns") && svg.contains("role=\"img\"") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("<path ").count(), 2);
        assert!(svg.contains("<path d=\"M30 62V95H44\"/>"), "{svg}");
        assert!(svg.contains("prefers-color-scheme: dark"));
    }

    #[test]
    fn what_objects_say_is_only_ever_text() {
        let mut bad = node("<script>", "\"><script>alert(1)</script>", Health::Missing, vec![]);
        bad.origin = "trait <b>&amp;</b>".to_owned();
        bad.message = "a\n<script src=\"//x\">\u{1b}]0;t\u{7}\u{0}\u{ffff} & ]]>".to_owned();
        bad.namespace = "<n>".to_owned();
        let svg = svg(&bad);
        assert!(!svg.contains("<script") && !svg.contains("<n>") && !svg.contains("<b>"), "{svg}");
        let texts = texts(&svg);
        let all = texts.join("");
        assert!(all.contains("a <script src=\"//x\">\u{fffd}]0;t"), "{all}");
        assert!(all.contains("(trait <b>&amp;</b>)"), "{all}");
    }

    #[test]
    fn long_texts_are_cut_and_many_objects_counted() {
        let mut long = node("ConfigMap", &"n".repeat(253), Health::Unknown, vec![]);
        long.message = "word ".repeat(1_000);
        long.origin = "trait".to_owned();
        let children = std::iter::repeat_n(long, MOST_BOXES + 1).collect();
        let svg = svg(&node("Application", "shop", Health::Healthy, children));
        let texts = texts(&svg);
        assert!(texts.iter().any(|text| text == "… and 2 more objects"));
        assert!(texts.iter().all(|text| text_width(text) <= LONGEST_TITLE || text.contains("prefers-color")));
        assert_eq!(svg.matches("<g ").count(), MOST_BOXES);
        let width = svg.split("width=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        assert!(width.parse::<usize>().unwrap() < 900, "{width}");
    }
}
