//! Reads the modules of a crate, the names each declares and imports, and which file uses which.
//!
//! A name that a module only passes on (`pub use`, or an import that a child takes through `super`) leads to the file that
//! declares it, so a table of contents causes no circle of files. Between the top-level modules of a crate passing on counts as well.
//! Methods of a value (`x.f()`) are not seen.

use std::collections::{BTreeMap, BTreeSet};

use super::module_files::{self, Folders};
use super::tokens::{self, Token};

/// How many imports are followed from a name to its declaration.
const IMPORTS_AT_MOST: usize = 8;

/// Keywords after which a module declares a name.
const DECLARES: [&str; 8] = ["struct", "enum", "union", "trait", "type", "fn", "const", "static"];

/// Which file uses which, or which top-level module, and one place where it does.
pub(super) type Uses = BTreeMap<String, BTreeMap<String, Use>>;

/// A file and the path in it that leads elsewhere.
#[derive(Clone)]
pub(super) struct Use {
    pub(super) file: String,
    pub(super) path: String,
}

/// An imported path; `name` is what it is called here, or nothing when everything is imported.
pub(super) struct Import {
    pub(super) path: Vec<String>,
    name: Option<String>,
    passed_on: bool,
}

/// What one file, or a module inside it, says.
#[derive(Default)]
pub(super) struct Module {
    file: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// Children with a file of their own, and their `#[path]`.
    files: Vec<(String, Option<String>)>,
    inline: Vec<Inline>,
    /// The `#[path]` of the module that follows.
    path_of_next: Option<String>,
    declared: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    pub(super) paths: Vec<Vec<String>>,
}

/// A module that is written inside another.
struct Inline {
    name: String,
    path: Option<String>,
    module: Module,
}

/// The tokens of all files, by name.
pub(super) type Files<'a> = BTreeMap<&'a str, &'a [Token]>;

/// The modules of one crate; the first is its root.
pub(super) struct Crate {
    modules: Vec<Module>,
    /// Modules whose file was not found.
    pub(super) unread: Vec<String>,
}

/// Where a name leads.
enum Found {
    Declared(usize),
    /// The module itself, of which nothing is named yet.
    Module(usize),
    /// Asked of this module, which may have it from a macro.
    Perhaps(usize),
    Elsewhere,
}

impl Crate {
    /// Reads a crate from its root file on.
    pub(super) fn read(files: &Files, root: &str) -> Self {
        let mut read = Self { modules: Vec::new(), unread: Vec::new() };
        if let Some(tokens) = files.get(root) {
            read.add(files, Module::read(tokens), root, &Folders::of_owner(root), None);
        }
        read
    }

    fn add(
        &mut self,
        files: &Files,
        mut module: Module,
        file: &str,
        folders: &Folders,
        parent: Option<usize>,
    ) -> usize {
        let here = self.modules.len();
        let own = std::mem::take(&mut module.files);
        let inline = std::mem::take(&mut module.inline);
        self.modules.push(Module { file: file.to_owned(), parent, ..module });
        for (name, path) in own {
            let places = folders.files(&name, path.as_deref());
            let found = places
                .iter()
                .find_map(|(place, below)| files.get(place.as_str()).map(|tokens| (place, below, tokens)));
            match found {
                Some((place, below, tokens)) if !self.is_inside(here, place) => {
                    let child = self.add(files, Module::read(tokens), place, below, Some(here));
                    self.modules[here].children.insert(name, child);
                }
                _ => self.unread.push(format!(
                    "{file}: the file of module `{name}` is not in a room; tidy looked for {}",
                    places.iter().map(|(place, _)| place.as_str()).collect::<Vec<_>>().join(" and ")
                )),
            }
        }
        for Inline { name, path, module } in inline {
            let below = folders.of_inline(&name, path.as_deref());
            let child = self.add(files, module, file, &below, Some(here));
            self.modules[here].children.insert(name, child);
        }
        here
    }

    /// Whether a module is in this file or below it; a `#[path]` may lead back.
    fn is_inside(&self, module: usize, file: &str) -> bool {
        let mut above = Some(module);
        while let Some(module) = above {
            if self.modules[module].file == file {
                return true;
            }
            above = self.modules[module].parent;
        }
        false
    }

    /// Which file uses which.
    pub(super) fn uses(&self) -> Uses {
        let mut uses = Uses::new();
        for (here, module) in self.modules.iter().enumerate() {
            let imported = module.imports.iter().filter(|import| !import.passed_on).map(Import::source);
            for (path, is_everything) in imported.chain(module.leaving()) {
                let to = match self.find(here, path, 0, &mut Vec::new()) {
                    Found::Declared(to) | Found::Perhaps(to) => &self.modules[to].file,
                    Found::Module(to) if is_everything => &self.modules[to].file,
                    // A file that imports a module uses the items named by it.
                    Found::Module(_) | Found::Elsewhere => continue,
                };
                if *to != module.file {
                    note(&mut uses, &module.file, to, module, path);
                }
            }
        }
        uses
    }

