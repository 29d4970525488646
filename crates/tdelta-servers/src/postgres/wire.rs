//! Messages over a stream: written together, read out of one buffer that is used again.

use crate::stream::Stream;
use bytes::BytesMut;
use postgres_protocol::message::backend::Message;
use std::io::{self, Read, Write};
use std::time::Duration;
use tdelta_core::breaker::Breaker;
use tdelta_core::client::ClientError;

/// The first size of a connection's input buffer; it grows to the longest message that arrives.
const INPUT_BYTES: usize = 16 * 1024;

/// A message's tag and length take this many bytes; the length counts its own four.
const HEADER_BYTES: usize = 5;

/// No value in PostgreSQL is longer than 1 GiB, and no message longer than 2.
const LONGEST_BYTES: usize = 1 << 31;

/// Messages beside rows are short.
const LONGEST_SAID_BYTES: usize = 1 << 20;

/// One connection's messages, both ways.
pub(super) struct Wire {
    stream: Stream,
    /// The bytes of the next [`Wire::send`].
    pub(super) out: BytesMut,
    input: Vec<u8>,
    start: usize,
    end: usize,
}

impl Wire {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, out: BytesMut::with_capacity(1024), input: vec![0; INPUT_BYTES], start: 0, end: 0 }
    }

    /// How long what follows may take.
    pub(super) fn limit(&mut self, time: Option<Duration>) -> Result<(), ClientError> {
        self.stream.limit(time)
    }

    /// From now on `breaker` can shut it.
    pub(super) fn guard_by(&mut self, breaker: &Breaker) {
        self.stream.guard_by(breaker);
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
        let length = self.await_message(LONGEST_BYTES)?;
        let message = self.start..self.start + length;
        self.start += length;
        let message = &self.input[message];
        Ok((message[0], &message[HEADER_BYTES..]))
    }

    /// The next message, parsed and owned: for all that is not timed.
    pub(super) fn message(&mut self) -> io::Result<Message> {
        let length = self.await_message(LONGEST_SAID_BYTES)?;
        let mut copy = BytesMut::from(&self.input[self.start..self.start + length]);
        self.start += length;
        Message::parse(&mut copy)?.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }

    /// Reads until the next message is whole. Returns its length, header included.
    #[inline]
    fn await_message(&mut self, longest: usize) -> io::Result<usize> {
        loop {
            let arrived = &self.input[self.start..self.end];
            let Some((header, _)) = arrived.split_first_chunk::<HEADER_BYTES>() else {
                self.fill(HEADER_BYTES)?;
                continue;
            };
            let wanted = 1 + u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
            if !(HEADER_BYTES..=longest).contains(&wanted) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a message of an impossible length"));
            }
            if self.end - self.start >= wanted {
                return Ok(wanted);
            }
            self.fill(wanted)?;
        }
    }

    /// Reads once, towards a message of `wanted` bytes from `start` on.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.start > 0 && (self.start + wanted > self.input.len() || self.end == self.input.len()) {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.input.len() {
            // As much as has arrived, once more: a length alone is only what somebody says.
            self.input.resize(2 * self.end, 0);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::Local;
    use std::os::unix::net::UnixStream;

    fn wire() -> (Wire, UnixStream) {
        let (here, there) = UnixStream::pair().unwrap();
        (Wire::new(Stream::Unix(Local::new(here))), there)
    }

    #[test]
    fn messages_of_every_length_arrive_as_they_were_sent() {
        for length in [0, 1, INPUT_BYTES - 5, INPUT_BYTES - 4, INPUT_BYTES, 3 * INPUT_BYTES + 1, 1 << 20] {
            let (mut here, mut there) = wire();
            let body: Vec<u8> = (0..length).map(|n| n as u8).collect();
            let header = [&b"D"[..], &(length as u32 + 4).to_be_bytes()].concat();
            let sent = [&header[..], &body, &header, &body].concat();
            let sender = std::thread::spawn(move || there.write_all(&sent).unwrap());
            for _ in 0..2 {
                assert_eq!(here.next().unwrap(), (b'D', &body[..]));
            }
            sender.join().unwrap();
        }
    }

    #[test]
    fn a_length_alone_takes_no_memory() {
        let (mut here, mut there) = wire();
        there.write_all(b"D\x7f\xff\xff\xf0x").unwrap();
        drop(there);
        assert_eq!(here.next().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(here.input.len(), INPUT_BYTES);
    }

    #[test]
    fn what_is_said_beside_rows_is_short() {
        let (mut here, mut there) = wire();
        there.write_all(b"N\x00\x20\x00\x00").unwrap();
        assert_eq!(here.message().err().unwrap().kind(), io::ErrorKind::InvalidData);
    }
}
