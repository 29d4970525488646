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
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
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
        // The handshake at once: its failures are to be told from those of the protocol.
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
            Ok(stream) => return stream.set_nodelay(true).map(|()| stream),
            Err(error) => last = error,
        }
    }
    Err(last)
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
