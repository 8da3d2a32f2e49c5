//! Handles on the values of an instance: look, read, check, export, add.

mod field;
mod joined;
mod path;

use std::{cell::RefCell, rc::Rc};

use crate::{
    ast,
    compile::markers::markers,
    diagnostic::{Code, Diagnostics},
    evaluate::{Arc_, Asking, CallFields, Conjunct, Evaluation, Fault, Mark, Mode, Size, VertexId},
    input::Undeclared,
    ir::{ArcKind, Atom, ExprId},
    packages::{Data, Kinds},
    plain::data_json,
    source::{Source, Sources, Span},
};

pub use self::field::{Comments, FieldKind, FieldOptions, Kind};
use self::path::{field_name, segments};
pub use crate::evaluate::{Origin, OriginKind, Shown};

/// A value of an instance: a handle, cheap to clone, on an evaluation that goes on as far as its readers ask.
///
/// Looking at a value evaluates it, and what was evaluated is kept for all handles on the instance. So a value is neither
/// `Send` nor `Sync`: an evaluation belongs to one thread. The [`Template`](crate::Template) is both; where several threads
/// work, each makes its own instance of it, and what leaves the thread is data ([`Value::to_json`], [`Value::to_data`]) or
/// text ([`Value::printed`]).
///
/// ```compile_fail
/// let value = vela_cue::Template::compile(&[])?.instantiate(&[]).root();
/// std::thread::spawn(move || value.to_json());
/// # Ok::<(), vela_cue::Diagnostics>(())
/// ```
///
/// A path that leads nowhere gives a value too, which says so where something is asked of it ([`Value::exists`]).
#[derive(Clone)]
pub struct Value {
    evaluation: Rc<RefCell<Evaluation>>,
    /// None where a path leads nowhere.
    vertex: Option<VertexId>,
    /// Where the way to it left the tree for a shared value.
    entrance: Option<Rc<Entrance>>,
}

/// A value that is a reference and nothing else: what is below it stands at the reference's target.
struct Entrance {
    from: VertexId,
    outer: Option<Rc<Entrance>>,
}

/// A field of a struct.
#[derive(Clone)]
pub struct Field {
    /// Its name, unquoted.
    pub name: String,
    /// How it is declared.
    pub kind: FieldKind,
    /// Its value.
    pub value: Value,
}

impl Value {
    pub(crate) fn new(evaluation: Rc<RefCell<Evaluation>>, vertex: VertexId) -> Self {
        Self { evaluation, vertex: Some(vertex), entrance: None }
    }

    fn at(&self, vertex: Option<VertexId>) -> Self {
        Self { evaluation: self.evaluation.clone(), vertex, entrance: None }
    }

    /// A field or element, reached through this value.
    fn below(&self, vertex: Option<VertexId>) -> Self {
        let entered = self.vertex.filter(|from| self.evaluation.borrow().is_shared(*from));
        let entrance = match entered {
            Some(from) => Some(Rc::new(Entrance { from, outer: self.entrance.clone() })),
            None => self.entrance.clone(),
        };
        Self { evaluation: self.evaluation.clone(), vertex, entrance }
    }

    /// The value with its default taken, evaluated.
    fn own(&self) -> Option<VertexId> {
        let vertex = self.vertex?;
        let mut evaluation = self.evaluation.borrow_mut();
        evaluation.process(vertex);
        Some(evaluation.default_of(vertex).unwrap_or_else(|| evaluation.deref(vertex)))
    }

    fn atom(&self) -> Option<Atom> {
        let own = self.own()?;
        self.evaluation.borrow().v(own).atom.clone()
    }

    /// The value at a path of fields and indices: `a.b`, `a."x-y"`, `list.0`, `#Def`, `_hidden`.
    pub fn lookup(&self, path: &str) -> Self {
        let mut current = self.clone();
        for segment in segments(path) {
            current = current.field(&segment);
        }
        current
    }

