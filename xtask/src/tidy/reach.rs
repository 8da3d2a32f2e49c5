//! Public modules of a room that no other room names: they are private, and `lib.rs` passes on the items that others need.

use std::collections::{BTreeMap, BTreeSet};

use super::code::Code;
use super::modules::Module;
use super::rooms::ROOMS;
use super::tokens::Token;

/// The rule for all rooms with a library; `known` are the modules that broke it before, by room.
pub(super) fn check(code: &[Code], known: &BTreeMap<String, Vec<String>>, wrong: &mut Vec<String>) {
    for room in &ROOMS {
        let Some(library) = code.iter().find(|c| c.name == format!("{}/src/lib.rs", room.directory)) else {
            continue;
        };
        let named = named(room.directory, code);
        let listed = known.get(room.directory).map(Vec::as_slice).unwrap_or_default();
        let unreached: Vec<&str> = public_modules(&library.shipped).filter(|m| !named.contains(*m)).collect();
        for module in unreached.iter().filter(|m| !listed.iter().any(|l| l == *m)) {
            wrong.push(format!(
                "{}: no other room names the public module `{module}`; make it private and pass on what is needed of it",
                library.name
            ));
        }
        for module in listed.iter().filter(|l| !unreached.contains(&l.as_str())) {
            wrong.push(format!(
                "xtask/tidy.toml: `{module}` of `{}` is named or private; take it off the list",
                room.directory
            ));
        }
    }
}

fn public_modules(tokens: &[Token]) -> impl Iterator<Item = &str> {
    tokens.windows(4).filter_map(|four| match four {
        [public, module, Token::Word(name), Token::Mark(';')] if public.is("pub") && module.is("mod") => {
            Some(name.as_str())
        }
        _ => None,
    })
}

/// Modules of a file that are files themselves.
fn modules(tokens: &[Token]) -> impl Iterator<Item = &str> {
    tokens.windows(3).filter_map(|three| match three {
        [module, Token::Word(name), Token::Mark(';')] if module.is("mod") => Some(name.as_str()),
        _ => None,
    })
}

/// The modules named behind the name of a room's library: by other rooms, by its binaries and by its tests.
fn named(room: &str, code: &[Code]) -> BTreeSet<String> {
    let library = format!("vela_{}", room.replace('-', "_"));
    let binary = code.iter().find(|c| c.name == format!("{room}/src/main.rs"));
    let of_binary: BTreeSet<&str> =
        binary.into_iter().flat_map(|c| modules(&c.all)).chain(["bin", "main"]).collect();
    let inside = |name: &str| {
        let module = name.strip_prefix(room).and_then(|rest| rest.strip_prefix("/src/"));
        let module = module.and_then(|rest| rest.split(['/', '.']).next());
        module.is_some_and(|module| !of_binary.contains(module))
    };
    let mut named = BTreeSet::new();
    for c in code.iter().filter(|c| !inside(&c.name) && c.all.iter().any(|token| token.is(&library))) {
        let mut open = vec![Module::read(&c.all)];
        while let Some(module) = open.pop() {
            let paths = module.imports.iter().map(|import| &import.path).chain(&module.paths);
            named.extend(
                paths.filter(|path| path.first() == Some(&library)).filter_map(|path| path.get(1)).cloned(),
            );
            open.extend(module.into_inline());
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_of_the_binary_is_outside_of_the_library() {
        let code = [
            ("core/src/lib.rs", "pub mod a;\npub mod b;\n"),
            ("core/src/main.rs", "mod args;\nfn main() { args::f() }\n"),
            ("core/src/args/mod.rs", "use vela_core::a;\n"),
            ("core/src/a.rs", "use vela_core::b;\n"),
        ];
        let code = code.map(|(name, text)| Code::read(name, text).unwrap());
        let mut wrong = Vec::new();
        check(&code, &BTreeMap::new(), &mut wrong);
        let expected = "core/src/lib.rs: no other room names the public module `b`; make it private and pass on what is needed of it";
        assert_eq!(wrong, [expected]);
    }

    #[test]
    fn a_public_module_is_named_by_another_room() {
        let code = [
            ("cue/src/lib.rs", "pub mod a;\npub mod b;\nmod c;\npub mod d;\npub mod e;\npub use b::B;\n"),
            ("cue/src/a.rs", "use vela_cue::b;\n"),
            ("cue/tests/cue.rs", "mod x { use vela_cue::{B, d::{self, D}}; }\n"),
            ("engine/src/lib.rs", "fn f() { vela_cue::a::g() }\n"),
        ];
        let code = code.map(|(name, text)| Code::read(name, text).unwrap());
        let mut wrong = Vec::new();
        let known = |name: &str| BTreeMap::from([("cue".to_owned(), vec!["e".to_owned(), name.to_owned()])]);
        check(&code, &known("b"), &mut wrong);
        assert!(wrong.is_empty(), "{wrong:?}");
        check(&code, &known("a"), &mut wrong);
        let expected = [
            "cue/src/lib.rs: no other room names the public module `b`; make it private and pass on what is needed of it",
            "xtask/tidy.toml: `a` of `cue` is named or private; take it off the list",
        ];
        assert_eq!(wrong, expected);
    }
}
