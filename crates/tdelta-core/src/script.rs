//! Transaction scripts in pgbench's language, compiled once and interpreted by every client.
//!
//! `\set`, `\if`/`\elif`/`\else`/`\endif`, `\gset` and pgbench's functions mean what they mean there. Added here:
//! `\repeat N` … `\endrepeat`, `\connect` (pgbench has `-C`), `\raw` and `random_string(min, max)`. Unlike pgbench in simple
//! mode, `:name` is always bound as a parameter and never pasted into the text, so that each statement is prepared once.
//!
//! `\raw [writes] [into COLUMN, …]` stands before a statement that no parser but the engine's knows: whether it writes, and
//! which columns `\gset` stores, is declared there.

use crate::draw::{mix64, permute, Rng};
use crate::value::Value;
use std::collections::HashMap;

/// The longest text that a script may draw, characters; `tdelta.workloads.limits` says the same.
const LONGEST_TEXT: i64 = 1 << 20;

/// The kind of a statement for the client that runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Opens a transaction.
    Begin,
    /// Ends one, keeping it.
    Commit,
    /// Ends one, undoing it.
    Rollback,
    /// A query outside of that: prepared, bound, stepped to its end.
    Query,
    /// A statement that changes rows.
    Write,
    /// No SQL: the connection is closed and opened anew.
    Connect,
}

/// One statement of a script: SQL, or `\connect`, which is numbered and timed among them.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The text with parameters numbered `?1`, `?2`, … in order of first use; empty for `\connect`.
    pub sql: String,
    /// The variable slot of each parameter.
    pub parameters: Vec<usize>,
    /// Its effect.
    pub kind: Kind,
    /// Where `\gset` stores the row's columns: result column name → slot; `None` without `\gset`.
    pub into: Option<HashMap<String, usize>>,
    /// The columns that `\raw … into` declares: preparing fails where the result lacks one.
    pub declared: Vec<String>,
    /// The line it begins on, from 1.
    pub line: usize,
}

impl Statement {
    /// See that a result has the columns that `\raw … into` declares; engines may change a name's case.
    ///
    /// # Errors
    /// The first one that is missing, in words.
    pub fn require_declared<'a>(&self, found: impl Iterator<Item = &'a str> + Clone) -> Result<(), String> {
        match self.declared.iter().find(|name| !found.clone().any(|it| it.eq_ignore_ascii_case(name))) {
            None => Ok(()),
            Some(missing) => {
                let found: Vec<_> = found.collect();
                let found = if found.is_empty() { "none before it runs".into() } else { found.join(", ") };
                Err(format!("\\raw declares the column {missing}, found {found}"))
            }
        }
    }
}

/// A step of a compiled script. Jumps are absolute.
#[derive(Clone, Debug)]
pub enum Step {
    /// Evaluate and store in a slot.
    Set(usize, Expr),
    /// Run statement `.0` of the program.
    Run(usize),
    /// Go on at `.1` unless the expression is true.
    Unless(Expr, usize),
    /// Go on at a step.
    Jump(usize),
    /// Set loop counter slot `.0` to the expression.
    LoopStart(usize, Expr),
    /// If counter slot `.0` is 0, go on at `.1`; else take one from it.
    LoopTest(usize, usize),
}

/// A compiled script: one transaction type.
#[derive(Clone, Debug)]
pub struct Program {
    /// The transaction's name.
    pub name: String,
    /// The steps.
    pub steps: Vec<Step>,
    /// The statements that `Step::Run` names.
    pub statements: Vec<Statement>,
    /// Slot of each variable.
    pub slots: HashMap<String, usize>,
    /// Number of slots, loop counters included.
    pub slot_count: usize,
    /// Whether any statement changes rows, so that its transactions must be opened for writing.
    pub writes: bool,
}

/// An expression of `\set` or `\if`.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A literal.
    Literal(Value),
    /// A variable.
    Slot(usize),
    /// Minus.
    Negate(Box<Expr>),
    /// Not.
    Not(Box<Expr>),
    /// Two operands.
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// A function.
    Call(Function, Vec<Expr>),
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
}

/// A function of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Function {
    Random,
    RandomGaussian,
    RandomExponential,
    RandomZipfian,
    RandomString,
    Permute,
    Hash,
    Min,
    Max,
    Abs,
    Int,
    Double,
}

impl Function {
    fn named(name: &str) -> Option<(Self, std::ops::RangeInclusive<usize>)> {
        Some(match name {
            "random" => (Self::Random, 2..=2),
            "random_gaussian" => (Self::RandomGaussian, 3..=3),
            "random_exponential" => (Self::RandomExponential, 3..=3),
            "random_zipfian" => (Self::RandomZipfian, 3..=3),
            "random_string" => (Self::RandomString, 2..=2),
            "permute" => (Self::Permute, 2..=2),
            "hash" => (Self::Hash, 1..=1),
            "min" | "least" => (Self::Min, 1..=16),
            "max" | "greatest" => (Self::Max, 1..=16),
            "abs" => (Self::Abs, 1..=1),
            "int" => (Self::Int, 1..=1),
            "double" => (Self::Double, 1..=1),
            _ => return None,
        })
    }
}

