//! The operators of CUE.

/// Prefix operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum UnaryOp {
    Plus,
    Minus,
    Not,
    /// `*` before a disjunct.
    Default,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    NotEqual,
    Equal,
    Match,
    NotMatch,
}

impl UnaryOp {
    /// The operator as written.
    pub fn text(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Not => "!",
            Self::Default => "*",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::NotEqual => "!=",
            Self::Equal => "==",
            Self::Match => "=~",
            Self::NotMatch => "!~",
        }
    }
}

/// Infix operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Or,
    And,
    LogicalOr,
    LogicalAnd,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Match,
    NotMatch,
    Add,
    Subtract,
    Multiply,
    Divide,
    /// `div`, `mod`, `quo`, `rem` as infix words of old.
    Div,
    Mod,
    Quo,
    Rem,
}

impl BinaryOp {
    /// The operator as written.
    pub fn text(self) -> &'static str {
        match self {
            Self::Or => "|",
            Self::And => "&",
            Self::LogicalOr => "||",
            Self::LogicalAnd => "&&",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Match => "=~",
            Self::NotMatch => "!~",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Div => "div",
            Self::Mod => "mod",
            Self::Quo => "quo",
            Self::Rem => "rem",
        }
    }

    /// How strongly it binds, from 1.
    pub fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::LogicalOr => 3,
            Self::LogicalAnd => 4,
            Self::Equal
            | Self::NotEqual
            | Self::Less
            | Self::LessEqual
            | Self::Greater
            | Self::GreaterEqual
            | Self::Match
            | Self::NotMatch => 5,
            Self::Add | Self::Subtract => 6,
            Self::Multiply | Self::Divide | Self::Div | Self::Mod | Self::Quo | Self::Rem => 7,
        }
    }
}
