//! Sources in, compiled once; instances with inputs out, evaluated on demand.

use std::{cell::RefCell, rc::Rc, sync::Arc};

use crate::{
    ast, compile,
    diagnostic::Diagnostics,
    evaluate::{Budget, Evaluation, Guard, Step},
    input::Input,
    ir::{ExprId, Program},
    plain::{data_size, json_data},
    provider::Provider,
    source::{Source, Sources, Span},
    value::Value,
};

/// A package parsed and resolved once; cheap to clone, to share between threads and to instantiate.
#[derive(Clone)]
pub struct Template {
    program: Arc<Program>,
    budget: Budget,
    guard: Option<Arc<dyn Guard>>,
}

impl Template {
    /// Compiles the files of one package. Only builtin packages can be imported.
    ///
    /// # Errors
    /// All mistakes of the texts and of their names.
    pub fn compile(sources: &[Source]) -> Result<Self, Diagnostics> {
        Self::compile_with(sources, &[])
    }

    /// Compiles the files of one package with other packages they may import.
    ///
    /// # Errors
    /// All mistakes of the texts, of the packages they import, and of their names.
    pub fn compile_with(sources: &[Source], providers: &[&dyn Provider]) -> Result<Self, Diagnostics> {
        let program = compile::compile(sources, providers)?;
        Ok(Self { program: Arc::new(program), budget: Budget::default(), guard: None })
    }

    /// Compiles syntax trees, for instance edited results of [`Value::syntax`]; `sources` are what their spans point into.
    ///
    /// # Errors
    /// All mistakes of their names and imports.
    pub fn compile_files(files: &[ast::File], sources: Sources) -> Result<Self, Diagnostics> {
        let program = compile::compile_files(files, &[], sources)?;
        Ok(Self { program: Arc::new(program), budget: Budget::default(), guard: None })
    }

    /// The same template with another budget for each instance.
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// The same template whose instances ask this guard for their memory, and whether they may go on.
    pub fn with_guard(mut self, guard: Arc<dyn Guard>) -> Self {
        self.guard = Some(guard);
        self
    }

    /// The limits of each instance.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// The sources it was compiled from.
    pub fn sources(&self) -> &Sources {
        &self.program.sources
    }

    /// Makes an instance with inputs as further conjuncts. It evaluates nothing yet.
    pub fn instantiate(&self, inputs: &[Input<'_>]) -> Instance {
        let mut evaluation = Evaluation::new(self.program.clone(), self.budget, self.guard.clone());
        for input in inputs {
            let path: Vec<String> =
                input.path.split('.').filter(|n| !n.is_empty()).map(str::to_owned).collect();
            let positions = input.positions.clone();
            // Judged before anything is built of it; the first step tells.
            evaluation.take(data_size(input.value));
            if evaluation.step(ExprId::NONE).is_err() {
                break;
            }
            if let Some(expr) = evaluation.input(json_data(input.value), &path, input.patch, positions) {
                let conjunct = evaluation.plain(expr);
                let root = evaluation.root;
                evaluation.vm(root).conjuncts.push(conjunct);
            }
        }
        Instance { evaluation: Rc::new(RefCell::new(evaluation)) }
    }
}

/// A template with its inputs; values are evaluated when they are asked for.
#[derive(Clone)]
pub struct Instance {
    evaluation: Rc<RefCell<Evaluation>>,
}

impl Instance {
    /// Adds texts, each a further conjunct at its path. The instance must not be evaluated yet.
    pub(crate) fn add(&self, texts: &[(Vec<Step>, Source)]) -> Result<(), Diagnostics> {
        if texts.is_empty() {
            return Ok(());
        }
        let mut evaluation = self.evaluation.borrow_mut();
        let sources: Vec<Source> = texts.iter().map(|(_, source)| source.clone()).collect();
        let exprs = evaluation.add_texts(&sources, None)?;
        for ((path, _), expr) in texts.iter().zip(exprs) {
            evaluation.note_input(expr);
            let placed = evaluation.at_path(path, expr);
            let conjunct = evaluation.plain(placed);
            let root = evaluation.root;
            evaluation.vm(root).conjuncts.push(conjunct);
        }
        Ok(())
    }

    /// The whole value.
    pub fn root(&self) -> Value {
        let root = self.evaluation.borrow().root;
        Value::new(self.evaluation.clone(), root)
    }

    /// Where `+` and `*` met lists in what was evaluated so far; only texts of an older era do that.
    pub(crate) fn list_operators(&self) -> Vec<Span> {
        let evaluation = self.evaluation.borrow();
        evaluation.list_operators.iter().map(|place| evaluation.span(*place)).collect()
    }
}
