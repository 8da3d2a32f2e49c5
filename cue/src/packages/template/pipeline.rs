//! Tokens of an action in, its pipeline out: variables, commands, words and the fields chosen from them.

use super::lexer::{Kind, Mistake};
use super::number::{number, unquoted};
use super::parser::{Command, Parser, Pipeline, Place, Term, Word};

impl Parser<'_> {
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Result<Pipeline, Mistake> {
        self.deeper()?;
        let start = self.peek_word().at;
        let (mut variables, mut assigns) = (Vec::new(), false);
        while self.peek_word().kind == Kind::Variable {
            let before = self.at;
            let name = self.next().text.to_string();
            let sign = self.peek_word();
            match sign.kind {
                Kind::Assign | Kind::Declare => {
                    self.next();
                    assigns = sign.kind == Kind::Assign;
                    variables.push(name.clone());
                    self.variables.push(name);
                    break;
                }
                Kind::Comma => {
                    self.next();
                    variables.push(name.clone());
                    self.variables.push(name);
                    if context != "range" || variables.len() > 1 {
                        return self.fail(format!("too many declarations in {context}"));
                    }
                    if !matches!(self.peek_word().kind, Kind::Variable | Kind::Right | Kind::CloseParenthesis)
                    {
                        return self.fail("range can only initialize variables".into());
                    }
                }
                _ => {
                    self.at = before;
                    break;
                }
            }
        }
        let mut commands = Vec::new();
        loop {
            let token = self.peek_word();
            if token.kind == end {
                break;
            }
            if !starts_term(token.kind) {
                return self.unexpected(token, context);
            }
            commands.push(self.command()?);
        }
        let close = self.next();
        self.check_stages(&commands, context)?;
        self.depth -= 1;
        let finish = commands.last().map_or(close.at, |c: &Command| c.place.end);
        let place = commands.first().map_or(Place { at: start, start, end: finish }, |c| c.place);
        Ok(Pipeline { place: Place { end: finish, ..place }, assigns, variables, commands })
    }

    fn check_stages(&self, commands: &[Command], context: &str) -> Result<(), Mistake> {
        if commands.is_empty() {
            return self.fail(format!("missing value for {context}"));
        }
        for (at, command) in commands.iter().enumerate().skip(1) {
            let constant = command.words.first().is_some_and(|word| {
                matches!(word.kind, Term::Bool(_) | Term::Dot | Term::Nil | Term::Number(_) | Term::Text(_))
            });
            if constant {
                return self.fail(format!("non executable command in pipeline stage {}", at + 1));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Result<Command, Mistake> {
        let start = self.peek_word().at;
        let mut words = Vec::new();
        loop {
            self.skip_space();
            if let Some(word) = self.operand()? {
                words.push(word);
            }
            let token = self.peek();
            match token.kind {
                Kind::Space => continue,
                Kind::Right | Kind::CloseParenthesis => break,
                Kind::Pipe => {
                    self.next();
                    break;
                }
                _ => return self.unexpected(token, "operand"),
            }
        }
        let Some(last) = words.last() else { return self.fail("empty command".into()) };
        let (at, end) = (words[0].place.at, last.place.end);
        Ok(Command { place: Place { at, start, end }, words })
    }

    /// A term with the fields chosen from it.
    fn operand(&mut self) -> Result<Option<Word>, Mistake> {
        let Some(mut word) = self.term()? else { return Ok(None) };
        let first = self.peek();
        if first.kind != Kind::Field {
            return Ok(Some(word));
        }
        let mut names = Vec::new();
        while self.peek().kind == Kind::Field {
            let token = self.next();
            word.place.end = token.at + token.text.len();
            names.push(token.text[1..].to_string());
        }
        let place = Place { at: first.at, ..word.place };
        let kind = match word.kind {
            Term::Field(mut fields) => {
                fields.extend(names);
                Term::Field(fields)
            }
            Term::Variable(name, mut fields) => {
                fields.extend(names);
                Term::Variable(name, fields)
            }
            Term::Pipeline(_) | Term::Function(_) => {
                let inner = word.place;
                return Ok(Some(Word { kind: Term::Chain(Box::new(word), names), place: inner }));
            }
            _ => return self.fail("unexpected . after term".into()),
        };
        Ok(Some(Word { kind, place }))
    }

    fn term(&mut self) -> Result<Option<Word>, Mistake> {
        let token = self.peek_word();
        if !starts_term(token.kind) {
            return Ok(None);
        }
        self.next();
        let mut place = Place { at: token.at, start: token.at, end: token.at + token.text.len() };
        let kind = match token.kind {
            Kind::Dot => Term::Dot,
            Kind::Nil => Term::Nil,
            Kind::Bool => Term::Bool(token.text == "true"),
            Kind::Number | Kind::Character => Term::Number(number(token)?),
            Kind::String | Kind::RawString => Term::Text(unquoted(token)?),
            Kind::Field => Term::Field(vec![token.text[1..].to_string()]),
            Kind::Variable => {
                if !self.variables.iter().any(|known| known == token.text) {
                    return self.fail(format!("undefined variable {:?}", token.text));
                }
                Term::Variable(token.text.to_string(), Vec::new())
            }
            Kind::Identifier => {
                if !super::functions::is_known(token.text) {
                    return self.fail(format!("function {:?} not defined", token.text));
                }
                Term::Function(token.text.to_string())
            }
            _ => {
                let inner = self.pipeline("parenthesized pipeline", Kind::CloseParenthesis)?;
                let close = self.tokens[self.at - 1];
                place.at = inner.place.at;
                place.end = close.at + close.text.len();
                Term::Pipeline(Box::new(inner))
            }
        };
        Ok(Some(Word { kind, place }))
    }
}

fn starts_term(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Bool
            | Kind::Character
            | Kind::Dot
            | Kind::Field
            | Kind::Identifier
            | Kind::Number
            | Kind::Nil
            | Kind::RawString
            | Kind::String
            | Kind::Variable
            | Kind::OpenParenthesis
    )
}
