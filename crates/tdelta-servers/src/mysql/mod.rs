//! The MySQL protocol, as MySQL, MariaDB and Percona Server speak it.
//!
//! `mysql_common` has the packets of the handshake and the ways to prove a password. What runs once for each statement is
//! here: packets are read where they lie in one buffer, and every column of every row is looked at without a copy.
//!
//! Why not the crate `mysql`: under the same loop on MariaDB (`benches/clients_crates.py`, 16 pairs, a busy machine with two
//! CPUs) it took 1.21 (1.11 … 1.31) times the client CPU per point select on 4 connections, 1.21 (1.13 … 1.29) on 64, 1.13
//! (1.08 … 1.17) on 2,048, and 1.39 (1.27 … 1.53) per read-only transaction on 4; 64 connections held 160 to 280 MB instead of 13.

mod bulk;
mod column;
mod connection;
mod error;
mod handshake;
mod key;
mod prepared;
mod reply;
mod wire;

pub use connection::Connection;
