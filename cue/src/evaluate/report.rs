//! A fault in; a diagnostic with labelled places, what was expected and found, and a hint, out.

use super::{
    Evaluation, Fault, Message, Origin, OriginKind, VertexId, bounds::kinds_text, fault::FunctionName,
};
use crate::{
    diagnostic::{Code, Diagnostic, Label as PlaceLabel},
    ir::{ArcKind, Atom, Expr, ExprId, Label},
    nearest,
    packages::Kinds,
    source::Span,
};

/// Most names that a hint lists.
const MAX_NAMES: usize = 12;

/// Most places of one diagnostic.
const MAX_PLACES: usize = 12;

/// Longest chain of references that a diagnostic shows.
const MAX_REFERENCES: u32 = 3;

/// The places of a diagnostic while they are gathered.
#[derive(Default)]
struct Places(Vec<PlaceLabel>);

impl Places {
    fn add(&mut self, span: Span, text: impl Into<String>) {
        let known = self.0.iter().any(|label| label.span == span);
        if !span.is_none() && !known && self.0.len() < MAX_PLACES {
            self.0.push(PlaceLabel { span, text: text.into(), main: false });
        }
    }

    /// The labels, the place to look at first in front.
    fn finish(mut self, first: impl Fn(Span) -> bool) -> Vec<PlaceLabel> {
        if let Some(at) = self.0.iter().position(|label| first(label.span)) {
            let main = self.0.remove(at);
            self.0.insert(0, main);
        }
        if let Some(main) = self.0.first_mut() {
            main.main = true;
        }
        self.0
    }
}

impl Evaluation {
    pub(crate) fn diagnostic(&self, fault: &Fault, path: String) -> Diagnostic {
        let (expected, found) = self.expected_found(fault);
        Diagnostic {
            code: fault.0.code,
            message: self.message(fault),
            also: Vec::new(),
            expected,
            found,
            labels: self.fault_labels(fault),
            hint: self.hint(fault, &path),
            path,
        }
    }

    /// Adds the references that brought a value what is wrong with it.
    pub(crate) fn add_references(&mut self, diagnostic: &mut Diagnostic, vertex: VertexId) {
        if diagnostic.code == Code::Budget {
            return;
        }
        let origins = self.origins(vertex);
        let near = |origin: &&Origin| origin.kind == OriginKind::Reference && origin.depth < MAX_REFERENCES;
        if let Some(first) = origins.first().filter(near)
            && diagnostic.code == Code::Incomplete
            && diagnostic.expected.is_some()
        {
            let text = self.program.sources.text(first.span);
            diagnostic.hint = Some(format!("give `{text}` a value: this one only refers to it"));
        }
        for origin in origins.iter().filter(near) {
            let (main, span) = (diagnostic.span(), origin.span);
            // A reference that fails itself is marked already.
            let around = main.file == span.file && span.start <= main.start && main.end <= span.end;
            let known = around || diagnostic.labels.iter().any(|label| label.span == span);
            if !known && diagnostic.labels.len() < MAX_PLACES {
                let text = "brought by this reference".to_owned();
                diagnostic.labels.push(PlaceLabel { span, text, main: false });
            }
        }
    }

    fn fault_labels(&self, fault: &Fault) -> Vec<PlaceLabel> {
        let mut places = Places::default();
        self.add_labels(fault, &mut places);
        // A person can change what was given as input; the template usually belongs to another author.
        let given = |span: Span| self.is_given(span);
        if !places.0.iter().any(|label| given(label.span)) {
            return places.finish(|_| true);
        }
        places.finish(given)
    }

