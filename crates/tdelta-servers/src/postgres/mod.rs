//! The client of PostgreSQL's protocol, version 3.
//!
//! Statements are prepared under names once; a run of one is Bind, Execute and Sync in one write, without Describe, and rows
//! are walked in the buffer they arrive in. The messages of everything that is not timed (log-in, SCRAM, descriptions,
//! errors) are those of the crate `postgres-protocol`.
//!
//! Why not the crate `postgres`: under the same loop (`benches/clients_crates.py --engine postgres`, 16 pairs, a busy machine
//! with two CPUs) it took 1.25 (1.14 … 1.37) times the client CPU per point select on 4 connections, 1.42 (1.35 … 1.49) on 64 and
//! 1.36 (1.32 … 1.40) on 2,048, which held 105 MB instead of 79.

mod connection;
mod copying;
mod exchange;
mod fault;
mod opening;
mod preparing;
mod shape;
mod statement;
mod wire;

pub use connection::Connection;
