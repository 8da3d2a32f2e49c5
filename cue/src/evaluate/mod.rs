//! Expressions in; a graph of vertices, evaluated on demand, out.
//!
//! A *vertex* is a value in the making: the place where conjuncts meet. A *conjunct* is an expression with the environment
//! its names mean something in. Evaluating a vertex adds all its conjuncts, runs its tasks (references, comprehensions,
//! calls) until none makes progress, and then multiplies out its disjunctions on copies of itself. References bring the
//! conjuncts of their target, not its value, so the order of fields never matters. All of it lives in one arena that is
//! dropped with the instance.

mod addition;
mod arcs;
mod arithmetic;
mod bounds;
mod budget;
mod call;
mod calls;
mod check;
mod closedness;
mod comprehension;
mod cycle;
mod declared;
mod disjunction;
mod equality;
mod export;
mod expression;
mod fault;
mod given;
mod ids;
mod input;
mod limits;
mod list;
mod made;
mod message;
mod node;
mod old_era;
mod order;
mod origin;
mod precedence;
mod print;
mod print_scalar;
mod printing;
mod reference;
mod report;
mod sharing;
mod special;
mod step;
mod syntax;
mod transfer;
mod tree;
mod unify;
mod validate;
mod vertex;

use std::{rc::Rc, sync::Arc};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

pub(crate) use arcs::{Arc_, Arcs};
pub use budget::{Budget, Guard};
pub(crate) use calls::Asking;
pub use calls::CallFields;
pub(crate) use export::Size;
pub(crate) use fault::{Fault, FaultData, Message};
pub(crate) use ids::{CycleId, EnvId, ROOT_SCOPE, ScopeId, VertexId};
pub use origin::Origin;
pub use printing::Shown;
pub(crate) use step::Step;
pub(crate) use validate::Mode;
pub use vertex::OriginKind;
pub(crate) use vertex::{
    Bound, Check, Choice, Conjunct, Cycle, CycleKind, Env, EnvKind, ListState, Mark, Matcher, Pattern, Scope,
    ScopeKind, Sharing, Standing, State, StructUse, Task, TaskKind, TaskState, Term, Vertex,
};

use self::budget::{ENV_SIZE, LABEL_SIZE, Loan, VERTEX_SIZE};
use self::given::Inputs;
use crate::{
    ir::{self, Chunk, Expr, ExprId, Interner, Label, Program},
    packages::{Data, Kinds},
    source::Span,
};

/// A chunk counted without atomics within one evaluation, however many threads share the program.
pub(crate) struct Shared(Arc<Chunk>);

impl std::ops::Deref for Shared {
    type Target = Chunk;

    fn deref(&self) -> &Chunk {
        &self.0
    }
}

/// One evaluation of a program with its inputs.
pub(crate) struct Evaluation {
    pub(crate) program: Arc<Program>,
    chunks: Vec<Rc<Shared>>,
    labels: Interner,
    pub(crate) vertices: Vec<Vertex>,
    envs: Vec<Env>,
    scopes: Vec<Scope>,
    cycles: Vec<Cycle>,
    lets: FxHashMap<(EnvId, u32), VertexId>,
    packages: FxHashMap<u32, VertexId>,
    grafts: FxHashMap<(ScopeId, ScopeId), ScopeId>,
    matchers: FxHashMap<String, Rc<Result<crate::regexp::Regexp, String>>>,
    /// Alternatives that came to the same value as the one that was kept.
    same_as: FxHashMap<VertexId, Vec<VertexId>>,
    /// Bytes of the compiled regular expressions.
    matchers_size: usize,
    pub(crate) budget: Budget,
    steps: u64,
    depth: u32,
    /// Counts runs of comprehensions, so that what one run adds is shown together.
    firings: u32,
    /// Steps at which the limits and the guard are looked at again.
    asked_at: u64,
    /// Bytes that were taken.
    used: usize,
    /// Bytes that may be taken before the guard is asked for more.
    granted: usize,
    loan: Loan,
    /// Where it was when the limits were looked at.
    last_place: ExprId,
    /// Why it ended before its time.
    stopped: Option<Fault>,
    /// Number of the last walk over values.
    walks: u32,
    /// Values written as syntax or as a tree.
    written: usize,
    /// Counts finished vertices: what waited is worth another look when it has moved.
    epoch: u32,
    pub(crate) root: VertexId,
    inputs: Inputs,
    /// `+` and `*` of an older era that met lists.
    pub(crate) list_operators: Vec<ExprId>,
}

/// Labels of a path that are shown: longer ones come from values without end.
const MAX_PATH: usize = 40;

