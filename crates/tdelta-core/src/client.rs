//! The interface of a database connection to the load loop, and a client that does nothing.

use crate::breaker::Breaker;
use crate::script::{Kind, Program, Statement};
use crate::value::Value;
use std::collections::BTreeMap;

/// Why a statement failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientError {
    /// A short stable name, by which failures are counted: `busy`, `constraint`, `full`, …
    pub kind: String,
    /// The engine's message.
    pub message: String,
    /// Whether the same transaction may succeed when tried again (a lock, a deadlock). Nothing of it is committed then.
    pub retryable: bool,
}

/// One connection. Statements are named by (program, statement) as prepared.
pub trait Client: Send {
    /// Prepares every statement of every program, in order. Called before the first trial.
    ///
    /// # Errors
    /// A statement that the engine does not take.
    fn prepare(&mut self, programs: &[Program]) -> Result<(), ClientError>;

    /// Runs one statement to its end, fetching every column of every row as an application would. `write` says that the
    /// transaction changes rows, so that it can be opened for writing. With `\gset`, the first row goes into `slots`.
    /// Returns the number of rows fetched.
    ///
    /// # Errors
    /// An error of the engine; `no_row` if `\gset` got none.
    fn execute(
        &mut self,
        at: (usize, usize),
        statement: &Statement,
        write: bool,
        slots: &mut [Value],
    ) -> Result<u64, ClientError>;

    /// Closes the connection, opens it anew as it was opened at first, and prepares every program again. What the engine
    /// counted on the old connection stays for the next [`Client::take_counters`].
    ///
    /// # Errors
    /// As when it was opened. The connection may then be closed for good.
    fn connect(&mut self, programs: &[Program]) -> Result<(), ClientError>;

    /// Leaves any open transaction, without failing.
    fn abandon(&mut self);

    /// Makes sure that nothing of the database is in any cache. The loop calls it between operations of a cold trial, and
    /// leaves out what it takes.
    ///
    /// # Errors
    /// An error of the engine or the system; or that this client cannot.
    fn cool(&mut self) -> Result<(), ClientError> {
        let message = "this client cannot make caches cold between operations".into();
        Err(ClientError { kind: "value".into(), message, retryable: false })
    }

    /// Whether the engine does its statements in other threads of this process, too. They are then long enough to read
    /// clocks around each, and where one connection is at work their CPU time is the process's.
    fn is_spread(&self) -> bool {
        false
    }

    /// Whether the engine works in another process, whose CPU time is not the client's.
    fn is_remote(&self) -> bool {
        false
    }

    /// Has this connection's statements fail that do not end by themselves; nothing where that cannot be done.
    fn breaker(&self) -> Option<Breaker> {
        None
    }

    /// Does a connection's part of a trial on a thread that the loop made for it and that ends with it.
    fn attend<R: Send>(&mut self, part: impl FnOnce(&mut Self) -> R + Send) -> R
    where
        Self: Sized,
    {
        part(self)
    }

    /// The engine's own counters since the last call, by name.
    fn take_counters(&mut self) -> BTreeMap<String, i64>;
}

/// A client without a database: what is left is the cost of the loop itself.
#[derive(Debug, Default)]
pub struct Noop {
    executed: i64,
}

impl Client for Noop {
    fn prepare(&mut self, _programs: &[Program]) -> Result<(), ClientError> {
        Ok(())
    }

    #[inline]
    fn execute(
        &mut self,
        at: (usize, usize),
        statement: &Statement,
        write: bool,
        slots: &mut [Value],
    ) -> Result<u64, ClientError> {
        std::hint::black_box((at, write, &statement.parameters, &*slots));
        if let (Kind::Query, Some(into)) = (statement.kind, &statement.into) {
            for slot in into.values() {
                slots[*slot] = Value::Int(1);
            }
        }
        self.executed += 1;
        Ok(0)
    }

    fn connect(&mut self, _programs: &[Program]) -> Result<(), ClientError> {
        Ok(())
    }

    fn abandon(&mut self) {}

    fn take_counters(&mut self) -> BTreeMap<String, i64> {
        BTreeMap::from([("statements".into(), std::mem::take(&mut self.executed))])
    }
}