/// A fault in a script: the line, from 1, and what is wrong.
pub type Fault = (usize, String);

/// Compiles a script.
///
/// # Errors
/// The first fault, with its line. (`tdelta.workloads` reports all of them, before anything gets here.)
pub fn compile(name: &str, text: &str) -> Result<Program, Fault> {
    let mut compiler = Compiler::new(name);
    let mut pending = String::new();
    let mut pending_line = 0;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let trimmed = line.trim();
        if pending.is_empty() {
            if trimmed.is_empty() || trimmed.starts_with("--") {
                continue;
            }
            if let Some(command) = trimmed.strip_prefix('\\') {
                compiler.command(command, number)?;
                continue;
            }
            pending_line = number;
        }
        pending.push_str(line);
        pending.push('\n');
        compiler.take_statements(&mut pending, pending_line)?;
    }
    if let Some(Raw { line, .. }) = compiler.raw {
        return Err((line, "\\raw without a statement after it".into()));
    }
    if !pending.trim().is_empty() {
        return Err((pending_line, "this statement has no ';' (or \\gset) at its end".into()));
    }
    compiler.finish()
}

struct Compiler {
    program: Program,
    open: Vec<Open>,
    /// The declaration of `\raw` for the next statement.
    raw: Option<Raw>,
}

#[derive(Debug, Default)]
struct Raw {
    line: usize,
    writes: bool,
    columns: Vec<String>,
}

impl Raw {
    fn parse(rest: &str, line: usize) -> Result<Self, Fault> {
        let malformed = || (line, "expected '\\raw [writes] [into COLUMN, …]'".to_owned());
        let mut words = rest.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()).peekable();
        let writes = words.next_if_eq(&"writes").is_some();
        let columns: Vec<String> = match words.next() {
            None => return Ok(Self { line, writes, columns: Vec::new() }),
            Some("into") => words.map(str::to_owned).collect(),
            Some(_) => return Err(malformed()),
        };
        if columns.is_empty() || columns.iter().any(|name| name_length(name.as_bytes()) != name.len()) {
            return Err(malformed());
        }
        Ok(Self { line, writes, columns })
    }
}

enum Open {
    If { line: usize, test: Option<usize>, ends: Vec<usize> },
    Repeat { line: usize, test: usize },
}

impl Compiler {
    fn new(name: &str) -> Self {
        let program = Program {
            name: name.into(),
            steps: Vec::new(),
            statements: Vec::new(),
            slots: HashMap::new(),
            slot_count: 0,
            writes: false,
        };
        Self { program, open: Vec::new(), raw: None }
    }

    fn slot(&mut self, name: &str) -> usize {
        let next = self.program.slot_count;
        let slot = *self.program.slots.entry(name.to_owned()).or_insert(next);
        if slot == next {
            self.program.slot_count += 1;
        }
        slot
    }

    fn hidden_slot(&mut self) -> usize {
        self.program.slot_count += 1;
        self.program.slot_count - 1
    }

    fn here(&self) -> usize {
        self.program.steps.len()
    }

    fn expression(&mut self, text: &str, line: usize) -> Result<Expr, Fault> {
        Parser::parse(text, self).map_err(|why| (line, format!("in the expression '{text}': {why}")))
    }

    fn command(&mut self, command: &str, line: usize) -> Result<(), Fault> {
        let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let rest = rest.trim();
        if self.raw.is_some() {
            return Err((line, format!("\\raw is followed by its statement, found \\{word}")));
        }
        match word {
            "raw" => self.raw = Some(Raw::parse(rest, line)?),
            "set" => {
                let (name, expression) = rest
                    .split_once(char::is_whitespace)
                    .ok_or_else(|| (line, "expected '\\set name expression'".to_owned()))?;
                let expression = self.expression(expression.trim(), line)?;
                let slot = self.slot(name);
                self.program.steps.push(Step::Set(slot, expression));
            }
            "if" => {
                let test = self.test(rest, line)?;
                self.open.push(Open::If { line, test: Some(test), ends: Vec::new() });
            }
            "elif" => {
                self.branch(line, "\\elif")?;
                let test = self.test(rest, line)?;
                if let Some(Open::If { test: slot, .. }) = self.open.last_mut() {
                    *slot = Some(test);
                }
            }
            "else" => self.branch(line, "\\else")?,
            "endif" => self.end_if(line)?,
            "repeat" => {
                let count = self.expression(rest, line)?;
                let slot = self.hidden_slot();
                self.program.steps.push(Step::LoopStart(slot, count));
                let test = self.here();
                self.program.steps.push(Step::LoopTest(slot, usize::MAX));
                self.open.push(Open::Repeat { line, test });
            }
            "endrepeat" => self.end_repeat(line)?,
            "connect" if rest.is_empty() => self.connect(line),
            "connect" => return Err((line, format!("\\connect takes nothing, found '{rest}'"))),
            other => return Err((line, format!("unknown command '\\{other}'"))),
        }
        Ok(())
    }

