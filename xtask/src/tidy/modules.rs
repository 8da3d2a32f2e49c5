//! Reads the modules of a crate, the names each declares and imports, and which file uses which.
//!
//! A name that a module only passes on (`pub use`, or an import that a child takes through `super`) leads to the file that
//! declares it, so a table of contents causes no circle. Methods of a value (`x.f()`) are not seen.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::{self, Token};

/// How many imports are followed from a name to its declaration.
const IMPORTS_AT_MOST: usize = 8;

/// Keywords after which a module declares a name.
const DECLARES: [&str; 8] = ["struct", "enum", "union", "trait", "type", "fn", "const", "static"];

/// Which file uses which, and one path by which it does.
pub(super) type Uses = BTreeMap<String, BTreeMap<String, String>>;

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
    /// Children with a file of their own.
    files: Vec<String>,
    inline: Vec<(String, Module)>,
    declared: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    pub(super) paths: Vec<Vec<String>>,
}

/// The modules of one crate; the first is its root.
pub(super) struct Crate {
    modules: Vec<Module>,
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
    /// Reads a crate from its root file on; files that are not there (`#[path]`) are left out.
    pub(super) fn read(files: &BTreeMap<&str, &[Token]>, root: &str) -> Self {
        let mut read = Self { modules: Vec::new() };
        let directory = root.rsplit_once('/').map_or("", |(directory, _)| directory);
        if let Some(tokens) = files.get(root) {
            read.add(files, Module::read(tokens), root, directory, None);
        }
        read
    }

    fn add(
        &mut self,
        files: &BTreeMap<&str, &[Token]>,
        mut module: Module,
        file: &str,
        directory: &str,
        parent: Option<usize>,
    ) -> usize {
        let here = self.modules.len();
        let own = std::mem::take(&mut module.files);
        let inline = std::mem::take(&mut module.inline);
        self.modules.push(Module { file: file.to_owned(), parent, ..module });
        for name in own {
            let places = [format!("{directory}/{name}.rs"), format!("{directory}/{name}/mod.rs")];
            if let Some((place, tokens)) = places.iter().find_map(|p| files.get(p.as_str()).map(|t| (p, t))) {
                let below = format!("{directory}/{name}");
                let child = self.add(files, Module::read(tokens), place, &below, Some(here));
                self.modules[here].children.insert(name, child);
            }
        }
        for (name, inner) in inline {
            let below = format!("{directory}/{name}");
            let child = self.add(files, inner, file, &below, Some(here));
            self.modules[here].children.insert(name, child);
        }
        here
    }

    /// Which file uses which.
    pub(super) fn uses(&self) -> Uses {
        let mut uses = Uses::new();
        for (here, module) in self.modules.iter().enumerate() {
            let imported = module.imports.iter().filter(|import| !import.passed_on).map(|import| {
                let is_everything = import.name.is_none();
                (&import.path[..import.path.len() - usize::from(is_everything)], is_everything)
            });
            let named =
                module.paths.iter().filter(|path| module.may_leave(path)).map(|path| (&path[..], false));
            for (path, is_everything) in imported.chain(named) {
                let to = match self.find(here, path, 0) {
                    Found::Declared(to) | Found::Perhaps(to) => &self.modules[to].file,
                    Found::Module(to) if is_everything => &self.modules[to].file,
                    // A file that imports a module uses the items named by it.
                    Found::Module(_) | Found::Elsewhere => continue,
                };
                if *to != module.file {
                    let of_file = uses.entry(module.file.clone()).or_default();
                    of_file.entry(to.clone()).or_insert_with(|| path.join("::"));
                }
            }
        }
        uses
    }

    fn find(&self, here: usize, path: &[String], imports: usize) -> Found {
        let Some(first) = path.first() else { return Found::Module(here) };
        match first.as_str() {
            "crate" => self.find_in(0, &path[1..], imports, false),
            "self" => self.find_in(here, &path[1..], imports, false),
            "super" => {
                let mut here = here;
                let mut rest = path;
                while rest.first().is_some_and(|word| word == "super") {
                    let Some(parent) = self.modules[here].parent else { return Found::Elsewhere };
                    here = parent;
                    rest = &rest[1..];
                }
                self.find_in(here, rest, imports, false)
            }
            _ => self.find_in(here, path, imports, true),
        }
    }

    /// `bare`: the path may begin with the name of a crate.
    fn find_in(&self, here: usize, path: &[String], imports: usize, bare: bool) -> Found {
        let module = &self.modules[here];
        let Some(name) = path.first() else { return Found::Module(here) };
        if let Some(child) = module.children.get(name) {
            return self.find_in(*child, &path[1..], imports, false);
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
            return self.find(here, &whole, imports + 1);
        }
        if module.declared.contains(name) {
            return Found::Declared(here);
        }
        for import in module.imports.iter().filter(|import| import.name.is_none()) {
            let before = &import.path[..import.path.len() - 1];
            let whole: Vec<String> = before.iter().chain(path).cloned().collect();
            if let Found::Declared(to) = self.find(here, &whole, imports + 1) {
                return Found::Declared(to);
            }
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
        self.inline.into_iter().map(|(_, module)| module)
    }

    /// Takes what stands at `at`; the place behind it.
    fn take(&mut self, tokens: &[Token], at: usize) -> usize {
        let Token::Word(word) = &tokens[at] else { return at + 1 };
        let name = if let Some(Token::Word(name)) = tokens.get(at + 1) { Some(name.clone()) } else { None };
        match (word.as_str(), name) {
            ("mod", Some(name)) if tokens.get(at + 2) == Some(&Token::Mark(';')) => {
                self.files.push(name);
                return at + 3;
            }
            ("mod", Some(name)) if tokens.get(at + 2) == Some(&Token::Open('{')) => {
                let end = tokens::after_group(tokens, at + 2);
                self.inline.push((name, Self::read(&tokens[at + 3..end - 1])));
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
