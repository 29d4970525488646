//! A TCP connection that can be given a deadline.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};
use tdelta_core::breaker::{Armed, Breaker};

/// A connected TCP stream. Its own time limits are those of one call: a server that sends a byte now and then would never
/// run into them.
pub struct Remote {
    /// Dropped ahead of the stream, whose number it uses.
    armed: Option<Armed>,
    stream: TcpStream,
    until: Option<Instant>,
}

impl Remote {
    /// Over a connected stream, without a time limit.
    #[must_use]
    pub fn new(stream: TcpStream) -> Self {
        Self { armed: None, stream, until: None }
    }

    /// From now on `breaker` can shut it, whatever it waits for.
    pub fn guard_by(&mut self, breaker: &Breaker) {
        self.armed = Some(shut_by(breaker, self.stream.as_raw_fd()));
    }

    /// Gives up on reads and writes at a moment, however much arrives until then; none: never.
    ///
    /// # Errors
    /// The connection has gone.
    pub fn set_deadline(&mut self, until: Option<Instant>) -> io::Result<()> {
        self.until = until;
        self.stream.set_write_timeout(until.map(left).transpose()?)?;
        self.stream.set_read_timeout(None)
    }
}

impl Read for Remote {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(until) = self.until {
            self.stream.set_read_timeout(Some(left(until)?))?;
        }
        self.stream.read(into).map_err(told)
    }
}

impl Write for Remote {
    #[inline]
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.stream.write(from).map_err(told)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Has `breaker` shut a socket, which stays open for as long as the answer lives. Whoever waits for it reads its end.
pub fn shut_by(breaker: &Breaker, socket: RawFd) -> Armed {
    // SAFETY: no preconditions; the number is the socket's until it is closed, which is after this is let go of.
    breaker.arm(move || unsafe {
        libc::shutdown(socket, libc::SHUT_RDWR);
    })
}

/// The time to a deadline.
///
/// # Errors
/// It has passed.
pub fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        Err(late())
    } else {
        Ok(left)
    }
}

/// A deadline has passed.
#[must_use]
pub fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it did not answer in time")
}

/// The error of a call whose own time limit has passed.
fn told(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => late(),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn pair() -> (Remote, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (Remote::new(here), listener.accept().unwrap().0)
    }

    #[test]
    fn a_read_with_a_deadline_gives_up_and_one_without_reads_on() {
        let (mut remote, mut there) = pair();
        remote.set_deadline(Some(Instant::now() + Duration::from_millis(5))).unwrap();
        assert_eq!(remote.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::TimedOut);
        remote.set_deadline(None).unwrap();
        there.write_all(b"abc").unwrap();
        assert_eq!(remote.read(&mut [0; 8]).unwrap(), 3);
    }

    #[test]
    fn what_waits_for_a_silent_peer_is_broken_off() {
        let (mut remote, there) = pair();
        let breaker = Breaker::default();
        remote.guard_by(&breaker);
        let breaking = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            breaker.break_off();
        });
        assert_eq!(remote.read(&mut [0]).unwrap(), 0);
        breaking.join().unwrap();
        drop(there);
    }

    #[test]
    fn what_never_ceases_to_arrive_ends_at_the_deadline_too() {
        let (mut remote, mut there) = pair();
        remote.set_deadline(Some(Instant::now() + Duration::from_millis(20))).unwrap();
        let sender = std::thread::spawn(move || while there.write_all(b"x").is_ok() {});
        let end = std::iter::repeat_with(|| remote.read(&mut [0])).find_map(Result::err);
        drop(remote);
        sender.join().unwrap();
        assert_eq!(end.unwrap().kind(), io::ErrorKind::TimedOut);
    }
}
