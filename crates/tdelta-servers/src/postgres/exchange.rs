//! One exchange with the server: what is sent, and its answers up to ReadyForQuery.

use super::fault::{lost, refused_by};
use super::wire::Wire;
use crate::failure::{failure, out_of_protocol};
use bytes::BytesMut;
use postgres_protocol::message::backend::{self, Message};
use std::io;
use tdelta_core::client::ClientError;

/// ReadyForQuery's word for a connection outside of any transaction.
const IDLE: u8 = b'I';

/// The wire, and what the last exchange on it left.
pub(super) struct Exchange {
    /// None once the server has gone, or a `\connect` has failed.
    pub(super) wire: Option<Wire>,
    pub(super) in_transaction: bool,
}

impl Exchange {
    /// Sends what `compose` writes and reads the answers up to ReadyForQuery; rows and descriptions go to `take`, which says
    /// false of what it cannot read: then nothing is certain any more, and the connection is given up. Where the server wants rows (COPY), `feed` sends them.
    pub(super) fn run(
        &mut self,
        compose: impl FnOnce(&mut BytesMut) -> io::Result<()>,
        take: impl FnMut(u8, &[u8]) -> bool,
        feed: impl FnMut(&mut Wire) -> io::Result<()>,
    ) -> Result<(), ClientError> {
        let wire = self.wire.as_mut().ok_or_else(closed)?;
        let composed = compose(&mut wire.out);
        if let Err(error) = composed {
            wire.out.clear();
            return Err(failure("sql", error.to_string()));
        }
        self.send(take, feed)
    }

    /// The same with what was written to the wire already; notes what it ended with.
    #[inline]
    pub(super) fn send(
        &mut self,
        take: impl FnMut(u8, &[u8]) -> bool,
        feed: impl FnMut(&mut Wire) -> io::Result<()>,
    ) -> Result<(), ClientError> {
        match talk(self.wire.as_mut().ok_or_else(closed)?, take, feed) {
            Ok(Ready { in_transaction, fault }) => {
                self.in_transaction = in_transaction;
                fault.map_or(Ok(()), Err)
            }
            Err(error) => {
                self.wire = None;
                self.in_transaction = false;
                Err(error)
            }
        }
    }
}

/// The server awaits the next statement.
struct Ready {
    in_transaction: bool,
    /// Its error about the last one.
    fault: Option<ClientError>,
}

/// One exchange, as [`Exchange::run`] says; `Err` if the connection is of no more use.
#[inline]
fn talk(
    wire: &mut Wire,
    mut take: impl FnMut(u8, &[u8]) -> bool,
    mut feed: impl FnMut(&mut Wire) -> io::Result<()>,
) -> Result<Ready, ClientError> {
    let mut fault: Option<ClientError> = None;
    wire.send().or_else(unless_gone)?;
    loop {
        let (tag, body) = match wire.next() {
            Ok(message) => message,
            Err(error) => return Err(fault.unwrap_or_else(|| lost(&error))),
        };
        match tag {
            backend::DATA_ROW_TAG
            | backend::ROW_DESCRIPTION_TAG
            | backend::PARAMETER_DESCRIPTION_TAG
            | backend::NO_DATA_TAG
                if !take(tag, body) =>
            {
                return Err(out_of_protocol("a row or description that cannot be read"));
            }
            backend::READY_FOR_QUERY_TAG => {
                return Ok(Ready { in_transaction: body.first() != Some(&IDLE), fault });
            }
            backend::ERROR_RESPONSE_TAG => {
                fault.get_or_insert_with(|| refused_by(body));
            }
            backend::COPY_IN_RESPONSE_TAG => feed(wire).or_else(unless_gone)?,
            // BindComplete, CommandComplete and what else says only that things go well; notices; COPY … TO STDOUT.
            _ => {}
        }
    }
}

/// A server that ends a session says why before it closes: what cannot be written to it any more can still be read.
fn unless_gone(error: io::Error) -> Result<(), ClientError> {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Ok(()),
        io::ErrorKind::Unsupported => Err(failure("sql", error.to_string())),
        _ => Err(lost(&error)),
    }
}

/// A statement of a script has no rows to send.
pub(super) fn no_rows(_: &mut Wire) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "COPY … FROM STDIN cannot be a statement of a script"))
}

pub(super) fn parsed(tag: u8, body: &[u8]) -> Option<Message> {
    let mut whole = BytesMut::with_capacity(body.len() + 5);
    whole.extend_from_slice(&[tag]);
    whole.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    whole.extend_from_slice(body);
    Message::parse(&mut whole).ok().flatten()
}

pub(super) fn closed() -> ClientError {
    failure("connection", "the connection is closed: the server ended it, or a \\connect failed".into())
}
