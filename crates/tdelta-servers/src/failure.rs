//! Failures in the clients' own words.

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

/// The longest message of a server that is kept.
const MOST_SAID: usize = 1000;

/// A server's message, for people: of bounded length, without what steers a terminal.
#[must_use]
pub fn said(text: &[u8]) -> String {
    let head = &text[..text.len().min(4 * MOST_SAID)];
    let all = String::from_utf8_lossy(head);
    let mut told: String = all.chars().take(MOST_SAID).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if head.len() < text.len() || all.chars().nth(MOST_SAID).is_some() {
        told.push('…');
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_told_without_what_steers_a_terminal_and_not_for_ever() {
        assert_eq!(said(b"no \x1b[31mred\r\n"), "no  [31mred  ");
        assert_eq!(said("ä".repeat(1000).as_bytes()), "ä".repeat(1000));
        for longer in [1001, 1 << 20] {
            assert_eq!(said("ä".repeat(longer).as_bytes()), "ä".repeat(1000) + "…");
        }
    }
}