    fn add_labels(&self, fault: &Fault, places: &mut Places) {
        let all = &fault.0.places;
        let first = all.first().copied().unwrap_or(ExprId::NONE);
        match &fault.0.message {
            Message::Kinds(..) | Message::Values(..) => {
                for (at, place) in all.iter().enumerate() {
                    let value = match (&fault.0.message, at) {
                        (Message::Values(value, _), 0) | (Message::Values(_, value), 1) => Some(value),
                        _ => None,
                    };
                    let and = if at == 0 { "" } else { "and " };
                    places.add(self.span(*place), format!("{and}{}", self.says(*place, value)));
                }
            }
            Message::OutOfBound { value, op, limit } => {
                if let [bound, by, ..] = all.as_slice() {
                    places.add(self.span(*by), self.says(*by, Some(value)));
                    places.add(
                        self.span(*bound),
                        format!("and this asks for {}{}", op.text(), self.atom_text(limit)),
                    );
                }
            }
            Message::NotAllowed(_, parent) => {
                for place in all {
                    places.add(self.label_span(*place), "this field is not declared");
                }
                for span in self.closing_places(*parent) {
                    places.add(span, "the fields are fixed here");
                }
            }
            Message::Undefined(label, from) | Message::Optional(label, from) => {
                places.add(self.span(first), format!("{} is not there", self.label_name(*label)));
                places.add(self.struct_place(*from), "it would be a field of this");
            }
            Message::NotConcrete(_, vertex) => {
                places.add(self.span(first), "needs a value");
                for (place, _) in &self.v(self.deref(*vertex)).origins {
                    places
                        .add(self.span(*place), format!("only this is known: {}", self.source_text(*place)));
                }
            }
            Message::Argument { found, .. } | Message::Kind { found, .. } => {
                places.add(self.span(first), format!("this is {}", with_article(*found)));
            }
            Message::Disjunction(faults) => {
                for (place, text) in self.alternatives(faults) {
                    places.add(self.span(place), text);
                }
            }
            Message::Missing => places.add(self.label_span(first), "declared as required"),
            Message::Text(_) if fault.0.code == Code::Unsatisfied => {
                if let [check, value, ..] = all.as_slice() {
                    places.add(self.span(*value), self.says(*value, None));
                    places.add(self.span(*check), "and this does not accept it");
                }
            }
            Message::Busy(vertex) => {
                places.add(self.span(first), "needed here");
                places.add(self.struct_place(*vertex), "while this is being made");
            }
            _ => {}
        }
        // Where the label of a field is meant, its value would only distract.
        if !matches!(fault.0.message, Message::NotAllowed(..) | Message::Missing) {
            for place in all {
                places.add(self.span(*place), "");
            }
        }
    }

    /// The part an expression plays in a conflict.
    fn says(&self, place: ExprId, value: Option<&Atom>) -> String {
        if place == ExprId::NONE || place.as_value().is_some() {
            return value.map_or_else(|| "this".into(), |v| format!("this gives {}", self.atom_text(v)));
        }
        let chunk = self.chunk(place);
        match (self.expr(&chunk, place), value) {
            (Expr::Atom(atom), _) => format!("this says {}", self.atom_text(atom)),
            (Expr::Kinds(kinds), _) => format!("this says {}", kinds_text(*kinds)),
            (Expr::Struct(_), _) => "this is a struct".into(),
            (Expr::List(_), _) => "this is a list".into(),
            (_, Some(value)) => format!("this gives {}", self.atom_text(value)),
            _ => format!("this says {}", self.source_text(place)),
        }
    }

    /// The given value first, then each alternative that it does not fit.
    fn alternatives(&self, faults: &[Fault]) -> Vec<(ExprId, String)> {
        let mut out = Vec::new();
        let common = common_place(faults);
        if let Some(common) = common {
            out.push((common, self.says(common, None)));
        }
        for fault in faults {
            for place in fault.0.places.iter().filter(|p| Some(**p) != common) {
                out.push((*place, format!("which is not {}", self.source_text(*place))));
            }
        }
        out
    }

    /// The alternatives, and what was given instead, where it is as simple as that.
    pub(super) fn choices(&self, faults: &[Fault]) -> Option<(Vec<String>, String)> {
        let common = common_place(faults)?;
        let mut allowed: Vec<String> = Vec::new();
        for fault in faults {
            let place = match (&fault.0.message, fault.0.places.as_slice()) {
                (Message::Kinds(..) | Message::Values(..) | Message::OutOfBound { .. }, [a, b]) => {
                    if *a == common { *b } else { *a }
                }
                _ => return None,
            };
            let text = self.source_text(place);
            if !allowed.contains(&text) {
                allowed.push(text);
            }
        }
        Some((allowed, self.source_text(common)))
    }