    fn connect(&mut self, line: usize) {
        let (sql, kind) = (String::new(), Kind::Connect);
        self.run(Statement { sql, parameters: Vec::new(), kind, into: None, declared: Vec::new(), line });
    }

    fn run(&mut self, statement: Statement) {
        self.program.statements.push(statement);
        self.program.steps.push(Step::Run(self.program.statements.len() - 1));
    }

    fn test(&mut self, text: &str, line: usize) -> Result<usize, Fault> {
        let condition = self.expression(text, line)?;
        self.program.steps.push(Step::Unless(condition, usize::MAX));
        Ok(self.here() - 1)
    }

    fn branch(&mut self, line: usize, word: &str) -> Result<(), Fault> {
        let here = self.here();
        match self.open.last_mut() {
            Some(Open::If { test, ends, .. }) if test.is_some() => {
                ends.push(here);
                let unless = test.take().unwrap_or_default();
                self.program.steps.push(Step::Jump(usize::MAX));
                self.patch(unless);
                Ok(())
            }
            _ => Err((line, format!("{word} without an open \\if"))),
        }
    }

    fn end_if(&mut self, line: usize) -> Result<(), Fault> {
        match self.open.pop() {
            Some(Open::If { test, ends, .. }) => {
                for step in ends.into_iter().chain(test) {
                    self.patch(step);
                }
                Ok(())
            }
            _ => Err((line, "\\endif without an open \\if".into())),
        }
    }

    fn end_repeat(&mut self, line: usize) -> Result<(), Fault> {
        match self.open.pop() {
            Some(Open::Repeat { test, .. }) => {
                self.program.steps.push(Step::Jump(test));
                self.patch(test);
                Ok(())
            }
            _ => Err((line, "\\endrepeat without an open \\repeat".into())),
        }
    }

    fn patch(&mut self, step: usize) {
        let here = self.here();
        match &mut self.program.steps[step] {
            Step::Unless(_, target) | Step::Jump(target) | Step::LoopTest(_, target) => *target = here,
            _ => unreachable!("only jumps are patched"),
        }
    }

    /// Moves every complete statement out of `pending`.
    fn take_statements(&mut self, pending: &mut String, line: usize) -> Result<(), Fault> {
        while let Some((end, after, into)) = statement_end(pending) {
            let rest = pending.split_off(after);
            let text = pending[..end].trim().to_owned();
            *pending = if rest.trim().is_empty() { String::new() } else { rest };
            if !text.is_empty() {
                self.statement(&text, into.as_deref(), line)?;
            }
        }
        Ok(())
    }

    fn statement(&mut self, text: &str, into: Option<&str>, line: usize) -> Result<(), Fault> {
        let (sql, names) = bind_markers(text);
        let parameters = names.iter().map(|name| self.slot(name)).collect();
        let raw = self.raw.take();
        let kind = match &raw {
            Some(raw) if raw.writes => Kind::Write,
            Some(_) => Kind::Query,
            None => kind_of(&sql),
        };
        let into = into.map(|prefix| match &raw {
            Some(raw) => raw.columns.iter().map(|name| (name.clone(), self.slot(&format!("{prefix}{name}")))).collect(),
            None => HashMap::from([(prefix.to_owned(), usize::MAX)]),
        });
        self.program.writes |= kind == Kind::Write;
        let declared = raw.map(|raw| raw.columns).unwrap_or_default();
        self.run(Statement { sql, parameters, kind, into, declared, line });
        Ok(())
    }

    fn finish(mut self) -> Result<Program, Fault> {
        match self.open.pop() {
            Some(Open::If { line, .. }) => return Err((line, "\\if without its \\endif".into())),
            Some(Open::Repeat { line, .. }) => return Err((line, "\\repeat without its \\endrepeat".into())),
            None => {}
        }
        // \gset can only fill variables that something reads, so every name it may fill has a slot by now.
        let slots = &self.program.slots;
        for statement in &mut self.program.statements {
            if let Some(into) = statement.into.as_mut().filter(|_| statement.declared.is_empty()) {
                let prefix = into.keys().next().cloned().unwrap_or_default();
                *into = slots
                    .iter()
                    .filter_map(|(name, slot)| name.strip_prefix(&prefix).map(|column| (column.to_owned(), *slot)))
                    .collect();
            }
        }
        if self.program.statements.is_empty() {
            return Err((1, "a script needs at least one SQL statement".into()));
        }
        Ok(self.program)
    }
}

