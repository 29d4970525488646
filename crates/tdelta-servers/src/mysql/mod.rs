//! The MySQL protocol, as MySQL, MariaDB and Percona Server speak it.
//!
//! `mysql_common` has the packets of the handshake and the ways to prove a password. What runs once for each statement is
//! here: packets are read where they lie in one buffer, and every column of every row is looked at without a copy.

mod bulk;
mod column;
mod connection;
mod error;
mod handshake;
mod prepared;
mod reply;
mod wire;

pub use connection::Connection;