    fn expected_found(&self, fault: &Fault) -> (Option<String>, Option<String>) {
        let pair = |expected: String, found: String| (Some(expected), Some(found));
        match &fault.0.message {
            Message::Kinds(old, new) => {
                let is_value = |at: usize| {
                    let place = fault.0.places.get(at).copied().unwrap_or(ExprId::NONE);
                    let chunk = self.chunk(place);
                    place.as_value().is_none() && matches!(self.expr(&chunk, place), Expr::Atom(_))
                };
                let (expected, found) = if is_value(0) && !is_value(1) { (new, old) } else { (old, new) };
                pair(kinds_text(*expected), kinds_text(*found))
            }
            Message::Values(old, new) => pair(self.atom_text(old), self.atom_text(new)),
            Message::OutOfBound { value, op, limit } => {
                pair(format!("{}{}", op.text(), self.atom_text(limit)), self.atom_text(value))
            }
            Message::Argument { wanted, found, .. } | Message::Kind { wanted, found, .. } => {
                pair(kinds_text(*wanted), kinds_text(*found))
            }
            Message::Open(vertex) | Message::Ambiguous(vertex) | Message::NotConcrete(_, vertex) => {
                pair("a concrete value".into(), self.show(*vertex))
            }
            Message::Disjunction(faults) => match self.choices(faults) {
                Some((allowed, found)) => pair(allowed.join(" | "), found),
                None => (None, None),
            },
            _ => (None, None),
        }
    }

    fn hint(&self, fault: &Fault, path: &str) -> Option<String> {
        match &fault.0.message {
            Message::Kinds(a, b) => kinds_hint(*a, *b).or_else(|| self.quotes_hint(fault)),
            Message::NotAllowed(label, parent) => {
                let known: Vec<String> = self.known_fields(*parent, Some(*label));
                let typed = self.label_name(*label);
                names_hint(&typed, &known).or_else(|| Some("remove it: this struct takes no fields".into()))
            }
            Message::Undefined(label, from) => {
                let (name, base) = (self.label_name(*label), self.path(*from));
                let whole = if base.is_empty() { name.clone() } else { format!("{base}.{name}") };
                let known = self.known_fields(*from, None);
                let near = nearest::did_you_mean(&name, known.iter().map(String::as_str));
                Some(near.unwrap_or_else(|| format!("add `{whole}`, or use it only where `{whole} != _|_`")))
            }
            Message::Optional(label, from) => {
                let (name, base) = (self.label_name(*label), self.path(*from));
                let whole = if base.is_empty() { name } else { format!("{base}.{name}") };
                Some(format!(
                    "the field is optional: give `{whole}` a value, or use it only where `{whole} != _|_`"
                ))
            }
            Message::Missing => Some(format!("add `{path}`: its declaration says it must be given (`!`)")),
            Message::Open(vertex) => match self.v(self.deref(*vertex)).disjuncts {
                Some(_) => Some(format!("choose one of: {}", self.show(*vertex))),
                None => {
                    Some(format!("give `{path}` a value, or a default (`*value | {}`)", self.show(*vertex)))
                }
            },
            Message::NotConcrete(_, vertex) => {
                let path = self.path(*vertex);
                (!path.is_empty()).then(|| format!("give `{path}` a value"))
            }
            Message::Ambiguous(vertex) => {
                Some(format!("choose one of: {}; or mark one as default with `*`", self.show(*vertex)))
            }
            Message::Argument { function, .. } => Some(signature(*function)),
            Message::Disjunction(_) => {
                let (expected, found) = self.expected_found(fault);
                let (expected, found) = (expected?, found?);
                nearest::did_you_mean(
                    found.trim_matches('"'),
                    expected.split(" | ").map(|t| t.trim_matches('"')),
                )
            }
            _ => code_hint(fault.0.code).map(str::to_owned),
        }
    }

    /// A quoted number where a number is wanted, or the other way round.
    fn quotes_hint(&self, fault: &Fault) -> Option<String> {
        let Message::Kinds(a, b) = &fault.0.message else { return None };
        let wanted = |kind: Kinds| a.meets(kind) != b.meets(kind) && (a.meets(kind) || b.meets(kind));
        if !(wanted(Kinds::STRING) && (wanted(Kinds::NUMBER) || wanted(Kinds::BOOL))) {
            return None;
        }
        let atoms = fault.0.places.iter().filter(|p| p.as_value().is_none());
        for place in atoms {
            let chunk = self.chunk(*place);
            match self.expr(&chunk, *place) {
                Expr::Atom(Atom::String(text)) => {
                    let plain = text.parse::<f64>().is_ok() || matches!(&**text, "true" | "false");
                    return plain.then(|| format!("write it without quotes: {text}"));
                }
                Expr::Atom(atom @ (Atom::Number { .. } | Atom::Bool(_))) => {
                    return Some(format!("write it in quotes: \"{}\"", self.atom_text(atom)));
                }
                _ => {}
            }
        }
        None
    }