/// The end of the first complete statement: (end of its text, start of what follows, prefix of `\gset` if that ended it).
fn statement_end(text: &str) -> Option<(usize, usize, Option<String>)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'\'' | b'"' | b'`') => at = past_quote(bytes, at, quote),
            b'-' if bytes.get(at + 1) == Some(&b'-') => at = past_line(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'*') => at = past_comment(bytes, at),
            b';' => return Some((at, at + 1, None)),
            b'\\' if text[at..].starts_with("\\gset") => {
                let end = past_line(bytes, at);
                let prefix = text[at + 5..end].trim().to_owned();
                return Some((at, end, Some(prefix)));
            }
            _ => at += 1,
        }
    }
    None
}

fn past_quote(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != quote {
        at += 1;
    }
    (at + 1).min(bytes.len())
}

fn past_line(bytes: &[u8], start: usize) -> usize {
    bytes[start..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| start + n)
}

fn past_comment(bytes: &[u8], start: usize) -> usize {
    bytes[start + 2..].windows(2).position(|w| w == b"*/").map_or(bytes.len(), |n| start + n + 4)
}

/// Replaces `:name` by `?N` and leaves strings, comments and `::` alone. Returns the text and the names by number.
fn bind_markers(text: &str) -> (String, Vec<String>) {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut names: Vec<String> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            quote @ (b'\'' | b'"' | b'`') => past_quote(bytes, at, quote),
            b'-' if bytes.get(at + 1) == Some(&b'-') => past_line(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'*') => past_comment(bytes, at),
            b':' if bytes.get(at + 1) == Some(&b':') => at + 2,
            b':' if bytes.get(at + 1).is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_') => {
                let end = at + 1 + name_length(&bytes[at + 1..]);
                let name = &text[at + 1..end];
                let number = names.iter().position(|known| known == name).unwrap_or_else(|| {
                    names.push(name.to_owned());
                    names.len() - 1
                });
                out.push_str(&format!("?{}", number + 1));
                at = end;
                continue;
            }
            _ => at + text[at..].chars().next().map_or(1, char::len_utf8),
        };
        out.push_str(&text[at..end]);
        at = end;
    }
    (out, names)
}

/// The text with each `?N` replaced by what `mark` makes of N, from 1; strings and comments are left alone. For engines that
/// know other marks than SQLite.
pub fn with_marks(sql: &str, mut mark: impl FnMut(usize) -> String) -> String {
    let bytes = sql.as_bytes();
    let mut out = String::with_capacity(sql.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            quote @ (b'\'' | b'"' | b'`') => past_quote(bytes, at, quote),
            b'-' if bytes.get(at + 1) == Some(&b'-') => past_line(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'*') => past_comment(bytes, at),
            b'?' => {
                let digits = bytes[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
                let end = at + 1 + digits;
                match sql[at + 1..end].parse() {
                    Ok(number) => out.push_str(&mark(number)),
                    Err(_) => out.push('?'),
                }
                at = end;
                continue;
            }
            _ => at + sql[at..].chars().next().map_or(1, char::len_utf8),
        };
        out.push_str(&sql[at..end]);
        at = end;
    }
    out
}

fn name_length(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count()
}

/// The statement from its first word on.
fn past_comments(sql: &str) -> &str {
    let mut rest = sql.trim_start();
    loop {
        let end = match rest.as_bytes() {
            [b'-', b'-', ..] => past_line(rest.as_bytes(), 0),
            [b'/', b'*', ..] => past_comment(rest.as_bytes(), 0),
            _ => return rest,
        };
        rest = rest[end..].trim_start();
    }
}

fn kind_of(sql: &str) -> Kind {
    let upper = past_comments(sql).to_ascii_uppercase();
    let mut words = upper.split(|c: char| !c.is_ascii_alphanumeric());
    match words.next().unwrap_or("") {
        "BEGIN" | "START" => Kind::Begin,
        "COMMIT" | "END" => Kind::Commit,
        "ROLLBACK" => Kind::Rollback,
        "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "MERGE" => Kind::Write,
        "WITH" if words.any(|w| matches!(w, "INSERT" | "UPDATE" | "DELETE" | "MERGE")) => Kind::Write,
        "WITH" if upper.split_whitespace().any(|w| w == "REPLACE") => Kind::Write, // not the function: REPLACE(…)
        _ => Kind::Query,
    }
}

// ---------------------------------------------------------------------------------------------- expressions

struct Parser<'a, 'c> {
    text: &'a str,
    at: usize,
    compiler: &'c mut Compiler,
}

impl<'a, 'c> Parser<'a, 'c> {
    fn parse(text: &'a str, compiler: &'c mut Compiler) -> Result<Expr, String> {
        let mut parser = Parser { text, at: 0, compiler };
        let expression = parser.binary(0)?;
        parser.space();
        if parser.at < text.len() {
            return Err(format!("unexpected '{}'", &text[parser.at..]));
        }
        Ok(expression)
    }