impl Evaluation {
    pub(crate) fn new(program: Arc<Program>, budget: Budget, guard: Option<Arc<dyn Guard>>) -> Self {
        let chunk = Rc::new(Shared(program.chunk.clone()));
        let mut this = Self {
            program,
            chunks: vec![chunk],
            labels: Interner::default(),
            vertices: Vec::with_capacity(256),
            envs: Vec::with_capacity(128),
            scopes: vec![Scope { parent: ScopeId::NONE, kind: ScopeKind::Root, depth: 0, closes: false }],
            cycles: Vec::new(),
            lets: FxHashMap::default(),
            packages: FxHashMap::default(),
            grafts: FxHashMap::default(),
            matchers: FxHashMap::default(),
            same_as: FxHashMap::default(),
            matchers_size: 0,
            budget,
            steps: 0,
            depth: 0,
            firings: 0,
            asked_at: 0,
            used: 0,
            granted: 0,
            loan: Loan::new(guard),
            last_place: ExprId::NONE,
            stopped: None,
            walks: 0,
            written: 0,
            epoch: 1,
            root: VertexId(0),
            inputs: Inputs::default(),
            list_operators: Vec::new(),
        };
        this.root = this.new_vertex(VertexId::NONE, Label::NONE);
        let files = this.program.packages.first().map(|p| p.files.clone()).unwrap_or_default();
        this.root_conjuncts(VertexId(0), &files);
        this
    }

    /// The files of a package as conjuncts of one vertex, in one scope.
    pub(crate) fn root_conjuncts(&mut self, vertex: VertexId, files: &[ExprId]) {
        let embeds = files.iter().any(|file| {
            let chunk = self.chunk(*file);
            matches!(self.expr(&chunk, *file), Expr::Struct(body) if body.embeds)
        });
        let scope = if embeds { self.new_scope(ROOT_SCOPE, ScopeKind::Literal) } else { ROOT_SCOPE };
        for file in files {
            let conjunct = Conjunct { scope, ..self.plain(*file) };
            self.put(vertex, |v| &mut v.conjuncts, conjunct);
        }
    }

    /// A conjunct without names, scope or history.
    pub(crate) fn plain(&self, expr: ExprId) -> Conjunct {
        Conjunct { expr, env: EnvId::NONE, scope: ROOT_SCOPE, cycle: CycleId::NONE, kind: CycleKind::None }
    }

    pub(crate) fn chunk(&self, id: ExprId) -> Rc<Shared> {
        match self.chunks.get(id.chunk()) {
            Some(chunk) => chunk.clone(),
            None => self.chunks[0].clone(),
        }
    }

