//! Rows on their way through every kind of file, held there while someone looks.
//!
//! A connection of its own runs statements to their end and leaves others open at their first row. What they hold (a
//! transaction, a snapshot, a temporary file) stands until the exposure is dropped, which rolls back what is open.

use crate::connection::{Connection, Options, WriteQueue};
use crate::statement::{failure, Prepared};
use std::sync::Arc;
use tdelta_core::client::ClientError;

/// An extra connection with open statements.
pub struct Exposure {
    /// Declared first: statements are finalized before their connection closes.
    _cursors: Vec<Prepared>,
    _connection: Connection,
}

impl Exposure {
    /// Opens the file once more, runs `statements` and stops each of `cursors` at its first row.
    ///
    /// # Errors
    /// An error of SQLite, or that a cursor has no row to stop at.
    pub fn open(options: Options, statements: &[String], cursors: &[String]) -> Result<Self, ClientError> {
        let connection = Connection::open(Arc::new(options), WriteQueue::new())?;
        statements.iter().try_for_each(|sql| connection.run(sql))?;
        let stopped = |sql: &String| {
            let cursor = connection.prepare_one(sql)?;
            if !cursor.step()? {
                return Err(failure("no_row", format!("expected a row of '{sql}' and found none")));
            }
            Ok(cursor)
        };
        let cursors = cursors.iter().map(stopped).collect::<Result<_, ClientError>>()?;
        Ok(Self { _cursors: cursors, _connection: connection })
    }
}