    fn space(&mut self) {
        self.at += self.text[self.at..].len() - self.text[self.at..].trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.space();
        let rest = &self.text[self.at..];
        let is_word = token.as_bytes()[0].is_ascii_alphabetic();
        let matches = rest.get(..token.len()).is_some_and(|head| head.eq_ignore_ascii_case(token))
            && !(is_word && name_length(rest.as_bytes()) != token.len());
        if matches {
            self.at += token.len();
        }
        matches
    }

    fn operator(&mut self, level: usize) -> Option<Operator> {
        const LEVELS: [&[(&str, Operator)]; 5] = [
            &[("or", Operator::Or)],
            &[("and", Operator::And)],
            &[
                ("<>", Operator::NotEqual),
                ("!=", Operator::NotEqual),
                ("<=", Operator::LessOrEqual),
                (">=", Operator::GreaterOrEqual),
                ("<", Operator::Less),
                (">", Operator::Greater),
                ("=", Operator::Equal),
            ],
            &[("+", Operator::Add), ("-", Operator::Subtract)],
            &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Modulo)],
        ];
        LEVELS[level].iter().find(|(token, _)| self.eat(token)).map(|(_, operator)| *operator)
    }

    fn binary(&mut self, level: usize) -> Result<Expr, String> {
        if level == 5 {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = self.operator(level) {
            let right = self.binary(level + 1)?;
            left = Expr::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, String> {
        if self.eat("-") {
            return Ok(Expr::Negate(Box::new(self.unary()?)));
        }
        if self.eat("not") {
            return Ok(Expr::Not(Box::new(self.binary(2)?)));
        }
        if self.eat("(") {
            let inner = self.binary(0)?;
            return if self.eat(")") { Ok(inner) } else { Err("expected ')'".into()) };
        }
        self.atom()
    }

    fn atom(&mut self) -> Result<Expr, String> {
        self.space();
        let rest = &self.text[self.at..];
        let bytes = rest.as_bytes();
        match bytes.first() {
            Some(b':') => {
                let length = name_length(&bytes[1..]);
                if length == 0 {
                    return Err("expected a name after ':'".into());
                }
                self.at += 1 + length;
                Ok(Expr::Slot(self.compiler.slot(&rest[1..=length])))
            }
            Some(b) if b.is_ascii_digit() || *b == b'.' => self.number(rest),
            Some(b) if b.is_ascii_alphabetic() => self.call(rest),
            Some(_) => Err(format!("unexpected '{rest}'")),
            None => Err("it ends too early".into()),
        }
    }

    fn number(&mut self, rest: &str) -> Result<Expr, String> {
        let length = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
        let digits = &rest[..length];
        self.at += length;
        let value = match digits.parse::<i64>() {
            Ok(integer) => Value::Int(integer),
            Err(_) => Value::Real(digits.parse().map_err(|_| format!("'{digits}' is not a number"))?),
        };
        Ok(Expr::Literal(value))
    }

    fn call(&mut self, rest: &str) -> Result<Expr, String> {
        let name = rest[..name_length(rest.as_bytes())].to_ascii_lowercase();
        self.at += name.len();
        if name == "true" || name == "false" {
            return Ok(Expr::Literal(Value::Int(i64::from(name == "true"))));
        }
        let (function, arity) = Function::named(&name).ok_or_else(|| format!("unknown function '{name}'"))?;
        if !self.eat("(") {
            return Err(format!("expected '(' after {name}"));
        }
        let mut arguments = vec![self.binary(0)?];
        while self.eat(",") {
            arguments.push(self.binary(0)?);
        }
        if !self.eat(")") {
            return Err("expected ')'".into());
        }
        if !arity.contains(&arguments.len()) {
            return Err(format!("{name} takes {} arguments, not {}", arity.start(), arguments.len()));
        }
        Ok(Expr::Call(function, arguments))
    }
}

impl Expr {
    /// The value under the given variables.
    ///
    /// # Errors
    /// The value cannot be computed: an unset variable, a division by zero, text in arithmetic, an empty range.
    #[inline]
    pub fn evaluate(&self, slots: &[Value], rng: &mut Rng) -> Result<Value, String> {
        match self {
            Expr::Literal(value) => Ok(value.clone()),
            Expr::Slot(slot) => Ok(slots[*slot].clone()),
            Expr::Negate(inner) => match inner.evaluate(slots, rng)? {
                Value::Int(v) => Ok(Value::Int(v.wrapping_neg())),
                other => Ok(Value::Real(-as_real(&other)?)),
            },
            Expr::Not(inner) => Ok(Value::Int(i64::from(!is_true(&inner.evaluate(slots, rng)?)))),
            Expr::Binary(operator, left, right) => binary(*operator, left, right, slots, rng),
            Expr::Call(function, arguments) => call(*function, arguments, slots, rng),
        }
    }

    /// The value as an integer (a double is truncated).
    ///
    /// # Errors
    /// As [`Expr::evaluate`]; also for text.
    #[inline]
    pub fn integer(&self, slots: &[Value], rng: &mut Rng) -> Result<i64, String> {
        match self {
            Expr::Literal(Value::Int(v)) => Ok(*v),
            Expr::Slot(slot) => as_int(&slots[*slot]),
            other => as_int(&other.evaluate(slots, rng)?),
        }
    }
}

/// Whether a value is true: a number other than 0.
#[inline]
#[must_use]
pub fn is_true(value: &Value) -> bool {
    match value {
        Value::Int(v) => *v != 0,
        Value::Real(v) => *v != 0.0,
        _ => false,
    }
}

fn as_int(value: &Value) -> Result<i64, String> {
    match value {
        Value::Int(v) => Ok(*v),
        Value::Real(v) => Ok(*v as i64),
        Value::Null => Err("a variable is used before it is set (or its row had NULL)".into()),
        other => Err(format!("{other:?} is not a number")),
    }
}

fn as_real(value: &Value) -> Result<f64, String> {
    match value {
        Value::Real(v) => Ok(*v),
        other => as_int(other).map(|v| v as f64),
    }
}

fn binary(operator: Operator, left: &Expr, right: &Expr, slots: &[Value], rng: &mut Rng) -> Result<Value, String> {
    let left = left.evaluate(slots, rng)?;
    if operator == Operator::And && !is_true(&left) {
        return Ok(Value::Int(0));
    }
    if operator == Operator::Or && is_true(&left) {
        return Ok(Value::Int(1));
    }
    let right = right.evaluate(slots, rng)?;
    if matches!(operator, Operator::And | Operator::Or) {
        return Ok(Value::Int(i64::from(is_true(&right))));
    }
    if let (Value::Text(a), Value::Text(b)) = (&left, &right) {
        return compare(operator, Some(a.cmp(b))).ok_or_else(|| "text has no arithmetic".into());
    }
    if let (Value::Int(a), Value::Int(b)) = (&left, &right) {
        return integers(operator, *a, *b);
    }
    reals(operator, as_real(&left)?, as_real(&right)?)
}

fn compare(operator: Operator, order: Option<std::cmp::Ordering>) -> Option<Value> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let holds = match operator {
        Operator::Equal => order == Some(Equal),
        Operator::NotEqual => order != Some(Equal),
        Operator::Less => order == Some(Less),
        Operator::LessOrEqual => matches!(order, Some(Less | Equal)),
        Operator::Greater => order == Some(Greater),
        Operator::GreaterOrEqual => matches!(order, Some(Greater | Equal)),
        _ => return None,
    };
    Some(Value::Int(i64::from(holds)))
}

fn integers(operator: Operator, a: i64, b: i64) -> Result<Value, String> {
    if let Some(answer) = compare(operator, Some(a.cmp(&b))) {
        return Ok(answer);
    }
    Ok(Value::Int(match operator {
        Operator::Add => a.wrapping_add(b),
        Operator::Subtract => a.wrapping_sub(b),
        Operator::Multiply => a.wrapping_mul(b),
        Operator::Divide => a.checked_div(b).ok_or("division by zero")?,
        _ => a.checked_rem(b).ok_or("division by zero")?,
    }))
}

fn reals(operator: Operator, a: f64, b: f64) -> Result<Value, String> {
    if let Some(answer) = compare(operator, a.partial_cmp(&b)) {
        return Ok(answer);
    }
    Ok(Value::Real(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        _ if b == 0.0 => return Err("division by zero".into()),
        Operator::Divide => a / b,
        _ => a % b,
    }))
}

