//! Packets over a stream, read where they lie in one buffer, sent with one write each.

use crate::failure::{connection_lost, failure, out_of_protocol};
use crate::stream::Stream;
use std::io::{self, Read, Write};
use tdelta_core::client::ClientError;

/// A packet of this many bytes is followed by one that goes on with it.
const LONGEST: usize = 0xff_ffff;

/// No value of a server's is longer than 1 GiB, and so no row whose parts are joined here.
const LONGEST_JOINED: usize = 1 << 30;

/// The size of one read from the socket. A small answer fits; a long one makes the buffer grow.
const BUFFER_BYTES: usize = 16 << 10;

/// Packets of a stream of data: well under any server's `max_allowed_packet`.
const DATA_BYTES: usize = 64 << 10;

/// One side of a conversation in packets.
pub struct Wire {
    stream: Stream,
    buffer: Vec<u8>,
    /// Bytes that were received and not yet read: `buffer[start..end]`.
    start: usize,
    end: usize,
    /// The packet that is being written, behind room for its header.
    out: Vec<u8>,
    sequence: u8,
    /// A packet in several parts.
    joined: Vec<u8>,
}

impl Wire {
    pub fn new(stream: Stream) -> Self {
        let buffer = vec![0; BUFFER_BYTES];
        Self { stream, buffer, start: 0, end: 0, out: Vec::new(), sequence: 0, joined: Vec::new() }
    }

    pub fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// The same conversation over another stream, which `change` makes of this one.
    pub fn over(self, change: impl FnOnce(Stream) -> Result<Stream, ClientError>) -> Result<Self, ClientError> {
        Ok(Self { stream: change(self.stream)?, ..self })
    }

    /// Begins a command: what is appended to the answer is its payload.
    #[inline]
    pub fn command(&mut self, code: u8) -> &mut Vec<u8> {
        self.sequence = 0;
        let out = self.answer();
        out.push(code);
        out
    }

    /// Begins a packet that goes on with what is under way.
    #[inline]
    pub fn answer(&mut self) -> &mut Vec<u8> {
        self.out.clear();
        self.out.extend_from_slice(&[0; 4]);
        &mut self.out
    }

    /// Sends what was appended since.
    #[inline]
    pub fn send(&mut self) -> Result<(), ClientError> {
        let length = self.out.len() - 4;
        if length >= LONGEST {
            return self.send_long();
        }
        let [a, b, c, _] = (length as u32).to_le_bytes();
        self.out[..4].copy_from_slice(&[a, b, c, self.sequence]);
        self.sequence = self.sequence.wrapping_add(1);
        self.stream.write_all(&self.out).and_then(|()| self.stream.flush()).map_err(|error| sending(&error))
    }

    fn send_long(&mut self) -> Result<(), ClientError> {
        let payload = std::mem::take(&mut self.out);
        let sent = self.send_parts(&payload[4..], LONGEST);
        self.out = payload;
        sent
    }

    /// Sends `data` in packets of a stream, none of them empty: the empty one ends it.
    pub fn send_data(&mut self, data: &[u8]) -> Result<(), ClientError> {
        self.out.clear();
        for part in data.chunks(DATA_BYTES) {
            let [a, b, c, _] = (part.len() as u32).to_le_bytes();
            self.out.extend_from_slice(&[a, b, c, self.sequence]);
            self.out.extend_from_slice(part);
            self.sequence = self.sequence.wrapping_add(1);
        }
        self.stream.write_all(&self.out).and_then(|()| self.stream.flush()).map_err(|error| sending(&error))
    }

    /// Sends `payload` in parts of `longest` bytes; the last is shorter, and so may be empty.
    fn send_parts(&mut self, payload: &[u8], longest: usize) -> Result<(), ClientError> {
        let mut rest = payload;
        loop {
            let part = &rest[..rest.len().min(longest)];
            let [a, b, c, _] = (part.len() as u32).to_le_bytes();
            let header = [a, b, c, self.sequence];
            self.sequence = self.sequence.wrapping_add(1);
            let write = self.stream.write_all(&header).and_then(|()| self.stream.write_all(part));
            write.map_err(|error| sending(&error))?;
            rest = &rest[part.len()..];
            if part.len() < longest {
                return self.stream.flush().map_err(|error| sending(&error));
            }
        }
    }