    /// The fields a struct declares, as people write them.
    fn known_fields(&self, vertex: VertexId, except: Option<Label>) -> Vec<String> {
        let v = self.v(self.deref(vertex));
        let known = v.arcs.iter().filter(|arc| {
            let declared = arc.kind != ArcKind::Member
                || self.v(arc.vertex).fault.as_ref().is_none_or(|f| f.0.code != Code::NotAllowed);
            arc.label.is_regular() && Some(arc.label) != except && declared
        });
        known.map(|arc| self.label_name(arc.label)).collect()
    }

    /// Where the structs are written that fix which fields a vertex may have.
    fn closing_places(&self, vertex: VertexId) -> Vec<Span> {
        let mut out = Vec::new();
        let vertex = self.canonical(vertex);
        for conjunct in &self.v(vertex).conjuncts {
            let chunk = self.chunk(conjunct.expr);
            let plain = conjunct.expr.as_value().is_none();
            if plain
                && self.scopes[conjunct.scope.0 as usize].closes
                && matches!(self.expr(&chunk, conjunct.expr), Expr::Struct(_) | Expr::Call(..))
            {
                out.push(self.label_span(conjunct.expr));
            }
        }
        for (target, _) in &self.v(vertex).included {
            if self.v(*target).conjuncts.iter().any(|c| self.scopes[c.scope.0 as usize].closes) {
                out.push(self.struct_place(*target));
            }
        }
        out
    }

    /// Where a vertex is declared: its label, or what stands there.
    fn struct_place(&self, vertex: VertexId) -> Span {
        let v = self.v(self.canonical(vertex));
        let first = v.conjuncts.iter().map(|c| c.expr).find(|e| e.as_value().is_none());
        first.map_or(Span::NONE, |expr| self.label_span(expr))
    }

    /// The label of the field whose value an expression is; the expression itself where it is no field's value.
    fn label_span(&self, expr: ExprId) -> Span {
        match self.program.labels_of_values.get(&expr) {
            Some(span) => *span,
            None if self.input_kind(expr).is_some() => self.input_span(expr, true),
            None => self.span(expr),
        }
    }
}

/// A conjunct that takes part in every failure of an alternative is the given value.
fn common_place(faults: &[Fault]) -> Option<ExprId> {
    let in_all = |place: &ExprId| faults.iter().all(|fault| fault.0.places.contains(place));
    faults.first().filter(|_| faults.len() > 1)?.0.places.iter().copied().find(in_all)
}

fn with_article(kinds: Kinds) -> String {
    match kinds_text(kinds) {
        text if text.starts_with(['i', 'a', 'e', 'o']) => format!("an {text}"),
        text if text == "null" || text == "bytes" || text.starts_with(['(', '_']) => text,
        text => format!("a {text}"),
    }
}

fn kinds_hint(a: Kinds, b: Kinds) -> Option<String> {
    let one = |x: Kinds, y: Kinds| a == x && b == y || a == y && b == x;
    if one(Kinds::INT, Kinds::FLOAT) {
        return Some("an int has no fraction and no exponent; `number` takes both".into());
    }
    if one(Kinds::LIST, Kinds::STRUCT) {
        return Some("one is a list `[…]`, the other a struct `{…}`: both must be the same".into());
    }
    let list = |x: Kinds, y: Kinds| x == Kinds::LIST && y.0 & Kinds::LIST.0 == 0;
    (list(a, b) || list(b, a)).then(|| "to give a list of one value, write it in `[…]`".into())
}

/// Advice for a name that is not among the known ones.
fn names_hint(typed: &str, known: &[String]) -> Option<String> {
    nearest::did_you_mean(typed, known.iter().map(String::as_str)).or_else(|| match known.len() {
        0 => None,
        count if count <= MAX_NAMES => Some(format!("allowed are: {}", known.join(", "))),
        count => Some(format!("allowed are: {}, … ({count} in all)", known[..MAX_NAMES].join(", "))),
    })
}

/// How a function is called.
fn signature(function: FunctionName) -> String {
    let found = function.function();
    let parameters: Vec<String> = found.parameters.iter().map(|p| kinds_text(p.kinds)).collect();
    format!("it is called as {function}({})", parameters.join(", "))
}

fn code_hint(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::Cycle => "give one of the fields of the cycle a value of its own",
        Code::StructuralCycle => "a struct cannot contain itself: make the inner field optional with `?`",
        Code::Budget => "the evaluation was stopped to protect the system: make the value smaller",
        _ => return None,
    })
}
