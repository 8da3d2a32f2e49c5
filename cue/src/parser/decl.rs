//! Files, structs and their declarations.

use super::{Mistake, Parser};
use crate::{ast::*, lexer::TokenKind, literal, source::Span};

impl Parser<'_> {
    pub(super) fn file(&mut self) -> File {
        let mut file = File { id: self.file, ..File::default() };
        loop {
            let before = self.at;
            self.decls(&mut file.decls, Some(&mut file.package));
            if self.kind() == TokenKind::End {
                break;
            }
            if !self.after_mistake {
                let found = self.found();
                self.error(format!("expected a declaration, found {found}"));
            }
            // A stray bracket is most often what an earlier mistake left; the comma behind it goes with it.
            self.after_mistake = true;
            if self.at == before || !matches!(self.kind(), TokenKind::Comma { .. }) {
                self.advance();
            }
            if matches!(self.kind(), TokenKind::Comma { .. }) {
                self.advance();
            }
        }
        file.comments = self.closing_comments();
        file
    }

    /// Declarations up to `}` or the end.
    fn decls(&mut self, decls: &mut Vec<Decl>, mut package: Option<&mut Option<Package>>) {
        let mut seen_other = false;
        loop {
            if self.kind() == TokenKind::End || self.is_symbol("}") {
                return;
            }
            if let TokenKind::Symbol(")" | "]") = self.kind() {
                return;
            }
            let blank_before = self.blank_before();
            let comments = self.leading_comments();
            let start = self.span();
            let first_token = self.at;
            if let Some(slot) = package.as_deref_mut()
                && self.word() == "package"
                && self.peek(1).kind == TokenKind::Ident
                && !seen_other
                && slot.is_none()
            {
                let mut clause = self.package(decls.len(), comments);
                self.end_of_decl(&mut [], first_token);
                clause.comments.extend(self.line_comment());
                *slot = Some(clause);
                continue;
            }
            let kind = if package.is_some() && self.word() == "import" && self.starts_import() {
                if seen_other {
                    self.error("imports must stand before all other declarations");
                }
                self.import()
            } else {
                let kind = self.decl();
                seen_other |= !matches!(kind, Ok(DeclKind::Attribute(_)));
                kind
            };
            let failed = kind.is_err();
            let kind = kind.unwrap_or(DeclKind::Bad);
            if let DeclKind::Attribute(attribute) = &kind {
                self.note_experiment(&attribute.text);
            }
            let span = start.to(self.last_span());
            decls.push(Decl { span, kind, comments, blank_before });
            if failed {
                self.recover(first_token);
                if matches!(self.kind(), TokenKind::Comma { .. }) {
                    self.advance();
                }
                continue;
            }
            self.after_mistake = false;
            self.end_of_decl(decls, first_token);
        }
    }

    fn blank_before(&self) -> bool {
        let token = self.token();
        let first = token.comments.0.max(self.comment);
        if first < token.comments.1 {
            self.lexed.comments[first as usize].newlines > 1
        } else {
            token.newlines > 1
        }
    }

    fn end_of_decl(&mut self, decls: &mut [Decl], first_token: usize) {
        match self.kind() {
            TokenKind::Comma { .. } => {
                self.advance();
            }
            TokenKind::End | TokenKind::Symbol("}" | ")" | "]") => {}
            _ => {
                let found = self.found();
                self.error(format!("missing ',' between declarations before {found}"));
                self.recover(first_token);
                if matches!(self.kind(), TokenKind::Comma { .. }) {
                    self.advance();
                }
            }
        }
        if let Some(decl) = decls.last_mut() {
            decl.comments.extend(self.line_comment());
        }
    }

    fn note_experiment(&mut self, text: &str) {
        if let Some(body) = text.strip_prefix("@experiment(").and_then(|t| t.strip_suffix(')')) {
            self.experiments.extend(body.split(',').map(|name| name.trim().to_owned()));
        }
    }

    pub(super) fn experiment(&self, name: &str) -> bool {
        self.experiments.iter().any(|e| e == name)
    }

    fn package(&mut self, position: usize, comments: Comments) -> Package {
        let start = self.advance().span;
        let span = self.span();
        let name = self.word().to_owned();
        self.advance();
        if name.contains('#') {
            self.error_at(format!("invalid package name {name}"), span);
        }
        Package { span: start.to(span), name: Ident { span, name }, position, comments }
    }

    fn starts_import(&self) -> bool {
        matches!(self.peek(1).kind, TokenKind::Quoted | TokenKind::Ident | TokenKind::Symbol("(" | "."))
    }

    fn import(&mut self) -> Result<DeclKind, Mistake> {
        self.advance();
        let mut import = Import { parenthesized: false, specs: Vec::new(), close: Span::NONE };
        if self.eat("(").is_none() {
            import.specs.push(self.import_spec()?);
            return Ok(DeclKind::Import(import));
        }
        import.parenthesized = true;
        while !self.is_symbol(")") {
            if self.kind() == TokenKind::End {
                return Err(self.error("expected ')' after imports, found the end of the file"));
            }
            let spec = self.import_spec()?;
            import.specs.push(spec);
            match self.kind() {
                TokenKind::Comma { .. } => {
                    self.advance();
                }
                TokenKind::Symbol(")") => {}
                _ => {
                    let found = self.found();
                    return Err(self.error(format!("missing ',' between imports, found {found}")));
                }
            }
            if let (Some(comment), Some(spec)) = (self.line_comment(), import.specs.last_mut()) {
                spec.comments.push(comment);
            }
        }
        import.close = self.advance().span;
        Ok(DeclKind::Import(import))
    }

    fn import_spec(&mut self) -> Result<ImportSpec, Mistake> {
        let comments = self.leading_comments();
        let start = self.span();
        let name =
            (self.kind() == TokenKind::Ident).then(|| Ident { span: start, name: self.word().to_owned() });
        if let Some(name) = &name {
            self.check_reserved(name);
            self.advance();
            if name.name.contains('#') {
                self.error("the local name of an import cannot be a definition");
            }
        }
        if self.kind() != TokenKind::Quoted {
            let found = self.found();
            return Err(self.error(format!("expected the quoted path of an import, found {found}")));
        }
        let span = self.advance().span;
        let text = self.text_of(span).to_owned();
        let path = match literal::unquote(&text) {
            Ok((literal::QuoteKind::String, bytes)) => String::from_utf8(bytes).unwrap_or_default(),
            _ => return Err(self.error_at("an import path is a string", span)),
        };
        if path.is_empty()
            || path.contains(|c: char| c.is_whitespace() || "!\"#$%&'()*,;<=>?[\\]^`{|}".contains(c))
        {
            self.error_at(format!("invalid import path {text}"), span);
        }
        Ok(ImportSpec { span: start.to(span), name, path, text, comments })
    }

    /// Whether a label separator stands `ahead` tokens on.
    pub(super) fn separator_at(&self, ahead: usize) -> bool {
        self.peek_symbol(ahead, ":")
            || ((self.peek_symbol(ahead, "?") || self.peek_symbol(ahead, "!"))
                && self.peek_symbol(ahead + 1, ":"))
    }

    pub(super) fn decl(&mut self) -> Result<DeclKind, Mistake> {
        match self.kind() {
            TokenKind::Ellipsis => {
                self.advance();
                Ok(DeclKind::Ellipsis(None))
            }
            TokenKind::Attribute => {
                let span = self.advance().span;
                Ok(DeclKind::Attribute(Attribute { span, text: self.text_of(span).to_owned() }))
            }
            TokenKind::Ident if self.word() == "let" && self.peek(1).kind == TokenKind::Ident => {
                self.advance();
                Ok(DeclKind::Let(self.binding()?))
            }
            TokenKind::Ident if self.starts_comprehension() => Ok(DeclKind::Embed(self.comprehension()?)),
            _ => self.field_or_embed(),
        }
    }

    fn field_or_embed(&mut self) -> Result<DeclKind, Mistake> {
        let expr = self.labelled_value()?;
        match expr {
            Labelled::Field(field) => Ok(DeclKind::Field(field)),
            Labelled::Value(Expr { kind: ExprKind::Alias(..), .. }) => {
                let found = self.found();
                Err(self.error(format!("expected a label and ':' behind an alias, found {found}")))
            }
            Labelled::Value(expr) => Ok(DeclKind::Embed(expr)),
        }
    }

    /// A field, or an expression where no colon follows.
    fn labelled_value(&mut self) -> Result<Labelled, Mistake> {
        let keyword = self.kind() == TokenKind::Ident && (self.separator_at(1) || self.peek_symbol(1, "~"));
        let expr = if keyword {
            let span = self.advance().span;
            Expr::new(span, ExprKind::Ident(self.text_of(span).to_owned()))
        } else {
            self.deeper(Self::alias_or_binary)?
        };
        let postfix_alias =
            if self.is_symbol("~") && label_like(&expr) { Some(self.postfix_alias()?) } else { None };
        if !self.separator_at(0) {
            if postfix_alias.is_some() {
                let found = self.found();
                return Err(self.error(format!("expected ':' behind a label, found {found}")));
            }
            return Ok(Labelled::Value(expr));
        }
        let (alias, label) = self.label(expr)?;
        let constraint = if self.eat("?").is_some() {
            Some(Constraint::Optional)
        } else if self.eat("!").is_some() {
            Some(Constraint::Required)
        } else {
            None
        };
        let postfix_alias = if self.is_symbol("~") { Some(self.postfix_alias()?) } else { postfix_alias };
        if constraint.is_some() && matches!(label.kind, LabelKind::Pattern { .. }) {
            self.error_at("a pattern constraint takes no '?' or '!'", label.span);
        }
        let colon = self.expect(":", "behind a label")?;
        let value = self.deeper(Self::field_value)?;
        let mut attributes = Vec::new();
        while self.kind() == TokenKind::Attribute {
            let span = self.advance().span;
            attributes.push(Attribute { span, text: self.text_of(span).to_owned() });
        }
        Ok(Labelled::Field(Field { alias, label, postfix_alias, constraint, colon, value, attributes }))
    }

    /// The value behind a colon: an expression, or a further field of a struct without braces.
    fn field_value(&mut self) -> Result<Expr, Mistake> {
        let start = self.span();
        let comments = self.value_comments();
        match self.labelled_value()? {
            Labelled::Value(mut expr) => {
                expr.comments.splice(0..0, comments);
                Ok(expr)
            }
            Labelled::Field(field) => {
                let span = start.to(self.last_span());
                let decl = Decl { span, kind: DeclKind::Field(field), comments, blank_before: false };
                Ok(Expr::new(span, ExprKind::Struct(StructLit { decls: vec![decl], ..StructLit::default() })))
            }
        }
    }

    fn postfix_alias(&mut self) -> Result<PostfixAlias, Mistake> {
        let start = self.advance().span;
        if !self.experiment("aliasv2") {
            self.error_at("postfix alias syntax requires @experiment(aliasv2)", start);
        }
        let name = |this: &mut Self| -> Result<Option<Ident>, Mistake> {
            if this.kind() != TokenKind::Ident {
                let found = this.found();
                return Err(this.error(format!("expected a name, found {found}")));
            }
            let span = this.advance().span;
            let name = this.text_of(span).to_owned();
            Ok((name != "_").then_some(Ident { span, name }))
        };
        let pair = self.is_symbol("(");
        let (key, value) = if self.eat("(").is_some() {
            let key = name(self)?;
            if self.eat(")").is_some() {
                if key.is_none() {
                    self.error_at("a postfix alias needs a name that is not '_'", start);
                }
                return Ok(PostfixAlias {
                    span: start.to(self.last_span()),
                    pair: false,
                    key: None,
                    value: key,
                });
            }
            if !matches!(self.kind(), TokenKind::Comma { automatic: false }) {
                let found = self.found();
                return Err(self.error(format!("expected ',' between two names, found {found}")));
            }
            self.advance();
            let value = name(self)?;
            self.expect(")", "behind two names")?;
            (key, value)
        } else {
            (None, name(self)?)
        };
        let span = start.to(self.last_span());
        if key.is_none() && value.is_none() {
            self.error_at("a postfix alias needs a name that is not '_'", start);
        }
        Ok(PostfixAlias { span, pair, key, value })
    }

    /// Reads an expression as label.
    fn label(&mut self, expr: Expr) -> Result<(Option<Ident>, Label), Mistake> {
        let span = expr.span;
        let kind = match expr.kind {
            ExprKind::Ident(name) => {
                if name.starts_with("__") {
                    self.error_at("identifiers starting with '__' are reserved", span);
                }
                LabelKind::Ident(name)
            }
            ExprKind::Literal(LiteralKind::String | LiteralKind::Bytes, text) => LabelKind::String(text),
            ExprKind::Literal(LiteralKind::Null | LiteralKind::Bool, text) => LabelKind::Ident(text),
            ExprKind::Interpolation(_) => LabelKind::Interpolation(Box::new(expr)),
            ExprKind::Paren(inner) => LabelKind::Dynamic(inner),
            ExprKind::List(mut list) if list.elements.len() == 1 => match list.elements.pop() {
                Some(Expr { kind: ExprKind::Alias(alias, inner), .. }) => {
                    LabelKind::Pattern { alias: Some(alias), expr: inner }
                }
                Some(inner) => LabelKind::Pattern { alias: None, expr: Box::new(inner) },
                None => return Err(self.error_at("a pattern is written [expression]", span)),
            },
            ExprKind::List(_) => return Err(self.error_at("a pattern is written [expression]", span)),
            ExprKind::Alias(alias, inner) => {
                let (none, label) = self.label(*inner)?;
                if none.is_some() {
                    return Err(self.error_at("a label has one alias", span));
                }
                if self.experiment("aliasv2") {
                    self.error_at(
                        "old alias syntax X= cannot be used with @experiment(aliasv2): write label~X",
                        span,
                    );
                }
                return Ok((Some(alias), label));
            }
            _ => {
                return Err(
                    self.error("expected a label before ':': a name, a string, (expression) or [pattern]")
                );
            }
        };
        Ok((None, Label { span, kind }))
    }

    /// `name = value`.
    pub(super) fn binding(&mut self) -> Result<Let, Mistake> {
        if self.kind() != TokenKind::Ident {
            let found = self.found();
            return Err(self.error(format!("expected a name, found {found}")));
        }
        let span = self.advance().span;
        let name = Ident { span, name: self.text_of(span).to_owned() };
        self.check_reserved(&name);
        self.expect("=", "behind the name")?;
        let value = Box::new(self.value()?);
        Ok(Let { name, value })
    }

    pub(super) fn check_reserved(&mut self, name: &Ident) {
        if name.name.starts_with("__") {
            self.error_at("identifiers starting with '__' are reserved", name.span);
        }
    }

    /// A struct in braces.
    pub(super) fn struct_lit(&mut self) -> Result<Expr, Mistake> {
        let start = self.advance().span;
        let mut lit = StructLit { braces: true, ..StructLit::default() };
        self.braces += 1;
        self.decls(&mut lit.decls, None);
        self.braces -= 1;
        lit.comments = self.closing_comments();
        if !self.is_symbol("}") {
            let found = self.found();
            return Err(self.error(format!("expected '}}' at the end of a struct, found {found}")));
        }
        lit.close = self.advance().span;
        Ok(Expr::new(start.to(lit.close), ExprKind::Struct(lit)))
    }
}

enum Labelled {
    Field(Field),
    Value(Expr),
}

fn label_like(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::Ident(_)
            | ExprKind::Literal(..)
            | ExprKind::Interpolation(_)
            | ExprKind::Paren(_)
            | ExprKind::List(_)
    )
}