    /// The next packet's payload, valid until the next call.
    #[inline]
    pub fn packet(&mut self) -> Result<&[u8], ClientError> {
        let length = self.header()?;
        if length == LONGEST {
            return self.join();
        }
        self.fill(4 + length)?;
        let from = self.start + 4;
        self.start = from + length;
        Ok(&self.buffer[from..self.start])
    }

    #[inline]
    fn header(&mut self) -> Result<usize, ClientError> {
        self.fill(4)?;
        let header = &self.buffer[self.start..self.start + 4];
        self.sequence = header[3].wrapping_add(1);
        Ok(u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize)
    }

    #[cold]
    fn join(&mut self) -> Result<&[u8], ClientError> {
        self.joined.clear();
        loop {
            let length = self.header()?;
            self.fill(4 + length)?;
            let from = self.start + 4;
            self.start = from + length;
            if self.joined.len() + length > LONGEST_JOINED {
                return Err(out_of_protocol("a packet of more than 1 GiB"));
            }
            self.joined.extend_from_slice(&self.buffer[from..self.start]);
            if length < LONGEST {
                return Ok(&self.joined);
            }
        }
    }

    /// Receives until `wanted` bytes are there to read.
    #[inline]
    fn fill(&mut self, wanted: usize) -> Result<(), ClientError> {
        match self.end - self.start >= wanted {
            true => Ok(()),
            false => self.receive(wanted),
        }
    }

    fn receive(&mut self, wanted: usize) -> Result<(), ClientError> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start + wanted > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        while self.end - self.start < wanted {
            if self.end == self.buffer.len() {
                // As much as has arrived, once more: a length alone is only what somebody says.
                self.buffer.resize(2 * self.end, 0);
            }
            match self.stream.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Err(failure("connection", "the server closed the connection".into())),
                Ok(received) => self.end += received,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(connection_lost("the connection to the server broke", &error)),
            }
        }
        Ok(())
    }
}

fn sending(error: &io::Error) -> ClientError {
    connection_lost("the connection to the server broke", error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::Local;
    use std::os::unix::net::UnixStream;
    use std::thread::spawn;

    fn pair() -> (Wire, Wire) {
        let (a, b) = UnixStream::pair().unwrap();
        (Wire::new(Stream::Unix(Local::new(a))), Wire::new(Stream::Unix(Local::new(b))))
    }

    #[test]
    fn packets_of_every_length_arrive_as_they_were_sent() {
        for length in [0, 1, 5000, BUFFER_BYTES - 4, BUFFER_BYTES, 70_000, LONGEST - 1, LONGEST, LONGEST + 9] {
            let (mut here, mut there) = pair();
            let sender = spawn(move || {
                here.answer().extend((0..length).map(|n| n as u8));
                here.send().unwrap();
                here.answer().extend_from_slice(b"next");
                here.send().unwrap();
            });
            let packet = there.packet().unwrap();
            assert_eq!(packet.len(), length);
            assert!(packet.iter().enumerate().all(|(n, byte)| *byte == n as u8));
            assert_eq!(there.packet().unwrap(), b"next");
            sender.join().unwrap();
        }
    }

    #[test]
    fn several_packets_in_one_delivery_are_read_one_by_one() {
        let (mut here, mut there) = pair();
        here.send_data(&vec![7; 2 * DATA_BYTES + 1]).unwrap();
        for length in [DATA_BYTES, DATA_BYTES, 1] {
            assert_eq!(there.packet().unwrap().len(), length);
        }
    }

    #[test]
    fn a_server_that_has_gone_is_a_lost_connection() {
        let (here, mut there) = pair();
        drop(here);
        assert_eq!(there.packet().unwrap_err().kind, "connection");
    }

    #[test]
    fn a_length_alone_takes_no_memory() {
        let (mut here, mut there) = pair();
        here.stream.write_all(&[0xfe, 0xff, 0xff, 0, b'x']).unwrap();
        drop(here);
        assert_eq!(there.packet().unwrap_err().kind, "connection");
        assert_eq!(there.buffer.len(), BUFFER_BYTES);
    }

    #[test]
    fn a_packet_that_breaks_off_is_a_lost_connection() {
        let (mut here, mut there) = pair();
        here.stream.write_all(&[9, 0, 0, 0, b'x']).unwrap();
        drop(here);
        assert_eq!(there.packet().unwrap_err().kind, "connection");
    }
}