    /// The field of that name, taken as it is.
    pub fn field(&self, name: &str) -> Self {
        let Some(own) = self.own() else { return self.at(None) };
        let evaluation = self.evaluation.borrow();
        let arcs = &evaluation.v(own).arcs;
        let found = if evaluation.is_list(own) {
            name.parse().ok().and_then(|index: usize| arcs.get(index))
        } else {
            evaluation.labels_of(name).into_iter().flatten().find_map(|label| arcs.find(label))
        };
        // The hidden fields of another package have a longer name than is written.
        let found = found.filter(|arc| arc.kind == ArcKind::Member).or_else(|| {
            let same = |arc: &&Arc_| arc.label.is_hidden() && field_name(&evaluation, arc.label) == name;
            if name.starts_with('_') { arcs.iter().find(same) } else { None }
        });
        self.below(found.filter(|arc| arc.kind == ArcKind::Member).map(|arc| arc.vertex))
    }

    /// Whether the path led to a field that has a value; an incomplete or failing one exists too.
    pub fn exists(&self) -> bool {
        self.vertex.is_some()
    }

    /// The kind of value.
    pub fn kind(&self) -> Kind {
        let Some(own) = self.own() else { return Kind::Bottom };
        let evaluation = self.evaluation.borrow();
        let v = evaluation.v(own);
        if v.fault.as_ref().is_some_and(Fault::is_fatal) {
            return Kind::Bottom;
        }
        let kinds = match &v.disjuncts {
            Some(disjuncts) => {
                Kinds(disjuncts.iter().fold(0, |k, (d, _)| k | evaluation.v(evaluation.deref(*d)).kinds.0))
            }
            None => v.kinds,
        };
        match kinds {
            Kinds::NULL => Kind::Null,
            Kinds::BOOL => Kind::Bool,
            Kinds::INT => Kind::Int,
            Kinds::FLOAT => Kind::Float,
            Kinds::NUMBER => Kind::Number,
            Kinds::STRING => Kind::String,
            Kinds::BYTES => Kind::Bytes,
            Kinds::LIST => Kind::List,
            Kinds::STRUCT => Kind::Struct,
            Kinds::NONE => Kind::Bottom,
            _ => Kind::Any,
        }
    }

    /// Whether it is a scalar, struct or list (whatever its fields are), not a type or open choice.
    pub fn is_concrete(&self) -> bool {
        let Some(own) = self.own() else { return false };
        let evaluation = self.evaluation.borrow();
        let v = evaluation.v(own);
        v.disjuncts.is_none()
            && (v.atom.is_some() || (v.fault.is_none() && (v.kinds == Kinds::STRUCT || v.list.is_some())))
    }

    /// Whether reading it takes the default of a disjunction, or would need one.
    pub fn is_choice(&self) -> bool {
        let Some(vertex) = self.vertex else { return false };
        let mut evaluation = self.evaluation.borrow_mut();
        evaluation.process(vertex);
        let own = evaluation.deref(vertex);
        evaluation.v(own).disjuncts.is_some()
    }

    /// Whether a struct is written to take fields it does not name: by `...` or a pattern.
    pub fn is_extensible(&self) -> bool {
        let Some(own) = self.own() else { return false };
        let evaluation = self.evaluation.borrow();
        let v = evaluation.v(own);
        v.has_ellipsis || !v.patterns.is_empty()
    }

    /// The fields of a struct in order.
    pub fn fields(&self, options: FieldOptions) -> Vec<Field> {
        let Some(own) = self.own().filter(|own| self.hand_out(*own)) else { return Vec::new() };
        let evaluation = self.evaluation.borrow();
        let mut out = Vec::new();
        let arcs = if options.unordered { evaluation.stored(own) } else { evaluation.shown(own) };
        for arc in &arcs {
            let wanted = !(arc.label.as_index().is_some()
                || (arc.label.is_hidden() && !options.hidden)
                || (arc.label.is_definition() && !options.definitions)
                || (arc.kind == ArcKind::Optional && !options.optional));
            if wanted {
                out.push(Field {
                    name: field_name(&evaluation, arc.label),
                    kind: match arc.kind {
                        ArcKind::Member => FieldKind::Regular,
                        ArcKind::Optional => FieldKind::Optional,
                        ArcKind::Required => FieldKind::Required,
                    },
                    value: self.below(Some(arc.vertex)),
                });
            }
        }
        out
    }

