//! Messages over a stream: written together, read out of one buffer that is used again.

use crate::stream::Stream;
use bytes::BytesMut;
use postgres_protocol::message::backend::Message;
use std::io::{self, Read, Write};
use tdelta_core::client::ClientError;

/// What a connection's input buffer starts with; it grows to the longest message that arrives.
const INPUT_BYTES: usize = 16 * 1024;

/// A message's tag and length take this many bytes; the length counts its own four.
const HEADER_BYTES: usize = 5;

/// No value in PostgreSQL is longer than 1 GiB, and no message longer than 2.
const LONGEST_BYTES: usize = 1 << 31;

/// One connection's messages, both ways.
pub(super) struct Wire {
    stream: Stream,
    /// What the next [`Wire::send`] writes.
    pub(super) out: BytesMut,
    input: Vec<u8>,
    start: usize,
    end: usize,
}

impl Wire {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, out: BytesMut::with_capacity(1024), input: vec![0; INPUT_BYTES], start: 0, end: 0 }
    }

    /// Connecting is over.
    pub(super) fn settle(&mut self) -> Result<(), ClientError> {
        self.stream.settle()
    }

    /// Whether a password may be sent over it as it is.
    pub(super) fn is_private(&self) -> bool {
        self.stream.is_private()
    }

    /// Writes everything gathered in `out`, at best in one system call.
    #[inline]
    pub(super) fn send(&mut self) -> io::Result<()> {
        let sent = self.stream.write_all(&self.out).and_then(|()| self.stream.flush());
        self.out.clear();
        sent
    }

    /// The next message: its tag and its body, borrowed until the one after.
    #[inline]
    pub(super) fn next(&mut self) -> io::Result<(u8, &[u8])> {
        let length = self.await_message()?;
        let message = self.start..self.start + length;
        self.start += length;
        let message = &self.input[message];
        Ok((message[0], &message[HEADER_BYTES..]))
    }

    /// The next message, parsed and owned: for all that is not timed.
    pub(super) fn message(&mut self) -> io::Result<Message> {
        let length = self.await_message()?;
        let mut copy = BytesMut::from(&self.input[self.start..self.start + length]);
        self.start += length;
        Message::parse(&mut copy)?.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }

    /// Reads until the next message is whole. Returns its length, header included.
    #[inline]
    fn await_message(&mut self) -> io::Result<usize> {
        loop {
            let arrived = &self.input[self.start..self.end];
            let Some((header, _)) = arrived.split_first_chunk::<HEADER_BYTES>() else {
                self.fill(HEADER_BYTES)?;
                continue;
            };
            let wanted = 1 + u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
            if !(HEADER_BYTES..=LONGEST_BYTES).contains(&wanted) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a message of an impossible length"));
            }
            if self.end - self.start >= wanted {
                return Ok(wanted);
            }
            self.fill(wanted)?;
        }
    }

    /// Reads once, having made room for a message of `wanted` bytes from `start` on.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.start + wanted > self.input.len() || self.end == self.input.len() {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if wanted > self.input.len() {
                self.input.resize(wanted.next_power_of_two(), 0);
            }
        }
        loop {
            match self.stream.read(&mut self.input[self.end..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    self.end += count;
                    return Ok(());
                }
                // A signal that the program has a handler for.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
