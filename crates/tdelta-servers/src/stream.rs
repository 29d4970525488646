//! The bytes between client and server: a Unix socket, TCP, or TLS over TCP. Blocking, and unbuffered: each protocol
//! keeps its own buffers.

use crate::failure::{connection_lost, failure};
use crate::local::Local;
use crate::options::Options;
use crate::remote::Remote;
use crate::verify::client_config;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use tdelta_core::breaker::Breaker;
use tdelta_core::client::ClientError;

/// A connected stream.
pub enum Stream {
    /// A Unix socket.
    Unix(Local),
    /// TCP, each write sent at once.
    Tcp(Remote),
    /// TLS over TCP.
    Tls(Box<StreamOwned<ClientConnection, Remote>>),
}

impl Stream {
    /// Connects as the options say, in plain text. Reads and writes end with the time for connecting until another limit is set.
    ///
    /// # Errors
    /// Of kind `connection`: nobody answers there.
    pub fn connect(options: &Options) -> Result<Self, ClientError> {
        let address = options.address();
        let stream = match &options.socket {
            Some(path) => UnixStream::connect(path).map(|socket| Self::Unix(Local::new(socket))),
            None => tcp(options).map(|stream| Self::Tcp(Remote::new(stream))),
        };
        let mut stream = stream.map_err(|error| connection_lost(&format!("cannot connect to {address}"), &error))?;
        stream.limit(Some(options.connect_timeout()))?;
        Ok(stream)
    }

    /// Goes over to TLS, once the protocol has agreed to it.
    ///
    /// # Errors
    /// Of kind `tls`: the certificate or the handshake; a Unix socket has none.
    pub fn start_tls(self, options: &Options) -> Result<Self, ClientError> {
        let Self::Tcp(tcp) = self else {
            return Err(failure("tls", "TLS can be started on a plain TCP connection only".into()));
        };
        let host = options.host.clone().unwrap_or_default();
        let name = ServerName::try_from(host.clone())
            .map_err(|_| failure("tls", format!("'{host}' is no name that a certificate could bear")))?;
        let client =
            ClientConnection::new(client_config(options)?, name).map_err(|error| failure("tls", error.to_string()))?;
        let mut stream = StreamOwned::new(client, tcp);
        // The handshake at once: its failures are to be distinguished from those of the protocol.
        while stream.conn.is_handshaking() {
            stream
                .conn
                .complete_io(&mut stream.sock)
                .map_err(|error| failure("tls", format!("TLS with {}: {error}", options.address())))?;
        }
        Ok(Self::Tls(Box::new(stream)))
    }

    /// Whether a password may be sent over it as it is.
    #[must_use]
    pub fn is_private(&self) -> bool {
        !matches!(self, Self::Tcp(_))
    }

    /// From now on `breaker` can shut it.
    pub fn guard_by(&mut self, breaker: &Breaker) {
        match self {
            Self::Unix(unix) => unix.guard_by(breaker),
            Self::Tcp(tcp) => tcp.guard_by(breaker),
            Self::Tls(tls) => tls.sock.guard_by(breaker),
        }
    }

    /// Limits how long all that follows may take, to its last byte; `None`: as long as a statement takes.
    ///
    /// # Errors
    /// Of kind `connection`.
    pub fn limit(&mut self, time: Option<Duration>) -> Result<(), ClientError> {
        let until = time.map(|time| Instant::now() + time);
        let set = match self {
            Self::Unix(unix) => unix.set_deadline(until),
            Self::Tcp(tcp) => tcp.set_deadline(until),
            Self::Tls(tls) => tls.sock.set_deadline(until),
        };
        set.map_err(|error| connection_lost("the connection cannot be set up", &error))
    }
}

/// The first of the host's addresses that answers, all within one time limit.
fn tcp(options: &Options) -> io::Result<TcpStream> {
    let until = Instant::now() + options.connect_timeout();
    let host = options.host.as_deref().unwrap_or_default();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in (host, options.tcp_port()).to_socket_addrs()? {
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => return prepared(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Keepalive: seconds without a byte before the first probe, seconds between probes, and their number.
const KEEPALIVE: [(libc::c_int, libc::c_int); 3] =
    [(libc::TCP_KEEPIDLE, 30), (libc::TCP_KEEPINTVL, 10), (libc::TCP_KEEPCNT, 3)];
/// Bytes that the peer's machine has not acknowledged after so long are lost.
const UNHEARD_MS: libc::c_int = 60_000;

/// The socket as the protocols want it: each write sent at once, and an error where the peer's machine, or the way to it, has
/// gone. A server that takes its time answers by its kernel, so none of this limits a statement.
fn prepared(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    set(&stream, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
    KEEPALIVE.iter().try_for_each(|(name, value)| set(&stream, libc::IPPROTO_TCP, *name, *value))?;
    set(&stream, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, UNHEARD_MS)?;
    Ok(stream)
}

fn set(stream: &TcpStream, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: an int of the caller's, and its length.
    match unsafe { libc::setsockopt(stream.as_raw_fd(), level, name, (&raw const value).cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Read for Stream {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(unix) => unix.read(into),
            Self::Tcp(tcp) => tcp.read(into),
            Self::Tls(tls) => tls.read(into),
        }
    }
}

impl Write for Stream {
    #[inline]
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(unix) => unix.write(from),
            Self::Tcp(tcp) => tcp.write(from),
            Self::Tls(tls) => tls.write(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Unix(unix) => unix.flush(),
            Self::Tcp(tcp) => tcp.flush(),
            Self::Tls(tls) => tls.flush(),
        }
    }
}
