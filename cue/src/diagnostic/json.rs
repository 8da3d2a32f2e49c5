//! Diagnostics in; JSON for tools out.

use serde_json::{Value as Json, json};

use super::{Diagnostic, Diagnostics, Label};
use crate::source::Sources;

impl Diagnostics {
    /// All of them as JSON:
    ///
    /// ```json
    /// {
    ///   "diagnostics": [{
    ///     "code": "conflict",
    ///     "class": "eval",
    ///     "message": "conflicting values 1 and 2",
    ///     "path": "a.b",
    ///     "also": [],
    ///     "expected": "1",
    ///     "found": "2",
    ///     "hint": null,
    ///     "places": [{
    ///       "file": "x.cue", "line": 1, "column": 4, "endLine": 1, "endColumn": 5,
    ///       "start": 3, "end": 4, "main": true, "text": "this says 1"
    ///     }]
    ///   }],
    ///   "more": 0
    /// }
    /// ```
    ///
    /// Lines and columns count from 1, columns in characters; `start` and `end` are byte offsets, absent where only line
    /// and column of the place are known. The first place is the main one. `more` counts those that were left out.
    pub fn to_json(&self) -> Json {
        let items: Vec<Json> = self.items.iter().map(|item| one(item, &self.sources)).collect();
        json!({"diagnostics": items, "more": self.more})
    }
}

fn one(item: &Diagnostic, sources: &Sources) -> Json {
    let places: Vec<Json> = item.labels.iter().filter_map(|label| place(label, sources)).collect();
    json!({
        "code": item.code.as_str(),
        "class": item.code.class().as_str(),
        "message": item.message,
        "path": item.path,
        "also": item.also,
        "expected": item.expected,
        "found": item.found,
        "hint": item.hint,
        "places": places,
    })
}

fn place(label: &Label, sources: &Sources) -> Option<Json> {
    let (file, line, column) = sources.position(label.span)?;
    let mut out =
        json!({"file": file, "line": line, "column": column, "main": label.main, "text": label.text});
    if sources.get(label.span.file).is_some_and(|source| !source.text.is_empty()) {
        let bytes = sources.bytes(label.span);
        let (end_line, end_column) = sources.line_column(label.span.file, bytes.end);
        for (key, value) in
            [("start", bytes.start), ("end", bytes.end), ("endLine", end_line), ("endColumn", end_column)]
        {
            out[key] = value.into();
        }
    }
    Some(out)
}