    /// The parts of `given`, an input of this value, that only the inputs declare. Where nothing is said about fields
    /// (`_`, `{}`, `{...}`), any may be given; a field that one of the alternatives left declares is declared.
    ///
    /// ```
    /// use vela_cue::{Input, Source, Template};
    ///
    /// let template = Template::compile(&[Source::new("t.cue", "parameter: env?: [...{name: string, value?: string}]")])?;
    /// let given = serde_json::json!({"env": [{"name": "A", "valeu": "b"}]});
    /// let root = template.instantiate(&[Input::new("parameter", &given)]).root();
    /// let found = root.lookup("parameter").undeclared(&given);
    /// assert_eq!(found[0].known, ["name", "value"]);
    /// # Ok::<(), vela_cue::Diagnostics>(())
    /// ```
    pub fn undeclared(&self, given: &serde_json::Value) -> Vec<Undeclared> {
        let Some(vertex) = self.vertex else { return Vec::new() };
        self.evaluation.borrow_mut().undeclared(vertex, given)
    }

    /// The elements of a list.
    pub fn elements(&self) -> Vec<Self> {
        let Some(own) = self.own().filter(|own| self.hand_out(*own)) else { return Vec::new() };
        let elements = self.evaluation.borrow().elements_of(own);
        elements.into_iter().map(|e| self.below(Some(e))).collect()
    }

    /// The constraint on every further element of a list (any value after a mere `...`); nothing for a list of fixed
    /// length.
    pub fn further_elements(&self) -> Option<Self> {
        let own = self.own()?;
        let mut evaluation = self.evaluation.borrow_mut();
        let list = evaluation.v(own).list.as_deref().filter(|list| list.closed.is_none())?;
        let types: Vec<Conjunct> = list.rest.iter().map(|(_, conjunct)| *conjunct).collect();
        let made = evaluation.inline_all(&types, own);
        drop(evaluation);
        Some(self.below(Some(made)))
    }

    /// Counts the parts of a value that are handed out: shared ones are handed out as often as readers ask for them.
    fn hand_out(&self, own: VertexId) -> bool {
        let mut evaluation = self.evaluation.borrow_mut();
        evaluation.hand_out(own)
    }