    /// Which top-level module uses which: whatever a path leads through, also where a module only passes it on. The root is
    /// no module among them.
    pub(super) fn uses_of_modules(&self) -> Uses {
        let tops: Vec<Option<String>> = (0..self.modules.len()).map(|module| self.top(module)).collect();
        let mut uses = Uses::new();
        for (here, module) in self.modules.iter().enumerate() {
            let Some(from) = &tops[here] else { continue };
            let imported = module.imports.iter().map(Import::source);
            for (path, _) in imported.chain(module.leaving()) {
                let mut way = Vec::new();
                self.find(here, path, 0, &mut way);
                for to in way.into_iter().filter_map(|module| tops[module].as_ref()).filter(|to| *to != from)
                {
                    note(&mut uses, from, to, module, path);
                }
            }
        }
        uses
    }

    /// The top-level module of a module, called by its file without `.rs`, or by the root and its name.
    fn top(&self, module: usize) -> Option<String> {
        let mut top = module;
        while let Some(parent) = self.modules[top].parent.filter(|parent| *parent > 0) {
            top = parent;
        }
        self.modules[top].parent?;
        let file = &self.modules[top].file;
        if *file == self.modules[0].file {
            let name = self.modules[0].children.iter().find(|(_, child)| **child == top);
            return name.map(|(name, _)| format!("{file}::{name}"));
        }
        let stem = file.trim_end_matches(".rs");
        Some(stem.trim_end_matches("/mod").to_owned())
    }

    /// Where a path leads, and `way`: the modules that it leads through.
    fn find(&self, here: usize, path: &[String], imports: usize, way: &mut Vec<usize>) -> Found {
        let Some(first) = path.first() else { return Found::Module(here) };
        match first.as_str() {
            "crate" => self.find_in(0, &path[1..], imports, false, way),
            "self" => self.find_in(here, &path[1..], imports, false, way),
            "super" => {
                let mut here = here;
                let mut rest = path;
                while rest.first().is_some_and(|word| word == "super") {
                    let Some(parent) = self.modules[here].parent else { return Found::Elsewhere };
                    here = parent;
                    rest = &rest[1..];
                }
                self.find_in(here, rest, imports, false, way)
            }
            _ => self.find_in(here, path, imports, true, way),
        }
    }

    /// `bare`: the path may begin with the name of a crate.
    fn find_in(
        &self,
        here: usize,
        path: &[String],
        imports: usize,
        bare: bool,
        way: &mut Vec<usize>,
    ) -> Found {
        way.push(here);
        let module = &self.modules[here];
        let Some(name) = path.first() else { return Found::Module(here) };
        if let Some(child) = module.children.get(name) {
            return self.find_in(*child, &path[1..], imports, false, way);
        }
        if imports == IMPORTS_AT_MOST {
            return Found::Elsewhere;
        }
        // Before what is declared: a function of an `impl` may have the same name.
        if let Some(import) = module.imports.iter().find(|import| import.name.as_ref() == Some(name)) {
            if import.path.as_slice() == [name.clone()] {
                return Found::Elsewhere;
            }
            let whole: Vec<String> = import.path.iter().chain(&path[1..]).cloned().collect();
            return self.find(here, &whole, imports + 1, way);
        }
        if module.declared.contains(name) {
            return Found::Declared(here);
        }
        for import in module.imports.iter().filter(|import| import.name.is_none()) {
            let before = &import.path[..import.path.len() - 1];
            let whole: Vec<String> = before.iter().chain(path).cloned().collect();
            let known = way.len();
            if let Found::Declared(to) = self.find(here, &whole, imports + 1, way) {
                return Found::Declared(to);
            }
            way.truncate(known);
        }
        if bare { Found::Elsewhere } else { Found::Perhaps(here) }
    }
}

impl Module {
    /// What the tokens of one module say; its children are still to be read.
    pub(super) fn read(tokens: &[Token]) -> Self {
        let mut module = Self::default();
        let mut at = 0;
        while at < tokens.len() {
            at = module.take(tokens, at);
        }
        module
    }

    /// The modules inside it.
    pub(super) fn into_inline(self) -> impl Iterator<Item = Self> {
        self.inline.into_iter().map(|inline| inline.module)
    }

    /// Takes what stands at `at`; the place behind it.
    fn take(&mut self, tokens: &[Token], at: usize) -> usize {
        if let Some(path) = module_files::path_attribute(&tokens[at..]) {
            self.path_of_next = Some(path.to_owned());
            return tokens::after_group(tokens, at + 1);
        }
        let Token::Word(word) = &tokens[at] else { return at + 1 };
        let name = if let Some(Token::Word(name)) = tokens.get(at + 1) { Some(name.clone()) } else { None };
        match (word.as_str(), name) {
            ("mod", Some(name)) if tokens.get(at + 2) == Some(&Token::Mark(';')) => {
                self.files.push((name, self.path_of_next.take()));
                return at + 3;
            }
            ("mod", Some(name)) if tokens.get(at + 2) == Some(&Token::Open('{')) => {
                let end = tokens::after_group(tokens, at + 2);
                let module = Self::read(&tokens[at + 3..end - 1]);
                self.inline.push(Inline { name, path: self.path_of_next.take(), module });
                return end;
            }
            ("use", _)
                if matches!(tokens.get(at + 1), Some(Token::Word(_) | Token::Colons | Token::Open('{'))) =>
            {
                let first = self.imports.len();
                let end = self.import(tokens, at + 1, &[]);
                let passed_on = is_public(&tokens[..at]);
                self.imports[first..].iter_mut().for_each(|import| import.passed_on = passed_on);
                return end;
            }
            ("macro_rules", _) => {
                if let Some(Token::Word(name)) = tokens.get(at + 2) {
                    self.declared.insert(name.clone());
                }
                return at + 3;
            }
            (word, Some(name)) if DECLARES.contains(&word) => {
                self.declared.insert(name);
                return at + 1; // the next word may be the `fn` of `const fn`
            }
            _ => {}
        }
        self.path(tokens, at)
    }

