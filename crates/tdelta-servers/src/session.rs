//! A twin's requests to a connection to a server, beyond the load loop.

use crate::failure::failure;
use crate::options::Options;
use std::ops::Range;
use std::sync::Arc;
use tdelta_core::client::{Client, ClientError};
use tdelta_core::data::{Table, TableChecksum};

/// A result: the columns' names, and each row's values as text (none for NULL).
pub type Rows = (Vec<String>, Vec<Vec<Option<String>>>);

/// The memory of one answer's rows, at most and roughly: settings and counters are read, never a table.
const MOST_KEPT_BYTES: usize = 64 << 20;

/// The memory of a value beside its text.
const VALUE_BYTES: usize = 32;

/// Rows of one answer in the making, which a server cannot make grow without end.
#[derive(Default)]
pub(crate) struct Kept {
    rows: Vec<Vec<Option<String>>>,
    bytes: usize,
}

impl Kept {
    /// Adds a row.
    ///
    /// # Errors
    /// Of kind `protocol`: it is too much.
    pub fn push(&mut self, row: Vec<Option<String>>) -> Result<(), ClientError> {
        self.bytes +=
            VALUE_BYTES + row.iter().map(|cell| VALUE_BYTES + cell.as_ref().map_or(0, String::len)).sum::<usize>();
        if self.bytes > MOST_KEPT_BYTES {
            let most = MOST_KEPT_BYTES >> 20;
            return Err(failure(
                "protocol",
                format!("the server sent more than {most} MiB of rows where few were expected"),
            ));
        }
        self.rows.push(row);
        Ok(())
    }

    /// All of them.
    pub fn into_rows(self) -> Vec<Vec<Option<String>>> {
        self.rows
    }
}

/// One connection that speaks a server's own protocol. Its errors never hold the password, and their kind is
/// `connection` wherever the server has gone.
pub trait Session: Client + Sized {
    /// Connects, proves who it is, runs the options' `setup`, and sees that it holds (`in_force`).
    ///
    /// # Errors
    /// Kinds `connection`, `tls`, `auth` (user or password), `denied` (rights), `unknown_database`, `settings`, and what
    /// `setup` says.
    fn open(options: Arc<Options>) -> Result<Self, ClientError>;

    /// Runs one statement of any sort to its end, however long that takes. Results are dropped.
    ///
    /// # Errors
    /// An error of the server.
    fn run(&mut self, sql: &str) -> Result<(), ClientError>;

    /// Runs one statement and keeps all that it answers (nothing where it answers no rows), within the options'
    /// `answer_seconds`.
    ///
    /// # Errors
    /// An error of the server.
    fn rows(&mut self, sql: &str) -> Result<Rows, ClientError>;

    /// Sees that the session has the settings that the options name. A `\connect` within a load is not checked again: it
    /// runs the same `setup`, and it is measured.
    ///
    /// # Errors
    /// Of kind `settings`: it has not.
    fn require_in_force(&mut self, options: &Options) -> Result<(), ClientError> {
        let Some(wanted) = &options.in_force else { return Ok(()) };
        let (_, rows) = self.rows(&wanted.sql)?;
        wanted.check(rows.first().map_or(&[], Vec::as_slice))
    }

    /// The first value of what a statement answers; empty for NULL and for no row.
    ///
    /// # Errors
    /// An error of the server.
    fn text(&mut self, sql: &str) -> Result<String, ClientError> {
        let (_, rows) = self.rows(sql)?;
        Ok(rows.into_iter().next().and_then(|row| row.into_iter().next()).flatten().unwrap_or_default())
    }

    /// Whether several streams may fill one table at once. Where rows lie in the order of their arrival this must not be, or
    /// twins would hold the same rows in other places.
    const CUTS_TABLES: bool = true;

    /// Fills a table with the rows of `range` that its plan generates, by the server's fastest way for many rows.
    ///
    /// # Errors
    /// An error of the server.
    fn load(&mut self, table: &Table, seed: u64, range: Range<u64>) -> Result<(), ClientError>;

    /// The checksum of what a table holds. It equals that of the generated rows: integers are hashed as integers, doubles as
    /// doubles, text as text, bytes as bytes.
    ///
    /// # Errors
    /// An error of the server.
    fn checksum(&mut self, table: &str, columns: &[String]) -> Result<TableChecksum, ClientError>;
}