    /// Whether its evaluation is still within its budget; a value of one that is not may lack fields and elements.
    ///
    /// # Errors
    /// The exhausted limit, and its place.
    pub fn within_budget(&self) -> Result<(), Diagnostics> {
        let evaluation = self.evaluation.borrow();
        let Some(fault) = evaluation.stopped() else { return Ok(()) };
        let path = if fault.0.vertex.is_none() { String::new() } else { evaluation.path(fault.0.vertex) };
        Err(Diagnostics::new(vec![evaluation.diagnostic(fault, path)], evaluation.sources()))
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<String> {
        match self.atom()? {
            Atom::String(s) => Some(s.to_string()),
            _ => None,
        }
    }

    /// The value of an int that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self.atom()? {
            Atom::Number { value, .. } => value.to_i64(),
            _ => None,
        }
    }

    /// The value of a number, as near as a float comes.
    pub fn as_f64(&self) -> Option<f64> {
        match self.atom()? {
            Atom::Number { value, .. } => Some(value.to_f64()),
            _ => None,
        }
    }

    /// The value of a bool.
    pub fn as_bool(&self) -> Option<bool> {
        match self.atom()? {
            Atom::Bool(b) => Some(b),
            _ => None,
        }
    }

    /// The concrete value as JSON; defaults taken, hidden fields, definitions and optional fields left out.
    ///
    /// # Errors
    /// Everything that is wrong with it or below it, or is not concrete.
    pub fn to_json(&self) -> Result<serde_json::Value, Diagnostics> {
        Ok(data_json(&self.to_data()?))
    }

    /// The concrete value as plain data with exact numbers.
    ///
    /// # Errors
    /// Those of [`Value::to_json`].
    pub fn to_data(&self) -> Result<Data, Diagnostics> {
        self.validate(true)?;
        let Some(vertex) = self.vertex else { return Err(self.missing()) };
        let mut evaluation = self.evaluation.borrow_mut();
        let mut size = Size::default();
        let data = evaluation.data(vertex, ExprId::NONE, &mut size);
        drop(evaluation);
        data.map_err(|fault| self.failed(&fault, vertex))
    }

    fn failed(&self, fault: &Fault, vertex: VertexId) -> Diagnostics {
        let evaluation = self.evaluation.borrow();
        let path = evaluation.path(vertex);
        let diagnostic = evaluation.diagnostic(fault, path);
        Diagnostics::new(vec![diagnostic], evaluation.sources())
    }

    /// Everything that is wrong with it and below it; with `concrete`, also what is not known yet.
    ///
    /// # Errors
    /// All that is wrong; [`Diagnostics::is_incomplete`] tells whether more input may help.
    pub fn validate(&self, concrete: bool) -> Result<(), Diagnostics> {
        let Some(vertex) = self.vertex else { return Err(self.missing()) };
        let mut evaluation = self.evaluation.borrow_mut();
        let mut out = Vec::new();
        evaluation.collect(vertex, if concrete { Mode::Concrete } else { Mode::Partial }, &mut out);
        if out.is_empty() { Ok(()) } else { Err(Diagnostics::new(out, evaluation.sources())) }
    }

    fn missing(&self) -> Diagnostics {
        if let Err(stopped) = self.within_budget() {
            return stopped;
        }
        let diagnostic =
            crate::Diagnostic::new(Code::Incomplete, "there is no value at this path", Span::NONE);
        Diagnostics::new(vec![diagnostic], self.evaluation.borrow().sources())
    }

    /// The default of a disjunction, or the value itself.
    pub fn default(&self) -> Self {
        self.at(self.own())
    }

    /// Comments, markers and attributes of the field, from all places that declare it.
    pub fn comments(&self) -> Comments {
        let Some(vertex) = self.vertex else { return Comments::default() };
        let notes = self.evaluation.borrow().notes(vertex);
        let doc = notes
            .lines
            .iter()
            .map(|line| line.trim_start_matches('/').trim())
            .filter(|line| !line.starts_with('+'))
            .map(str::to_owned)
            .collect();
        let markers = markers(&notes).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        Comments { doc, markers, attributes: notes.attributes }
    }

    /// Everything that made it, in the order it is written: the references that lead to it, then what they mean.
    pub fn origins(&self) -> Vec<Origin> {
        let Some(vertex) = self.vertex else { return Vec::new() };
        let mut out = Vec::new();
        let mut entrance = self.entrance.as_ref();
        let mut evaluation = self.evaluation.borrow_mut();
        while let Some(here) = entrance {
            let references = evaluation.references_of(here.from);
            let origin = |expr: &ExprId| Origin {
                span: evaluation.span(*expr),
                kind: OriginKind::Reference,
                depth: 0,
            };
            let outer: Vec<Origin> = references.iter().map(origin).collect();
            out.splice(0..0, outer);
            entrance = here.outer.as_ref();
        }
        let inside = u32::from(!out.is_empty());
        let own = evaluation.origins(vertex).into_iter();
        out.extend(own.map(|origin| Origin { depth: origin.depth + inside, ..origin }));
        out
    }

    /// The sources that [`Value::origins`] point into: those of the template, and those of the inputs.
    pub fn sources(&self) -> Sources {
        self.evaluation.borrow().sources()
    }

    /// The alternatives of a disjunction that are left, and whether each is a default; nothing when the value is none.
    pub fn alternatives(&self) -> Vec<(Self, bool)> {
        let Some(vertex) = self.vertex else { return Vec::new() };
        let mut evaluation = self.evaluation.borrow_mut();
        evaluation.process(vertex);
        let own = evaluation.deref(vertex);
        let left = evaluation.v(own).disjuncts.clone().unwrap_or_default();
        drop(evaluation);
        left.into_iter().map(|(each, mark)| (self.below(Some(each)), mark == Mark::Default)).collect()
    }

    /// The syntax of the evaluated value: references resolved, comments kept.
    pub fn syntax(&self) -> ast::Expr {
        match self.vertex {
            Some(vertex) => self.evaluation.borrow_mut().syntax(vertex),
            None => ast::Expr::new(Span::NONE, ast::ExprKind::Bottom),
        }
    }

    /// The declarations that print the evaluated value, with the imports they need.
    pub fn printed(&self, shown: Shown) -> ast::File {
        match self.vertex {
            Some(vertex) => self.evaluation.borrow_mut().printed(vertex, shown),
            None => ast::File::default(),
        }
    }

    /// The tree of everything known about it, for conformance and tools.
    pub fn tree(&self) -> serde_json::Value {
        match self.vertex {
            Some(vertex) => self.evaluation.borrow_mut().tree(vertex),
            None => serde_json::Value::Null,
        }
    }

    /// The parts that ask a provider for something, in the order in which they ask.
    pub(crate) fn asking(&self, fields: &CallFields) -> Result<Vec<(Asking, Self)>, Diagnostics> {
        let Some(vertex) = self.vertex else { return Ok(Vec::new()) };
        let found = self.evaluation.borrow_mut().asking(vertex, fields);
        let found = found.map_err(|fault| self.failed(&fault, vertex))?;
        let part = |asking: Asking| {
            let value = self.at(Some(asking.vertex));
            (asking, value)
        };
        Ok(found.into_iter().map(part).collect())
    }

    /// The value of a CUE expression in which names mean the fields of this value; `script` names it in diagnostics.
    ///
    /// The text may import builtin packages, and may be declarations: then the result is their struct.
    ///
    /// ```
    /// use vela_cue::{Source, Template};
    ///
    /// let value = Template::compile(&[Source::new("a.cue", "ports: [80, 443]")])?.instantiate(&[]).root();
    /// assert_eq!(value.evaluate("script", "len(ports) > 1")?.as_bool(), Some(true));
    /// # Ok::<(), vela_cue::Diagnostics>(())
    /// ```
    ///
    /// # Errors
    /// There is no value here, or the mistakes of the text; what is wrong with the result is told by the result.
    pub fn evaluate(&self, script: &str, text: &str) -> Result<Self, Diagnostics> {
        let Some(own) = self.own() else { return Err(self.missing()) };
        let mut evaluation = self.evaluation.borrow_mut();
        let exprs = evaluation.add_texts(&[Source::new(script, text)], Some(own))?;
        let Some(expr) = exprs.first().copied() else { return Ok(self.at(None)) };
        let env = evaluation.env_of(own);
        let conjunct = Conjunct { env, ..evaluation.plain(expr) };
        let made = evaluation.inline(conjunct, VertexId::NONE);
        drop(evaluation);
        Ok(self.at(Some(made)))
    }

    /// Steps that its evaluation has used up so far.
    pub(crate) fn steps_used(&self) -> u64 {
        self.evaluation.borrow().steps_used()
    }

    /// The path of the value.
    pub fn path(&self) -> String {
        let Some(vertex) = self.vertex else { return String::new() };
        let mut entrances = Vec::new();
        let mut entrance = self.entrance.as_ref();
        while let Some(here) = entrance {
            entrances.push(here.from);
            entrance = here.outer.as_ref();
        }
        self.evaluation.borrow().path_through(vertex, &entrances)
    }
}
