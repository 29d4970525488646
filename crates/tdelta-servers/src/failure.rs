//! Failures that are told in the clients' own words.

use std::io;
use tdelta_core::client::ClientError;

/// A failure that is not worth another try.
#[must_use]
pub fn failure(kind: &str, message: String) -> ClientError {
    ClientError { kind: kind.into(), message, retryable: false }
}

/// The connection could not be made, or broke.
#[must_use]
pub fn connection_lost(what: &str, error: &io::Error) -> ClientError {
    failure("connection", format!("{what}: {error}"))
}

/// The server answered what the protocol does not have.
#[must_use]
pub fn out_of_protocol(what: &str) -> ClientError {
    failure("protocol", format!("the server sent {what}, which the protocol does not have there"))
}
