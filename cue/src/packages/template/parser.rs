//! Tokens in, the tree of a template out, and the templates that it defines.

use std::collections::BTreeMap;

use super::lexer::{Kind, Mistake, Token, tokens};
use super::number::{Number, unquoted};

/// Deepest nesting of actions and parentheses.
const MAX_DEPTH: usize = 200;

pub(super) type List = Vec<Node>;

/// A piece of a template.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Text(String),
    Action(Pipeline),
    If(Branch),
    With(Branch),
    Range(Branch),
    Break,
    Continue,
    Call { name: String, pipeline: Option<Pipeline>, place: Place },
}

/// `if`, `with` or `range` with its two bodies.
#[derive(Debug, Clone)]
pub(super) struct Branch {
    pub(super) pipeline: Pipeline,
    pub(super) body: List,
    pub(super) otherwise: List,
}

/// Where something stands: where errors point, and the text they show.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) at: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// `$x := a | b c`.
#[derive(Debug, Clone)]
pub(super) struct Pipeline {
    pub(super) place: Place,
    pub(super) assigns: bool,
    pub(super) variables: Vec<String>,
    pub(super) commands: Vec<Command>,
}

/// A function or value with its arguments.
#[derive(Debug, Clone)]
pub(super) struct Command {
    pub(super) place: Place,
    pub(super) words: Vec<Word>,
}

/// A word of a command.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub(super) kind: Term,
    pub(super) place: Place,
}

#[derive(Debug, Clone)]
pub(super) enum Term {
    Dot,
    Nil,
    Bool(bool),
    Number(Number),
    Text(String),
    Function(String),
    Field(Vec<String>),
    Variable(String, Vec<String>),
    Pipeline(Box<Pipeline>),
    Chain(Box<Word>, Vec<String>),
}

/// All templates of a text by name; the text itself has the empty one.
pub(super) type Templates = BTreeMap<String, List>;

/// Reads a template.
pub(super) fn parse(source: &str) -> Result<Templates, Mistake> {
    let mut parser = Parser {
        tokens: tokens(source)?,
        at: 0,
        variables: vec!["$".into()],
        loops: 0,
        depth: 0,
        templates: Templates::new(),
    };
    let (mut list, end) = parser.list(true)?;
    if let Some(word) = end {
        return parser.fail(format!("unexpected {{{{{word}}}}}"));
    }
    if let Some(defined) = parser.templates.get("") {
        match (is_empty(&list), is_empty(defined)) {
            (true, _) => list = defined.clone(),
            (false, true) => {}
            (false, false) => return parser.fail("template: multiple definition of template \"\"".into()),
        }
    }
    parser.templates.insert(String::new(), list);
    Ok(parser.templates)
}

/// Whether a list prints nothing but blanks.
fn is_empty(list: &List) -> bool {
    list.iter().all(|node| matches!(node, Node::Text(text) if text.trim().is_empty()))
}

pub(super) struct Parser<'t> {
    pub(super) tokens: Vec<Token<'t>>,
    pub(super) at: usize,
    pub(super) variables: Vec<String>,
    loops: usize,
    pub(super) depth: usize,
    templates: Templates,
}

/// How a control structure's list ended: `end`, or `else`.
type End = Option<&'static str>;

impl<'t> Parser<'t> {
    pub(super) fn peek(&self) -> Token<'t> {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    pub(super) fn next(&mut self) -> Token<'t> {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    pub(super) fn skip_space(&mut self) {
        while self.peek().kind == Kind::Space {
            self.next();
        }
    }

    pub(super) fn peek_word(&mut self) -> Token<'t> {
        self.skip_space();
        self.peek()
    }