    /// A path in an expression, a type or a pattern.
    fn path(&mut self, tokens: &[Token], at: usize) -> usize {
        let follows = |mark: &Token| at > 0 && tokens[at - 1] == *mark;
        let mut path = Vec::new();
        let mut end = at;
        while let Some(Token::Word(word)) = tokens.get(end) {
            path.push(word.clone());
            end += 1;
            match (tokens.get(end), tokens.get(end + 1)) {
                (Some(Token::Colons), Some(Token::Word(_))) => end += 1,
                _ => break,
            }
        }
        if !follows(&Token::Colons) && !follows(&Token::Mark('.')) && !is_visibility(&tokens[..at]) {
            self.paths.push(path);
        }
        end
    }

    /// The tree of an import that stands at `at` behind `before`; the place behind it.
    fn import(&mut self, tokens: &[Token], at: usize, before: &[String]) -> usize {
        let mut path = before.to_vec();
        let mut at = at;
        loop {
            match tokens.get(at) {
                Some(Token::Colons) => at += 1,
                Some(Token::Word(word)) => {
                    path.push(word.clone());
                    at += 1;
                    if tokens.get(at) != Some(&Token::Colons) {
                        break;
                    }
                }
                Some(Token::Mark('*')) => {
                    path.push("*".to_owned());
                    self.imports.push(Import { path, name: None, passed_on: false });
                    return at + 1;
                }
                Some(Token::Open('{')) => {
                    at += 1;
                    while !matches!(tokens.get(at), None | Some(Token::Close('}'))) {
                        at = self.import(tokens, at, &path);
                        at += usize::from(tokens.get(at) == Some(&Token::Mark(',')));
                    }
                    return at + 1;
                }
                _ => return at + 1,
            }
        }
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let mut name = path.last().cloned();
        if let [Some(word), Some(Token::Word(alias))] = [tokens.get(at), tokens.get(at + 1)]
            && word.is("as")
        {
            name = Some(alias.clone());
            at += 2;
        }
        self.imports.push(Import { path, name, passed_on: false });
        at
    }

    /// The paths that can lead out of this file.
    fn leaving(&self) -> impl Iterator<Item = (&[String], bool)> {
        self.paths.iter().filter(|path| self.may_leave(path)).map(|path| (&path[..], false))
    }

    /// Whether a path can lead out of this file: all others begin with a name that stands for something here.
    fn may_leave(&self, path: &[String]) -> bool {
        let Some(first) = path.first() else { return false };
        let imported = |passed_on: bool| {
            self.imports.iter().any(|i| i.name.as_ref() == Some(first) && (i.passed_on || !passed_on))
        };
        match first.as_str() {
            "crate" | "super" | "self" => path.len() > 1,
            _ => {
                let everything = self.imports.iter().any(|import| import.name.is_none() && import.passed_on);
                let stands_for_a_module = self.children.contains_key(first) || imported(false);
                everything || imported(true) || (path.len() > 1 && stands_for_a_module)
            }
        }
    }
}

impl Import {
    /// What it imports from: the path, or the module of which it takes everything.
    fn source(&self) -> (&[String], bool) {
        let is_everything = self.name.is_none();
        (&self.path[..self.path.len() - usize::from(is_everything)], is_everything)
    }
}

/// Notes a use, unless one of the same is known.
fn note(uses: &mut Uses, from: &str, to: &str, module: &Module, path: &[String]) {
    let of_this = uses.entry(from.to_owned()).or_default();
    of_this.entry(to.to_owned()).or_insert_with(|| Use { file: module.file.clone(), path: path.join("::") });
}

/// Whether what follows is the module of `pub(in …)`.
fn is_visibility(before: &[Token]) -> bool {
    matches!(before, [.., public, Token::Open('('), word] if public.is("pub") && word.is("in"))
}

/// Whether what follows these tokens is `pub` or `pub(…)`.
fn is_public(before: &[Token]) -> bool {
    let word = match before.last() {
        Some(Token::Close(')')) => before.iter().rposition(|token| *token == Token::Open('(')),
        _ => Some(before.len()),
    };
    word.and_then(|at| before.get(at.checked_sub(1)?)).is_some_and(|token| token.is("pub"))
}