    pub(crate) fn expr<'c>(&self, chunk: &'c Rc<Shared>, id: ExprId) -> &'c Expr {
        chunk.exprs.get(id.index()).unwrap_or(&Expr::Top)
    }

    pub(crate) fn span(&self, id: ExprId) -> Span {
        if id == ExprId::NONE {
            return Span::NONE;
        }
        let span = self.chunks.get(id.chunk()).and_then(|c| c.spans.get(id.index())).copied();
        span.filter(|span| !span.is_none()).unwrap_or_else(|| self.input_span(id, false))
    }

    pub(crate) fn new_vertex(&mut self, parent: VertexId, label: Label) -> VertexId {
        let id = VertexId(self.vertices.len() as u32);
        self.take(VERTEX_SIZE);
        self.vertices.push(Vertex {
            parent,
            label,
            state: State::New,
            forward: VertexId::NONE,
            sharing: Default::default(),
            on_path: false,
            shown: false,
            walk: 0,
            copy_of: VertexId::NONE,
            conjuncts: SmallVec::new(),
            structs: SmallVec::new(),
            arcs: Arcs::default(),
            kinds: Kinds::TOP,
            kinds_by: ExprId::NONE,
            atom: None,
            atom_by: ExprId::NONE,
            bounds: Vec::new(),
            checks: Vec::new(),
            weak_struct: false,
            embeds_top: false,
            list: None,
            patterns: Vec::new(),
            open: SmallVec::new(),
            closers: SmallVec::new(),
            tasks: Vec::new(),
            choices: Vec::new(),
            included: SmallVec::new(),
            subscribers: Vec::new(),
            fault: None,
            child_fault: None,
            disjuncts: None,
            standing: Standing::default(),
            postponed: Vec::new(),
            finalized: false,
            waiting_since: 0,
            has_ellipsis: false,
            own_scope: ScopeId::NONE,
            origins: SmallVec::new(),
        });
        id
    }

    /// A vertex beside the tree, for a value in the middle of an expression.
    pub(crate) fn inline(&mut self, conjunct: Conjunct, parent: VertexId) -> VertexId {
        self.inline_all(&[conjunct], parent)
    }

    /// The same for several conjuncts at once; any value when there are none.
    pub(crate) fn inline_all(&mut self, conjuncts: &[Conjunct], parent: VertexId) -> VertexId {
        let vertex = self.new_vertex(parent, Label::NONE);
        self.vertices[vertex.0 as usize].conjuncts.extend_from_slice(conjuncts);
        self.take_content(vertex);
        vertex
    }

    pub(crate) fn v(&self, id: VertexId) -> &Vertex {
        &self.vertices[id.0 as usize]
    }

    pub(crate) fn vm(&mut self, id: VertexId) -> &mut Vertex {
        &mut self.vertices[id.0 as usize]
    }

    pub(crate) fn new_env(&mut self, up: EnvId, kind: EnvKind) -> EnvId {
        self.take(ENV_SIZE);
        self.envs.push(Env { up, kind });
        EnvId(self.envs.len() as u32 - 1)
    }

    pub(crate) fn env(&self, id: EnvId) -> &Env {
        &self.envs[id.0 as usize]
    }

    /// The environment `up` levels above.
    pub(crate) fn env_up(&self, mut id: EnvId, up: u32) -> EnvId {
        for _ in 0..up {
            if id.is_none() {
                break;
            }
            id = self.env(id).up;
        }
        id
    }

    pub(crate) fn intern(&mut self, text: &str) -> u32 {
        if let Some(id) = self.program.labels.find(text) {
            return id;
        }
        let known = self.labels.len();
        let id = self.labels.intern(text);
        if self.labels.len() > known {
            self.take(LABEL_SIZE + text.len());
        }
        self.program.labels.len() + id
    }

    /// The labels that are written like that: of a field, a definition, a hidden field.
    pub(crate) fn labels_of(&self, text: &str) -> [Option<Label>; 3] {
        let base = self.program.labels.len();
        let id = self.program.labels.find(text).or_else(|| self.labels.find(text).map(|id| base + id));
        [id.map(Label::regular), id.map(Label::definition), id.map(Label::hidden)]
    }

    pub(crate) fn label_text(&self, label: Label) -> Arc<str> {
        if let Some(index) = label.as_index() {
            return Arc::from(index.to_string());
        }
        let base = self.program.labels.len();
        let id = label.string_id();
        let found = if id < base { self.program.labels.get(id) } else { self.labels.get(id - base) };
        found.cloned().unwrap_or_else(|| Arc::from(""))
    }

    /// The label as people write it.
    pub(crate) fn label_name(&self, label: Label) -> String {
        let text = self.label_text(label);
        if label.is_regular() && !crate::literal::is_identifier(&text) {
            return crate::literal::quote_string(&text);
        }
        text.split('\u{0}').next().unwrap_or("").to_owned()
    }

    /// Follows a vertex to what is left of it.
    pub(crate) fn deref(&self, mut id: VertexId) -> VertexId {
        while !self.v(id).forward.is_none() {
            id = self.v(id).forward;
        }
        id
    }

    /// The vertex that a copy stands for.
    pub(crate) fn canonical(&self, mut id: VertexId) -> VertexId {
        while !self.v(id).copy_of.is_none() {
            id = self.v(id).copy_of;
        }
        id
    }

    pub(crate) fn steps_used(&self) -> u64 {
        self.steps
    }

    /// The path of a vertex: `a.b[0]` is written `a.b.0`.
    pub(crate) fn path(&self, id: VertexId) -> String {
        self.path_through(id, &[])
    }

    /// The path of a vertex that was reached through others that share what it is part of, the nearest first.
    pub(crate) fn path_through(&self, mut id: VertexId, entrances: &[VertexId]) -> String {
        let mut labels = Vec::new();
        let mut entrances = entrances.iter();
        let mut next = entrances.next();
        while !id.is_none() {
            if let Some(from) =
                next.filter(|from| self.canonical(self.shared_end(**from)) == self.canonical(id))
            {
                id = *from;
                next = entrances.next();
                continue;
            }
            let vertex = self.v(id);
            if vertex.label != Label::NONE {
                labels.push(self.label_name(vertex.label));
            }
            id = vertex.parent;
        }
        labels.reverse();
        if labels.len() > MAX_PATH {
            labels.truncate(MAX_PATH);
            labels.push("...".into());
        }
        labels.join(".")
    }

    /// Takes plain data in as an expression.
    pub(crate) fn data_expr(&mut self, data: &Data, span: Span) -> Option<ExprId> {
        let chunk = self.chunks.len();
        if chunk >= ir::MAX_CHUNKS {
            return None;
        }
        let program = self.program.clone();
        let base = program.labels.len();
        let labels = &mut self.labels;
        let mut intern = |text: &str| program.labels.find(text).unwrap_or_else(|| base + labels.intern(text));
        let (made, id) = crate::compile::data::chunk(data, span, chunk, &mut intern, &mut |number| {
            Expr::Value(number as u32)
        });
        if made.exprs.len() >= ir::MAX_VERTICES {
            return None;
        }
        self.take_chunk(&made);
        self.chunks.push(Rc::new(Shared(Arc::new(made))));
        Some(id)
    }
}
