//! The server's errors, as the load loop counts them.

use crate::failure::{connection_lost, failure, out_of_protocol, said};
use bytes::{BufMut, BytesMut};
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{ErrorResponseBody, Message, ERROR_RESPONSE_TAG};
use std::io;
use tdelta_core::client::ClientError;

/// The connection is of no more use.
pub(super) fn lost(error: &io::Error) -> ClientError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            failure("connection", "the server closed the connection".into())
        }
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => out_of_protocol(&error.to_string()),
        _ => connection_lost("the connection to the server", error),
    }
}

/// An ErrorResponse, given its body.
pub(super) fn refused_by(body: &[u8]) -> ClientError {
    let mut whole = BytesMut::with_capacity(body.len() + 5);
    whole.put_u8(ERROR_RESPONSE_TAG);
    whole.put_u32(body.len() as u32 + 4);
    whole.put_slice(body);
    match Message::parse(&mut whole) {
        Ok(Some(Message::ErrorResponse(body))) => refused(&body),
        _ => out_of_protocol("an error that cannot be read"),
    }
}

/// An ErrorResponse.
pub(super) fn refused(body: &ErrorResponseBody) -> ClientError {
    let (mut code, mut message, mut fatal) = (String::new(), String::new(), false);
    let mut fields = body.fields();
    while let Ok(Some(field)) = fields.next() {
        let text = || said(field.value_bytes());
        match field.type_() {
            b'C' => code = text(),
            b'M' => message = text(),
            b'V' => fatal = matches!(field.value_bytes(), b"FATAL" | b"PANIC"),
            _ => {}
        }
    }
    ClientError {
        kind: kind_of(&code, fatal).into(),
        message: format!("{message} (SQLSTATE {code}){}", remedy(&code)),
        retryable: matches!(code.as_str(), SERIALIZATION_FAILURE | DEADLOCK | LOCK_NOT_AVAILABLE),
    }
}

/// Remedies of faults that a script has on PostgreSQL alone, which deduces a parameter's type from its place.
fn remedy(code: &str) -> &'static str {
    match code {
        "42725" | "42P18" => "; a variable has no type here: compute with \\set first, or write CAST(:name AS BIGINT)",
        _ => "",
    }
}

const SERIALIZATION_FAILURE: &str = "40001";
const DEADLOCK: &str = "40P01";
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// The kind of an SQLSTATE (PostgreSQL's manual, appendix A). `fatal`: the server ends the connection over it.
fn kind_of(code: &str, fatal: bool) -> &'static str {
    match code {
        SERIALIZATION_FAILURE => "serialization",
        DEADLOCK => "deadlock",
        LOCK_NOT_AVAILABLE => "locked",
        "3D000" => "unknown_database",
        "42501" => "denied",
        "25006" => "read_only",
        "53100" => "full",
        "53200" => "out_of_memory",
        "53300" => "too_many_connections",
        "58030" => "io",
        "XX001" | "XX002" => "corrupt",
        _ if code.starts_with("28") => "auth",
        _ if code.starts_with("23") => "constraint",
        _ if code.starts_with("08") || fatal => "connection",
        _ => "sql",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(severity: &str, code: &str) -> ClientError {
        refused_by(format!("S{severity}\0V{severity}\0C{code}\0Mit says so\0\0").as_bytes())
    }

    #[test]
    fn only_what_may_succeed_again_is_tried_again() {
        for (code, kind) in [("40001", "serialization"), ("40P01", "deadlock"), ("55P03", "locked")] {
            let found = error("ERROR", code);
            assert_eq!((found.kind.as_str(), found.retryable), (kind, true));
        }
        for (code, kind) in [("23505", "constraint"), ("42601", "sql"), ("53100", "full"), ("28P01", "auth")] {
            let found = error("ERROR", code);
            assert_eq!((found.kind.as_str(), found.retryable), (kind, false));
        }
    }

    #[test]
    fn what_ends_the_connection_is_of_the_connection() {
        assert_eq!(error("FATAL", "57P01").kind, "connection");
        assert_eq!(error("ERROR", "57014").kind, "sql");
        assert_eq!(error("FATAL", "53300").kind, "too_many_connections");
        assert_eq!(error("FATAL", "3D000").kind, "unknown_database");
        assert_eq!(error("FATAL", "57P01").message, "it says so (SQLSTATE 57P01)");
    }
}