    fn next_word(&mut self) -> Token<'t> {
        self.skip_space();
        self.next()
    }

    pub(super) fn fail<T>(&self, message: String) -> Result<T, Mistake> {
        let at = self.at.saturating_sub(1);
        Err((self.tokens[at].at, message))
    }

    pub(super) fn unexpected<T>(&self, token: Token<'_>, context: &str) -> Result<T, Mistake> {
        let shown = match token.kind {
            Kind::End => return Err((token.at, "unexpected EOF".into())),
            Kind::Keyword | Kind::Dot => format!("<{}>", token.text),
            _ if token.text.chars().count() > 10 => {
                format!("{:?}...", token.text.chars().take(10).collect::<String>())
            }
            _ => format!("{:?}", token.text),
        };
        Err((token.at, format!("unexpected {shown} in {context}")))
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Result<Token<'t>, Mistake> {
        let token = self.next_word();
        if token.kind == kind { Ok(token) } else { self.unexpected(token, context) }
    }

    pub(super) fn deeper(&mut self) -> Result<(), Mistake> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { self.fail(format!("nested deeper than {MAX_DEPTH}")) } else { Ok(()) }
    }

    /// Nodes up to `{{end}}`, `{{else` or the end of the text; `else` is left with its pipeline unread.
    fn list(&mut self, top: bool) -> Result<(List, End), Mistake> {
        self.deeper()?;
        let mut nodes = Vec::new();
        let end = loop {
            let token = self.next();
            match token.kind {
                Kind::Text => nodes.push(Node::Text(token.text.to_string())),
                Kind::End => {
                    if top {
                        break None;
                    }
                    return Err((token.at, "unexpected EOF".into()));
                }
                _ => {
                    if let Some(end) = self.action(token, top, &mut nodes)? {
                        break Some(end);
                    }
                }
            }
        };
        self.depth -= 1;
        Ok((nodes, end))
    }

    /// An action after its `{{`.
    fn action(&mut self, open: Token<'t>, top: bool, nodes: &mut List) -> Result<End, Mistake> {
        let word = self.peek_word();
        if word.kind != Kind::Keyword {
            nodes.push(Node::Action(self.pipeline("command", Kind::Right)?));
            return Ok(None);
        }
        self.next();
        nodes.push(match word.text {
            "end" => {
                self.expect(Kind::Right, "end")?;
                return Ok(Some("end"));
            }
            "else" => {
                let next = self.peek_word();
                if !(next.kind == Kind::Keyword && matches!(next.text, "if" | "with")) {
                    self.expect(Kind::Right, "else")?;
                }
                return Ok(Some("else"));
            }
            "if" => self.control("if")?,
            "with" => self.control("with")?,
            "range" => self.control("range")?,
            "break" | "continue" => {
                let next = self.next_word();
                if next.kind != Kind::Right {
                    return self.unexpected(next, &format!("{{{{{}}}}}", word.text));
                }
                if self.loops == 0 {
                    return self.fail(format!("{{{{{}}}}} outside {{{{range}}}}", word.text));
                }
                if word.text == "break" { Node::Break } else { Node::Continue }
            }
            "template" => self.invocation(open)?,
            "block" => self.block(open)?,
            "define" if top && self.depth == 1 => {
                self.definition()?;
                return Ok(None);
            }
            _ => return self.unexpected(word, "command"),
        });
        Ok(None)
    }

    fn control(&mut self, context: &'static str) -> Result<Node, Mistake> {
        let known = self.variables.len();
        let pipeline = self.pipeline(context, Kind::Right)?;
        let in_loop = usize::from(context == "range");
        self.loops += in_loop;
        let (body, end) = self.list(false)?;
        self.loops -= in_loop;
        let mut otherwise = List::new();
        if end == Some("else") {
            let next = self.peek();
            if next.kind == Kind::Keyword && next.text == context && context != "range" {
                self.next();
                self.deeper()?;
                otherwise.push(self.control(context)?);
                self.depth -= 1;
            } else if next.kind == Kind::Keyword && matches!(next.text, "if" | "with") {
                return self.unexpected(next, "input");
            } else {
                let (list, end) = self.list(false)?;
                otherwise = list;
                if end != Some("end") {
                    return self.fail("expected end; found {{else}}".into());
                }
            }
        }
        self.variables.truncate(known);
        let branch = Branch { pipeline, body, otherwise };
        Ok(match context {
            "if" => Node::If(branch),
            "with" => Node::With(branch),
            _ => Node::Range(branch),
        })
    }

    fn template_name(&mut self, context: &str) -> Result<String, Mistake> {
        let token = self.next_word();
        match token.kind {
            Kind::String | Kind::RawString => unquoted(token),
            _ => self.unexpected(token, context),
        }
    }

    fn invocation(&mut self, open: Token<'t>) -> Result<Node, Mistake> {
        let at = self.peek_word().at;
        let name = self.template_name("template clause")?;
        let mut pipeline = None;
        if self.peek_word().kind == Kind::Right {
            self.next();
        } else {
            pipeline = Some(self.pipeline("template clause", Kind::Right)?);
        }
        let close = self.tokens[self.at - 1];
        let place = Place { at, start: open.at, end: close.at + close.text.len() };
        Ok(Node::Call { name, pipeline, place })
    }

    /// The body of a definition, with variables and loops of its own.
    fn body(&mut self, name: String, context: &str) -> Result<(), Mistake> {
        let outer = std::mem::replace(&mut self.variables, vec!["$".into()]);
        let loops = std::mem::take(&mut self.loops);
        let (list, end) = self.list(false)?;
        if end != Some("end") {
            return self.fail(format!("unexpected {{{{else}}}} in {context}"));
        }
        (self.variables, self.loops) = (outer, loops);
        match self.templates.get(&name) {
            Some(known) if !is_empty(known) => {
                if !is_empty(&list) {
                    return self.fail(format!("template: multiple definition of template {name:?}"));
                }
            }
            _ => {
                self.templates.insert(name, list);
            }
        }
        Ok(())
    }

    fn definition(&mut self) -> Result<(), Mistake> {
        let name = self.template_name("define clause")?;
        self.expect(Kind::Right, "define clause")?;
        self.body(name, "define clause")
    }

    fn block(&mut self, open: Token<'t>) -> Result<Node, Mistake> {
        let at = self.peek_word().at;
        let name = self.template_name("block clause")?;
        let pipeline = self.pipeline("block clause", Kind::Right)?;
        let close = self.tokens[self.at - 1];
        let place = Place { at, start: open.at, end: close.at + close.text.len() };
        self.body(name.clone(), "block clause")?;
        Ok(Node::Call { name, pipeline: Some(pipeline), place })
    }
}
