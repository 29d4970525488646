//! The rows of a workload: a pure function of a plan, a seed and a row number.
//!
//! A [`Plan`] says which tables there are, how many rows each has and from which distribution each column is drawn. Every
//! value is a function of (seed, table number, column number, row index) and of nothing else, so any thread can make any
//! row, every twin gets the same rows in the same order, and a table need never be held in memory. [`Table::generate`]
//! makes a table in parallel and hands it over in order, [`Table::write_csv`] as the text of a file; [`TableChecksum`]
//! says, whatever the order, whether two tables hold the same rows.
//!
//! Limits: rows are at most 2^40 a table; the distributions that need `ln` or `pow` (zipf, gaussian) are as portable as
//! the C library's, so equal on all twins of one machine and not promised across machines.

mod checksum;
mod csv;
mod distribution;
mod generate;
mod plan;
#[cfg(test)]
mod tests;
mod words;

pub use checksum::{TableChecksum, ValueRef};
pub use generate::{Chunk, CHUNK_ROWS};
pub use plan::{Plan, Table, MAX_ROWS};