#[inline]
fn call(function: Function, arguments: &[Expr], slots: &[Value], rng: &mut Rng) -> Result<Value, String> {
    let range = |rng: &mut Rng| -> Result<(i64, i64), String> {
        let lo = arguments[0].integer(slots, rng)?;
        let hi = arguments[1].integer(slots, rng)?;
        if lo > hi {
            return Err(format!("the range {lo} … {hi} is empty"));
        }
        Ok((lo, hi))
    };
    Ok(match function {
        Function::Random => {
            let (lo, hi) = range(rng)?;
            Value::Int(rng.between(lo, hi))
        }
        Function::RandomGaussian | Function::RandomExponential | Function::RandomZipfian => {
            let (lo, hi) = range(rng)?;
            let parameter = as_real(&arguments[2].evaluate(slots, rng)?)?;
            shaped(function, lo, hi, parameter, rng)?
        }
        Function::RandomString => {
            let (lo, hi) = range(rng)?;
            if hi > LONGEST_TEXT {
                return Err(format!("random_string draws at most {LONGEST_TEXT} characters, not {hi}"));
            }
            let length = rng.between(lo.max(0), hi.max(0)) as usize;
            Value::Text(rng.text(length))
        }
        Function::Permute => {
            let i = arguments[0].integer(slots, rng)?;
            let size = arguments[1].integer(slots, rng)?;
            if size < 1 {
                return Err(format!("permute needs a size of at least 1, not {size}"));
            }
            Value::Int(permute(i.rem_euclid(size) as u64, size as u64) as i64)
        }
        Function::Hash => Value::Int(mix64(arguments[0].integer(slots, rng)? as u64) as i64),
        Function::Abs => match arguments[0].evaluate(slots, rng)? {
            Value::Int(v) => Value::Int(v.wrapping_abs()),
            other => Value::Real(as_real(&other)?.abs()),
        },
        Function::Int => Value::Int(arguments[0].integer(slots, rng)?),
        Function::Double => Value::Real(as_real(&arguments[0].evaluate(slots, rng)?)?),
        Function::Min | Function::Max => extreme(function, arguments, slots, rng)?,
    })
}

