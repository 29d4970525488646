//! The client of PostgreSQL's protocol, version 3.
//!
//! Statements are prepared under names once; a run of one is Bind, Execute and Sync in one write, without Describe, and rows
//! are walked in the buffer they arrive in. The messages of everything that is not timed (log-in, SCRAM, descriptions,
//! errors) are those of the crate `postgres-protocol`.

mod connection;
mod copying;
mod fault;
mod opening;
mod preparing;
mod shape;
mod statement;
mod wire;

pub use connection::Connection;
