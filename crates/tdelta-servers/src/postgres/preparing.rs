//! Preparing a script's statements, all of them in one exchange.
//!
//! A variable that stands in a statement twice is one parameter there, so that it has one type; where the server deduces two
//! types for it, each place becomes a parameter of its own, as in pgbench.

use super::exchange::{no_rows, parsed, Exchange};
use super::statement::{Parse, Prepared};
use crate::failure::failure;
use bytes::BytesMut;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use tdelta_core::client::ClientError;
use tdelta_core::script::{with_marks, Kind, Program, Statement};

/// Prepares statements in one exchange. The error comes with the index of the statement that it is about.
pub(super) fn describe(exchange: &mut Exchange, wanted: &[Parse<'_>]) -> Result<Vec<Prepared>, (usize, ClientError)> {
    let mut made = Vec::with_capacity(wanted.len());
    let mut parameters = None;
    let compose = |out: &mut BytesMut| {
        for Parse { name, sql, .. } in wanted {
            frontend::parse(name, sql, [], out)?;
            frontend::describe(b'S', name, out)?;
        }
        frontend::sync(out);
        Ok(())
    };
    let take = |tag: u8, body: &[u8]| {
        let row = match parsed(tag, body) {
            Some(Message::ParameterDescription(body)) => {
                parameters = Some(body);
                return true;
            }
            Some(Message::RowDescription(row)) => Some(row),
            Some(Message::NoData) => None,
            _ => return false,
        };
        let (Some(wanted), Some(parameters)) = (wanted.get(made.len()), &parameters) else { return false };
        Prepared::new(wanted, parameters, row.as_ref()).map(|prepared| made.push(prepared)).is_ok()
    };
    match exchange.run(compose, take, no_rows) {
        Ok(()) => Ok(made),
        Err(error) => Err((made.len(), error)),
    }
}

/// Prepares one script: none in the place of `\\connect`.
pub(super) fn prepare_program(
    exchange: &mut Exchange,
    number: usize,
    program: &Program,
) -> Result<Vec<Option<Prepared>>, ClientError> {
    let statements: Vec<&Statement> = program.statements.iter().filter(|s| s.kind != Kind::Connect).collect();
    let mut apart = vec![false; statements.len()];
    let made = loop {
        // What was prepared ahead of a failure keeps its name, so that each attempt has names of its own.
        let attempt = apart.iter().filter(|apart| **apart).count();
        let want = |at: usize| wanted(number, attempt, at, statements[at], apart[at]);
        let all: Vec<Parse<'_>> = (0..statements.len()).map(want).collect();
        match describe(exchange, &all) {
            Ok(made) => break made,
            Err((at, error)) if error.kind == "sql" && apart.get(at) == Some(&false) && repeats(statements[at]) => {
                apart[at] = true;
            }
            Err((at, error)) => return Err(placed(program, statements.get(at).copied(), error)),
        }
    };
    for (prepared, statement) in made.iter().zip(&statements) {
        prepared.check().map_err(|error| placed(program, Some(statement), error))?;
    }
    let mut made = made.into_iter();
    Ok(program.statements.iter().map(|s| if s.kind == Kind::Connect { None } else { made.next() }).collect())
}

fn wanted(number: usize, attempt: usize, at: usize, statement: &Statement, apart: bool) -> Parse<'_> {
    let name = format!("t{number}_{attempt}_{at}");
    match apart {
        true => Parse::apart(name, statement),
        false => Parse::shared(name, statement),
    }
}

/// Whether a variable stands in it more than once.
fn repeats(statement: &Statement) -> bool {
    let mut places = 0;
    with_marks(&statement.sql, |_| {
        places += 1;
        String::new()
    });
    places > statement.parameters.len()
}

/// The error with where in the scripts it arose.
fn placed(program: &Program, statement: Option<&Statement>, error: ClientError) -> ClientError {
    let line = statement.map_or(0, |statement| statement.line);
    failure(&error.kind, format!("{}, line {line}: {}", program.name, error.message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tdelta_core::script::compile;

    #[test]
    fn a_variable_is_one_parameter_or_one_at_each_place() {
        let program = compile("t", "UPDATE t SET a = :x, b = :y, c = :x WHERE d = ':x';").unwrap();
        let statement = &program.statements[0];
        let shared = Parse::shared("s".into(), statement);
        assert_eq!(shared.sql, "UPDATE t SET a = $1, b = $2, c = $1 WHERE d = ':x'");
        assert_eq!(shared.slots, statement.parameters);
        let apart = Parse::apart("s".into(), statement);
        assert_eq!(apart.sql, "UPDATE t SET a = $1, b = $2, c = $3 WHERE d = ':x'");
        assert_eq!(apart.slots, [shared.slots[0], shared.slots[1], shared.slots[0]]);
        assert!(repeats(statement));
    }
}