fn shaped(function: Function, lo: i64, hi: i64, parameter: f64, rng: &mut Rng) -> Result<Value, String> {
    Ok(Value::Int(match function {
        Function::RandomGaussian if parameter >= 2.0 => rng.gaussian(lo, hi, parameter),
        Function::RandomExponential if parameter > 0.0 => rng.exponential(lo, hi, parameter),
        Function::RandomZipfian if (1.001..=1000.0).contains(&parameter) => rng.zipfian(lo, hi, parameter),
        Function::RandomGaussian => return Err("random_gaussian wants a parameter of at least 2".into()),
        Function::RandomExponential => return Err("random_exponential wants a parameter above 0".into()),
        _ => return Err("random_zipfian wants a parameter of 1.001 to 1000".into()),
    }))
}

fn extreme(function: Function, arguments: &[Expr], slots: &[Value], rng: &mut Rng) -> Result<Value, String> {
    let operator = if function == Function::Min { Operator::Less } else { Operator::Greater };
    let mut best = arguments[0].evaluate(slots, rng)?;
    for argument in &arguments[1..] {
        let value = argument.evaluate(slots, rng)?;
        let better = match (&value, &best) {
            (Value::Int(a), Value::Int(b)) => integers(operator, *a, *b)?,
            (a, b) => reals(operator, as_real(a)?, as_real(b)?)?,
        };
        if is_true(&better) {
            best = value;
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Rng;
    use proptest::prelude::proptest;

    fn evaluate(text: &str) -> Result<Value, String> {
        let program = compile("t", &format!("\\set x {text}\nSELECT 1;")).map_err(|(_, why)| why)?;
        let Step::Set(_, expression) = &program.steps[0] else { panic!("a set comes first") };
        expression.evaluate(&vec![Value::Null; program.slot_count], &mut Rng::new(1, 2, 3))
    }

    #[test]
    fn marks_are_written_as_the_engine_knows_them() {
        let program = compile("t", "SELECT :b, :a, :b, '?1', \"?2\" /* ?1 */ -- ?2\n, x ? y FROM t;").unwrap();
        let sql = &program.statements[0].sql;
        let mut order = Vec::new();
        let dollars = with_marks(sql, |number| {
            order.push(number);
            format!("${number}")
        });
        assert_eq!(dollars, "SELECT $1, $2, $1, '?1', \"?2\" /* ?1 */ -- ?2\n, x ? y FROM t");
        assert_eq!(order, [1, 2, 1]);
    }

    #[test]
    fn arithmetic_binds_as_in_pgbench() {
        assert_eq!(evaluate("1 + 2 * 3 - 4 / 2"), Ok(Value::Int(5)));
        assert_eq!(evaluate("-(2 + 3) % 3"), Ok(Value::Int(-2)));
        assert_eq!(evaluate("1 < 2 and not 3 = 4"), Ok(Value::Int(1)));
        assert_eq!(evaluate("max(1, 7, 3) + min(2, 5)"), Ok(Value::Int(9)));
        assert_eq!(evaluate("double(7) / 2"), Ok(Value::Real(3.5)));
        for (text, value) in
            [("-7 / 2", -3), ("7 / -2", -3), ("-7 % 2", -1), ("0 or 0", 0), ("int(3.9)", 3), ("abs(-4)", 4)]
        {
            assert_eq!(evaluate(text), Ok(Value::Int(value)), "{text}");
        }
        assert_eq!(evaluate("9223372036854775807 + 1"), Ok(Value::Int(i64::MIN)));
        assert_eq!(evaluate("5.5 % 2"), Ok(Value::Real(1.5)));
        assert_eq!((evaluate("1 <> 2"), evaluate("2 >= 2.0")), (Ok(Value::Int(1)), Ok(Value::Int(1))));
    }

    #[test]
    fn faults_name_their_line() {
        assert_eq!(compile("t", "SELECT 1;\n\\set x 1 +\n").unwrap_err().0, 2);
        assert_eq!(compile("t", "\\if 1\nSELECT 1;").unwrap_err(), (1, "\\if without its \\endif".into()));
        assert!(compile("t", "SELECT 1").unwrap_err().1.contains("no ';'"));
        assert!(evaluate("1 / 0").is_err());
        assert!(evaluate("random(5, 1)").unwrap_err().contains("empty"));
        assert!(evaluate("random_string(0, 1048577 + 0)").unwrap_err().contains("at most 1048576"));
        assert!(
            matches!(evaluate("random_string(1048576, 1048576)"), Ok(Value::Text(drawn)) if drawn.len() == 1 << 20)
        );
        assert!(evaluate(":never + 1").unwrap_err().contains("before it is set"));
    }

    #[test]
    fn markers_are_bound_and_text_is_left_alone() {
        let program = compile("t", "SELECT ':no', a::int -- :no\n FROM t WHERE x = :x AND y = :y AND z = :x;").unwrap();
        assert_eq!(
            program.statements[0].sql,
            "SELECT ':no', a::int -- :no\n FROM t WHERE x = ?1 AND y = ?2 AND z = ?1"
        );
        assert_eq!(program.statements[0].parameters.len(), 2);
    }

    #[test]
    fn raw_declares_what_no_parser_reads() {
        let text = "\\raw writes into id, b\nCALL p(:op) \\gset q_\n\\raw\nPRAGMA optimize;\nSELECT :q_id;";
        let program = compile("t", text).unwrap();
        let kinds: Vec<_> = program.statements.iter().map(|s| s.kind).collect();
        assert_eq!(kinds, [Kind::Write, Kind::Query, Kind::Query]);
        let (called, lines) = (&program.statements[0], program.statements.iter().map(|s| s.line));
        assert_eq!(lines.collect::<Vec<_>>(), [2, 4, 5]);
        assert_eq!(called.into.as_ref().unwrap()["id"], program.slots["q_id"]);
        assert!(program.writes);
        assert_eq!(called.require_declared(["B", "id", "more"].into_iter()), Ok(()));
        assert!(called.require_declared(["id"].into_iter()).unwrap_err().contains("column b"));
        for (text, line) in [
            ("\\raw\n", 1),
            ("\\raw reads\nSELECT 1;", 1),
            ("\\raw into\nSELECT 1;", 1),
            ("\\raw into a-b\nSELECT 1;", 1),
            ("\\raw\n\\set a 1\nSELECT :a;", 2),
        ] {
            assert_eq!(compile("t", text).unwrap_err().0, line, "{text}");
        }
    }

    #[test]
    fn gset_fills_only_what_is_read() {
        let program = compile("t", "SELECT a, b FROM t \\gset p_\nSELECT :p_a;").unwrap();
        let into = program.statements[0].into.as_ref().unwrap();
        assert_eq!(into.keys().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn a_comment_ahead_of_a_statement_does_not_hide_what_it_does() {
        let program = compile("t", "/* hint */ -- and more\n UPDATE t SET a = 1;").unwrap();
        assert_eq!(program.statements[0].kind, Kind::Write);
    }

    #[test]
    fn a_with_writes_if_its_statement_does() {
        for write in ["INSERT INTO t", "UPDATE t SET a = 1", "DELETE FROM t", "MERGE INTO t", "REPLACE INTO t"] {
            let program = compile("t", &format!("WITH c AS (SELECT 1)\n{write} SELECT * FROM c;")).unwrap();
            assert_eq!(program.statements[0].kind, Kind::Write, "{write}");
        }
        let program = compile("t", "WITH c AS (SELECT replace(a, 'x', 'y') FROM t) SELECT * FROM c;").unwrap();
        assert_eq!(program.statements[0].kind, Kind::Query);
    }

    #[test]
    fn a_connect_is_numbered_among_the_statements_and_takes_nothing() {
        let program = compile("t", "SELECT 1;\n\\connect\nSELECT 2;").unwrap();
        let kinds: Vec<_> = program.statements.iter().map(|s| s.kind).collect();
        assert_eq!(kinds, [Kind::Query, Kind::Connect, Kind::Query]);
        assert_eq!(program.statements[1].line, 2);
        assert!(!program.writes);
        assert_eq!(compile("t", "\\connect other\nSELECT 1;").unwrap_err().0, 1);
    }

    #[test]
    fn two_statements_may_share_a_line() {
        let program = compile("t", "BEGIN; UPDATE t SET a = 1; COMMIT;").unwrap();
        let kinds: Vec<_> = program.statements.iter().map(|s| s.kind).collect();
        assert_eq!(kinds, [Kind::Begin, Kind::Write, Kind::Commit]);
        assert!(program.writes);
    }

    proptest! {
        #[test]
        fn compiling_never_panics(text in "[\\\\a-z0-9 ;:'()+*\n-]{0,80}") {
            let _ = compile("t", &text);
        }
    }
}
