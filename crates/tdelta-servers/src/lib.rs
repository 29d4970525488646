//! Native clients of database servers, and the twins that they drive. Knows no Python.
//!
//! A [`Session`] is one connection that speaks a server's own protocol: blocking, without a runtime, with prepared statements
//! and rows read out of one buffer, since what it costs is measured together with what it measures. [`open`] makes a
//! [`Served`] twin of whichever protocol the options name: its connections under load, and one more for questions to the server
//! between trials.

mod crew;
pub mod failure;
pub mod local;
pub mod mysql;
pub mod options;
pub mod postgres;
pub mod remote;
pub mod session;
pub mod stream;
mod twin;
mod verify;

pub use options::{Options, Protocol, Tls};
pub use session::{Rows, Session};
pub use twin::{Extra, Observed, Served, ServerTwin, Tracing};

use std::sync::Arc;
use tdelta_core::client::ClientError;

/// Opens a twin's connections and one more.
///
/// # Errors
/// Options that lack something, or what the server says; never with the password.
pub fn open(options: Options, connections: usize) -> Result<Box<dyn Served>, ClientError> {
    options.check()?;
    let options = Arc::new(options);
    match options.protocol {
        Protocol::Mysql => Ok(Box::new(ServerTwin::<mysql::Connection>::open(&options, connections)?)),
        Protocol::Postgres => Ok(Box::new(ServerTwin::<postgres::Connection>::open(&options, connections)?)),
    }
}
