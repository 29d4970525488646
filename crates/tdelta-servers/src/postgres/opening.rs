//! From a connected socket to a server that awaits statements: TLS, the start-up message, and who the user is.

use super::fault::{lost, refused};
use super::wire::Wire;
use crate::failure::{failure, out_of_protocol};
use crate::options::{Options, Tls};
use crate::stream::Stream;
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256, SCRAM_SHA_256};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use std::io::{Read, Write};
use tdelta_core::client::ClientError;

/// Opens a connection as the options say, up to the server's first ReadyForQuery. The time for connecting still runs.
pub(super) fn open(options: &Options) -> Result<Wire, ClientError> {
    let mut wire = Wire::new(stream(options)?);
    let database = options.database.as_deref().unwrap_or(&options.user);
    let parameters = [
        ("user", options.user.as_str()),
        ("database", database),
        ("application_name", "tdelta"),
        ("client_encoding", "UTF8"),
    ];
    frontend::startup_message(parameters, &mut wire.out).map_err(|_| nul_within())?;
    send(&mut wire)?;
    authenticate(&mut wire, options)?;
    await_ready(&mut wire)?;
    Ok(wire)
}

fn stream(options: &Options) -> Result<Stream, ClientError> {
    let mut stream = Stream::connect(options)?;
    if options.tls == Tls::Disable {
        return Ok(stream);
    }
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    let mut answer = [0];
    // One byte, read on its own: anything behind it would have been put there before the encryption (CVE-2021-23222).
    stream.write_all(&request).and_then(|()| stream.read_exact(&mut answer)).map_err(|error| lost(&error))?;
    match answer {
        [b'S'] => stream.start_tls(options),
        _ => Err(failure("tls", format!("{} has TLS switched off; tls must be disable there", options.address()))),
    }
}

fn send(wire: &mut Wire) -> Result<(), ClientError> {
    wire.send().map_err(|error| lost(&error))
}

fn receive(wire: &mut Wire) -> Result<Message, ClientError> {
    loop {
        match wire.message().map_err(|error| lost(&error))? {
            Message::ErrorResponse(body) => return Err(refused(&body)),
            Message::NoticeResponse(_) | Message::ParameterStatus(_) => {}
            message => return Ok(message),
        }
    }
}

fn authenticate(wire: &mut Wire, options: &Options) -> Result<(), ClientError> {
    loop {
        match receive(wire)? {
            Message::AuthenticationOk => return Ok(()),
            Message::AuthenticationCleartextPassword if wire.is_private() => {
                frontend::password_message(password(options)?, &mut wire.out).map_err(|_| nul_within())?;
                send(wire)?;
            }
            Message::AuthenticationCleartextPassword => {
                return Err(failure("auth", "the server asks for the password as it is, and TLS is off".into()));
            }
            Message::AuthenticationMd5Password(body) => {
                let hash = md5_hash(options.user.as_bytes(), password(options)?, body.salt());
                frontend::password_message(hash.as_bytes(), &mut wire.out).map_err(|_| nul_within())?;
                send(wire)?;
            }
            Message::AuthenticationSasl(body) => scram(wire, &body, password(options)?)?,
            _ => {
                let known = "the ways known here are scram-sha-256, md5, password, trust and peer";
                return Err(failure("auth", format!("the server asks for another way to log in; {known}")));
            }
        }
    }
}

fn scram(wire: &mut Wire, body: &AuthenticationSaslBody, password: &[u8]) -> Result<(), ClientError> {
    if !body.mechanisms().any(|mechanism| Ok(mechanism == SCRAM_SHA_256)).unwrap_or(false) {
        return Err(failure("auth", format!("the server does not offer {SCRAM_SHA_256}")));
    }
    let mut scram = ScramSha256::new(password, ChannelBinding::unsupported());
    let unproven = |error: std::io::Error| failure("auth", format!("SCRAM: {error}"));
    frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), &mut wire.out).map_err(unproven)?;
    send(wire)?;
    match receive(wire)? {
        Message::AuthenticationSaslContinue(body) => scram.update(body.data()).map_err(unproven)?,
        _ => return Err(out_of_protocol("something else amid SCRAM")),
    }
    frontend::sasl_response(scram.message(), &mut wire.out).map_err(unproven)?;
    send(wire)?;
    match receive(wire)? {
        // The server proves that it knows the password, too.
        Message::AuthenticationSaslFinal(body) => scram.finish(body.data()).map_err(unproven),
        _ => Err(out_of_protocol("something else amid SCRAM")),
    }
}

fn await_ready(wire: &mut Wire) -> Result<(), ClientError> {
    loop {
        match receive(wire)? {
            Message::ReadyForQuery(_) => return Ok(()),
            Message::BackendKeyData(_) => {}
            _ => return Err(out_of_protocol("something else before it was ready")),
        }
    }
}

fn password(options: &Options) -> Result<&[u8], ClientError> {
    match &options.password {
        Some(password) => Ok(password.as_bytes()),
        None => Err(failure("auth", format!("the server asks for a password of {}, and none is given", options.user))),
    }
}

fn nul_within() -> ClientError {
    failure("options", "user, password and database cannot hold a NUL".into())
}
