//! Who is there: the server's greeting, TLS, and the proof of the password.

use super::error::error_of;
use super::key::is_usable;
use super::reply::Dialect;
use super::wire::Wire;
use crate::failure::{failure, out_of_protocol, said};
use crate::options::{Options, Tls};
use crate::stream::Stream;
use mysql_common::auth::plugins::{AuthProc, ChallengeResponsePlugin, Context, Response};
use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, HandshakePacket, HandshakeResponse, SslRequest};
use mysql_common::proto::MySerialize;
use tdelta_core::client::ClientError;

/// Abilities of this client beside those that every server requires.
const WANTED: CapabilityFlags = CapabilityFlags::CLIENT_LONG_PASSWORD
    .union(CapabilityFlags::CLIENT_LONG_FLAG)
    .union(CapabilityFlags::CLIENT_PROTOCOL_41)
    .union(CapabilityFlags::CLIENT_TRANSACTIONS)
    .union(CapabilityFlags::CLIENT_SECURE_CONNECTION)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA)
    .union(CapabilityFlags::CLIENT_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_PS_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_LOCAL_FILES)
    .union(CapabilityFlags::CLIENT_DEPRECATE_EOF);

/// The answer of the two methods that encrypt a password, to request the key; a password itself ends with a NUL.
const SHA256_ASKS_FOR_KEY: u8 = 1;
const CACHING_SHA2_ASKS_FOR_KEY: u8 = 2;

const LONGEST_PACKET: u32 = 1 << 30;
const UTF8MB4_GENERAL_CI: u8 = 45;
const SOME_VERSION_WITH_UTF8MB4: (u16, u16, u16) = (8, 0, 0);

/// Connects and proves who is there. The time for connecting still runs.
pub fn connect(options: &Options) -> Result<(Wire, Dialect), ClientError> {
    let mut wire = Wire::new(Stream::connect(options)?);
    let greeting = greeting(&mut wire)?;
    let (common, maria) = capabilities(&greeting, options)?;
    if options.tls != Tls::Disable {
        let mut packet = Vec::new();
        SslRequest::new(common, LONGEST_PACKET, UTF8MB4_GENERAL_CI)
            .with_mariadb_capabilities(maria)
            .serialize(&mut packet);
        wire.answer().extend_from_slice(&packet);
        wire.send()?;
        wire = wire.over(|stream| stream.start_tls(options))?;
    }
    prove(&mut wire, options, &greeting, common, maria)?;
    Ok((
        wire,
        Dialect {
            has_no_eof: common.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF),
            caches_definitions: maria.contains(MariadbCapabilities::MARIADB_CLIENT_CACHE_METADATA),
        },
    ))
}

fn greeting(wire: &mut Wire) -> Result<HandshakePacket<'static>, ClientError> {
    let packet = wire.packet()?;
    if packet.first() == Some(&0xff) {
        return Err(error_of(packet));
    }
    let greeting: HandshakePacket<'_> =
        ParseBuf(packet).parse(()).map_err(|_| out_of_protocol("no greeting: is it a MySQL server?"))?;
    Ok(greeting.into_owned())
}

/// The abilities of both sides, and MariaDB's further ones.
fn capabilities(
    greeting: &HandshakePacket<'_>,
    options: &Options,
) -> Result<(CapabilityFlags, MariadbCapabilities), ClientError> {
    let offered = greeting.capabilities();
    if !offered.contains(CapabilityFlags::CLIENT_PROTOCOL_41 | CapabilityFlags::CLIENT_SECURE_CONNECTION) {
        return Err(failure("protocol", "expected MySQL 5.5 or newer, found an older server".into()));
    }
    let mut common = WANTED & offered;
    let mut maria = MariadbCapabilities::empty();
    // MariaDB leaves out the flag of old that MySQL always sets: then its own capabilities stand in the reserved bytes.
    if !offered.contains(CapabilityFlags::CLIENT_LONG_PASSWORD) {
        maria = MariadbCapabilities::MARIADB_CLIENT_CACHE_METADATA & greeting.mariadb_ext_capabilities();
    }
    common.set(CapabilityFlags::CLIENT_CONNECT_WITH_DB, options.database.is_some());
    if options.tls != Tls::Disable {
        if !offered.contains(CapabilityFlags::CLIENT_SSL) {
            return Err(failure("tls", format!("{} offers no TLS", options.address())));
        }
        common |= CapabilityFlags::CLIENT_SSL;
    }
    Ok((common, maria))
}

