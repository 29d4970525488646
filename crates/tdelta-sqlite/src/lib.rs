//! The SQLite-family client: it uses the API table of whichever SQLite library loads it as an extension, so what is
//! measured is the very library that users install, SQLite3 Multiple Ciphers or SQLCipher, and never one of ours.
//!
//! One library a process (the table is global). A twin's connections share a fair lock for writers: SQLite's own
//! busy-wait sleeps in steps, and a sleep hides cost.

mod connection;
mod exposure;
mod library;
mod statement;
mod twin;

pub mod bare;

pub use connection::{Connection, Options};
pub use exposure::Exposure;
pub use library::{initialise, is_initialised};
pub use twin::Twin;
