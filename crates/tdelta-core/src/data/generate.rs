//! Rows made by several threads, handed over in order, in bounded memory.

use std::ops::Range;
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender, SyncSender};
use std::thread;

use super::plan::Table;
use crate::value::Value;

/// Rows a chunk holds (the last one of a table fewer).
pub const CHUNK_ROWS: u64 = 1024;

/// Chunks a thread may be ahead of the caller.
const AHEAD: usize = 2;

/// Consecutive rows of one table, their values end to end. Chunks are used again, with the memory of their texts.
#[derive(Debug, Default)]
pub struct Chunk {
    first: u64,
    columns: usize,
    values: Vec<Value>,
}

impl Chunk {
    /// The index of the first row, from 0.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The rows, each a slice with one value a column.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[Value]> {
        self.values.chunks_exact(self.columns)
    }

    fn fill(&mut self, table: &Table, seed: u64, number: u64) {
        self.fill_rows(table, seed, number * CHUNK_ROWS, table.rows);
    }

    /// Fills it with rows from `first` on, up to `end` at most.
    fn fill_rows(&mut self, table: &Table, seed: u64, first: u64, end: u64) {
        self.first = first;
        self.columns = table.columns.len();
        let last = (first + CHUNK_ROWS).min(end);
        self.values.resize_with((last - self.first) as usize * self.columns, Value::default);
        for (index, row) in (self.first..last).zip(self.values.chunks_exact_mut(self.columns)) {
            table.fill(seed, index, row);
        }
    }
}

impl Table {
    /// Makes every row with `threads` threads and gives them to `take`, in order, in the caller's thread.
    ///
    /// At most a few chunks a thread exist at once. An error of `take` ends the work and is returned; a panic of a
    /// generating thread is a defect and is passed on.
    pub fn generate<E, F>(&self, seed: u64, threads: usize, take: F) -> Result<(), E>
    where
        F: FnMut(&Chunk) -> Result<(), E>,
    {
        let make = |number, chunk: &mut Chunk| chunk.fill(self, seed, number);
        in_order(self.rows.div_ceil(CHUNK_ROWS), threads, make, take)
    }

    /// Makes every row as [`Table::generate`] does, and gives `take` what `convert` made of each chunk in the thread that
    /// generated it. What `convert` writes to is used again, and holds what an earlier chunk left there.
    pub fn generate_as<T, E, C, F>(&self, seed: u64, threads: usize, convert: C, mut take: F) -> Result<(), E>
    where
        T: Default + Send,
        C: Fn(&Chunk, &mut T) + Sync,
        F: FnMut(&T) -> Result<(), E>,
    {
        let make = |number, (chunk, made): &mut (Chunk, T)| {
            chunk.fill(self, seed, number);
            convert(chunk, made);
        };
        in_order(self.rows.div_ceil(CHUNK_ROWS), threads, make, |(_, made)| take(made))
    }

    /// Makes the rows of `range` in the caller's thread and gives them to `take`, in order: one stream of several that
    /// fill a table together.
    ///
    /// # Errors
    /// The first of `take`'s, which ends the work.
    pub fn generate_range<E>(
        &self,
        seed: u64,
        range: Range<u64>,
        mut take: impl FnMut(&Chunk) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut chunk = Chunk::default();
        let end = range.end.min(self.rows);
        for first in (range.start..end).step_by(CHUNK_ROWS as usize) {
            chunk.fill_rows(self, seed, first, end);
            take(&chunk)?;
        }
        Ok(())
    }
}

/// Makes `count` things with `threads` threads and gives them to `take`, in order, in the caller's thread.
fn in_order<T, E>(
    count: u64,
    threads: usize,
    make: impl Fn(u64, &mut T) + Sync,
    mut take: impl FnMut(&T) -> Result<(), E>,
) -> Result<(), E>
where
    T: Default + Send,
{
    let workers = count.min(threads.max(1) as u64);
    if workers <= 1 {
        let mut thing = T::default();
        return (0..count).try_for_each(|number| {
            make(number, &mut thing);
            take(&thing)
        });
    }
    thread::scope(|scope| {
        let make = &make;
        let lanes: Vec<Lane<T>> = (0..workers)
            .map(|worker| {
                let (lane, made, used) = Lane::new();
                let numbers = (worker..count).step_by(workers as usize);
                scope.spawn(move || work(make, numbers, &made, &used));
                lane
            })
            .collect();
        // Dropping the lanes on an error makes the workers' next send fail, which ends them.
        for lane in lanes.iter().cycle().take(count as usize) {
            let Ok(thing) = lane.made.recv() else { break };
            take(&thing)?;
            // A worker that has made its last one is gone and needs none back.
            let _ = lane.used.send(thing);
        }
        Ok(())
    })
}

/// One thread's share: every `workers`-th of them, in order, so that the caller knows where the next one comes from.
fn work<T: Default>(
    make: impl Fn(u64, &mut T),
    numbers: impl Iterator<Item = u64>,
    made: &SyncSender<T>,
    used: &Receiver<T>,
) {
    for number in numbers {
        let mut thing = used.try_recv().unwrap_or_default();
        make(number, &mut thing);
        if made.send(thing).is_err() {
            return;
        }
    }
}

/// The caller's ends of the two channels to one worker: what was made, and what to use again.
struct Lane<T> {
    made: Receiver<T>,
    used: Sender<T>,
}

impl<T> Lane<T> {
    fn new() -> (Self, SyncSender<T>, Receiver<T>) {
        let (made_in, made) = sync_channel(AHEAD);
        let (used, used_out) = channel();
        (Self { made, used }, made_in, used_out)
    }
}