/// Answers the server's challenges until it is content.
fn prove(
    wire: &mut Wire,
    options: &Options,
    greeting: &HandshakePacket<'_>,
    common: CapabilityFlags,
    maria: MariadbCapabilities,
) -> Result<(), ClientError> {
    let mut proof = Proof::new(options, wire.stream());
    // A method that is not known here is answered in the oldest way; the server then asks for a switch.
    let offered = greeting.auth_plugin().unwrap_or(AuthPlugin::MysqlNativePassword);
    let plugin = if is_known(&offered) { offered.into_owned() } else { AuthPlugin::MysqlNativePassword };
    let first = proof.begin(&plugin, &greeting.nonce())?;
    let mut packet = Vec::new();
    HandshakeResponse::new(
        Some(first.data().unwrap_or_default()),
        SOME_VERSION_WITH_UTF8MB4,
        Some(options.user.as_bytes()),
        options.database.as_deref().map(str::as_bytes),
        Some(plugin),
        common,
        None,
        LONGEST_PACKET,
    )
    .with_mariadb_ext_capabilities(maria)
    .serialize(&mut packet);
    wire.answer().extend_from_slice(&packet);
    wire.send()?;
    loop {
        let packet = wire.packet()?;
        let response = match packet {
            [0x00, ..] => return Ok(()),
            [0xff, ..] => return Err(error_of(packet)),
            [0x01, challenge @ ..] => proof.go_on(challenge)?,
            [0xfe] => return Err(too_old()),
            [0xfe, ..] => {
                let switch: AuthSwitchRequest<'_> =
                    ParseBuf(packet).parse(()).map_err(|_| out_of_protocol("a switch to no method"))?;
                let (plugin, nonce) = (switch.auth_plugin().into_owned(), switch.plugin_data().to_vec());
                proof.begin(&plugin, &nonce)?
            }
            _ => return Err(out_of_protocol("neither a challenge nor an end of the handshake")),
        };
        if let Some(data) = response.data() {
            wire.answer().extend_from_slice(data);
            wire.send()?;
        }
    }
}

fn is_known(plugin: &AuthPlugin<'_>) -> bool {
    use AuthPlugin as P;
    matches!(plugin, P::MysqlNativePassword | P::CachingSha2Password | P::Sha256Password | P::MysqlClearPassword)
}

fn too_old() -> ClientError {
    failure("auth", "the server asks for a method of before MySQL 4.1, which gives the password away".into())
}

/// A proof of the password under way.
struct Proof {
    context: Proving,
    procedure: Option<AuthProc>,
    /// Whether the key to encrypt the password with was requested.
    awaits_key: bool,
}

/// The input of a method. There is no `Debug` for it: it holds the password.
struct Proving {
    password: Vec<u8>,
    nonce: Vec<u8>,
    is_socket: bool,
    is_tls: bool,
}

impl Proof {
    fn new(options: &Options, stream: &Stream) -> Self {
        let password = options.password.clone().unwrap_or_default().into_bytes();
        let (is_socket, is_tls) = (matches!(stream, Stream::Unix(_)), matches!(stream, Stream::Tls(_)));
        Self { context: Proving { password, nonce: Vec::new(), is_socket, is_tls }, procedure: None, awaits_key: false }
    }

    /// The answer to the first challenge of a method.
    fn begin(&mut self, plugin: &AuthPlugin<'_>, nonce: &[u8]) -> Result<Response, ClientError> {
        let name = said(plugin.as_bytes());
        if !is_known(plugin) {
            let known = "mysql_native_password, caching_sha2_password, sha256_password and mysql_clear_password";
            return Err(failure("auth", format!("the server asks for {name}; known here are {known}")));
        }
        let is_clear = matches!(plugin, AuthPlugin::MysqlClearPassword);
        if is_clear && !(self.context.is_socket || self.context.is_tls) {
            return Err(failure("auth", format!("{name} would send the password in the clear: use TLS")));
        }
        self.context.nonce = nonce.to_vec();
        let procedure = plugin.init().map_err(|error| failure("auth", error.to_string()))?;
        self.procedure = Some(procedure);
        self.awaits_key = false;
        self.go_on(nonce)
    }

    /// The answer to a further challenge.
    fn go_on(&mut self, challenge: &[u8]) -> Result<Response, ClientError> {
        let Some(procedure) = &mut self.procedure else {
            return Err(out_of_protocol("a challenge ahead of its method"));
        };
        if self.awaits_key && !is_usable(challenge, self.context.password.len() + 1) {
            return Err(out_of_protocol("no RSA key that the password could be encrypted with"));
        }
        let response = procedure.run(&self.context, challenge).map_err(|error| refused(&error.to_string()))?;
        self.awaits_key = matches!(response.data(), Some([SHA256_ASKS_FOR_KEY | CACHING_SHA2_ASKS_FOR_KEY]));
        Ok(response)
    }
}

fn refused(why: &str) -> ClientError {
    failure("auth", format!("the server's challenge cannot be answered: {why}"))
}

impl Context for &Proving {
    fn pass(&self) -> &[u8] {
        &self.password
    }
    fn is_ipc_transport(&self) -> bool {
        self.is_socket
    }
    fn is_tls_transport(&self) -> bool {
        self.is_tls
    }
    fn scramble(&self) -> &[u8] {
        &self.nonce
    }
    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}
