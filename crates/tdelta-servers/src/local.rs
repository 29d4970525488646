//! A Unix socket, read at once where there is something, and else waited for in the way that wakes its thread once.

use crate::remote::{late, left, shut_by};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Instant;
use tdelta_core::breaker::{Armed, Breaker};

/// A connected Unix socket.
///
/// A thread that sleeps in `read` on a Unix socket is woken by the server's taking of the request, too: the kernel tells
/// of room to write on the same queue, and `read` does not say what it waits for. That is a second switch for each
/// statement (1.75 of them a point select instead of 1.0, on a busy machine). `poll` does say it. But where threads
/// outnumber CPUs, the answer is often there before its thread gets to run again: so the first try does not wait.
pub struct Local {
    /// Dropped ahead of the stream, whose number it uses.
    armed: Option<Armed>,
    stream: UnixStream,
    /// When reads and writes give up.
    until: Option<Instant>,
}

impl Local {
    /// Over a connected socket, without a time limit.
    #[must_use]
    pub fn new(stream: UnixStream) -> Self {
        Self { armed: None, stream, until: None }
    }

    /// From now on `breaker` can shut it, whatever it waits for.
    pub fn guard_by(&mut self, breaker: &Breaker) {
        self.armed = Some(shut_by(breaker, self.stream.as_raw_fd()));
    }

    /// Gives up on reads and writes at a moment, however much arrives until then; none: never.
    ///
    /// # Errors
    /// The socket has gone.
    pub fn set_deadline(&mut self, until: Option<Instant>) -> io::Result<()> {
        self.until = until;
        self.stream.set_write_timeout(until.map(left).transpose()?)
    }

    /// Reads what is there; `WouldBlock` if there is nothing yet.
    #[inline]
    fn receive(&self, into: &mut [u8]) -> io::Result<usize> {
        // SAFETY: `into` may be written to over its whole length, and outlives the call.
        let count =
            unsafe { libc::recv(self.stream.as_raw_fd(), into.as_mut_ptr().cast(), into.len(), libc::MSG_DONTWAIT) };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }

    /// Waits until there is something to read, or the end.
    fn wait(&self) -> io::Result<()> {
        const FOR_EVER: libc::c_int = -1;
        let wait_ms = match self.until {
            Some(until) => left(until)?.as_millis().clamp(1, libc::c_int::MAX as u128) as libc::c_int,
            None => FOR_EVER,
        };
        let mut wanted = libc::pollfd { fd: self.stream.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid pollfd, as said.
        match unsafe { libc::poll(&mut wanted, 1, wait_ms) } {
            0 => Err(late()),
            1.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Read for Local {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(until) = self.until {
            left(until)?;
        }
        loop {
            match self.receive(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait()?,
                done => return done,
            }
        }
    }
}

impl Write for Local {
    #[inline]
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self.stream.write(from) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(late()),
            done => done,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_was_sent_is_read_and_then_the_end() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let mut local = Local::new(here);
        there.write_all(b"abc").unwrap();
        let mut buffer = [0; 8];
        assert_eq!(local.read(&mut buffer).unwrap(), 3);
        drop(there);
        assert_eq!(local.read(&mut buffer).unwrap(), 0);
    }

    #[test]
    fn what_comes_later_is_waited_for() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let mut local = Local::new(here);
        let sender = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            there.write_all(b"abc").unwrap();
        });
        assert_eq!(local.read(&mut [0; 8]).unwrap(), 3);
        sender.join().unwrap();
    }

    #[test]
    fn a_read_with_a_limit_gives_up() {
        let (here, _there) = UnixStream::pair().unwrap();
        let mut local = Local::new(here);
        local.set_deadline(Some(Instant::now() + Duration::from_millis(5))).unwrap();
        assert_eq!(local.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn what_waits_for_a_silent_peer_is_broken_off() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut local, breaker) = (Local::new(here), Breaker::default());
        local.guard_by(&breaker);
        let breaking = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            breaker.break_off();
        });
        assert_eq!(local.read(&mut [0; 8]).unwrap(), 0);
        breaking.join().unwrap();
        drop(there);
    }

    #[test]
    fn what_never_ceases_to_arrive_ends_at_the_deadline_too() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let mut local = Local::new(here);
        local.set_deadline(Some(Instant::now() + Duration::from_millis(20))).unwrap();
        let sender = std::thread::spawn(move || while there.write_all(b"x").is_ok() {});
        let end = std::iter::repeat_with(|| local.read(&mut [0])).find_map(Result::err);
        drop(local);
        sender.join().unwrap();
        assert_eq!(end.unwrap().kind(), io::ErrorKind::TimedOut);
    }
}
