//! Times page after page, cell by cell, in passes: each pass runs one batch of every cell, in an order drawn anew, so
//! that a noisy moment does not fall on one cell alone.
//!
//! Before anything is timed each cell is checked: what it decrypts is what was encrypted, and GCM turns down a page whose
//! tag is wrong. Half of a ring's bytes are read and half are written; a cell walks round its pages.

use crate::cipher::{Cipher, Iv, Mac, Tag, LONGEST_CODE_BYTES};
use crate::library::Library;
use crate::ring::Ring;
use crate::task::{Algorithm, Direction, Mode, Task};
use crate::Fault;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use tdelta_core::draw::Rng;
use tdelta_core::process::{monotonic_ns, thread_cpu_ns};

// What is drawn, one stream each.
const PAGES: u64 = 1;
const IVS: u64 = 2;
const KEYS: u64 = 3;
const ORDER: u64 = 4;

const FEWEST_PAGES: usize = 2;
const LARGEST_RING_BYTES: usize = 1 << 30;

/// The measurement to make.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// A libcrypto by its path; None takes the machine's.
    pub library: Option<String>,
    /// The cells.
    pub tasks: Vec<Task>,
    /// Bytes that a cell walks through, read and written together; at least two pages are read whatever it says.
    pub ring_bytes: usize,
    /// How much CPU time a batch should take.
    pub batch_ns: u64,
    /// Draws pages, IVs, keys and the order.
    pub seed: u64,
}

/// The cost of one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Batch {
    /// Which task of the plan.
    pub task: usize,
    /// Pages in it.
    pub pages: u64,
    /// CPU time of the thread.
    pub cpu_ns: u64,
    /// Time on the wall.
    pub elapsed_ns: u64,
}

/// All cells of a plan, ready to be timed.
pub struct Meter {
    library: Library,
    cells: Vec<Cell>,
    memory: Memory,
    seed: u64,
}

/// The cells' common memory: pages to read, pages to write, an IV for each page.
struct Memory {
    plain: Ring,
    output: Ring,
    ivs: Vec<Iv>,
}

struct Cell {
    task: Task,
    work: Work,
    /// Pages that it walks through, and the one it is at.
    count: usize,
    cursor: usize,
    batch_pages: u64,
    /// The input of a decrypting cell.
    coded: Option<Ring>,
    tags: Vec<Tag>,
}

enum Work {
    Cipher(Cipher),
    Mac(Mac),
}

impl Meter {
    /// Loads the library, makes each cell's keys and pages, checks it, and finds out how many pages fill a batch.
    ///
    /// # Errors
    /// Of kind `plan`, `library`, `cipher` or `wrong`.
    pub fn new(plan: &Plan) -> Result<Self, Fault> {
        check(plan)?;
        let library = Library::open(plan.library.as_deref())?;
        let half_ring_bytes = plan.ring_bytes / 2;
        let mut memory = Memory::new(&plan.tasks, half_ring_bytes, plan.seed);
        let mut cells = Vec::with_capacity(plan.tasks.len());
        for (index, task) in plan.tasks.iter().enumerate() {
            let mut cell = Cell::new(library, *task, half_ring_bytes, &memory, plan.seed, index)?;
            cell.batch_pages = cell.pages_in(plan.batch_ns, &mut memory)?;
            cells.push(cell);
        }
        Ok(Self { library, cells, memory, seed: plan.seed })
    }

    /// The library that is measured.
    #[must_use]
    pub fn library(&self) -> Library {
        self.library
    }

    /// One batch of every cell, in the order drawn for pass `index`; fewer if `stop` is set meanwhile.
    ///
    /// # Errors
    /// Of kind `cipher` or `tag`, which a page that was checked before does not raise.
    pub fn pass(&mut self, index: u64, stop: &AtomicBool) -> Result<Vec<Batch>, Fault> {
        let mut batches = Vec::with_capacity(self.cells.len());
        for task in drawn_order(self.cells.len(), self.seed, index) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let cell = &mut self.cells[task];
            cell.touch(&self.memory);
            let pages = cell.batch_pages;
            let (cpu_ns, elapsed_ns) = cell.timed(pages, &mut self.memory)?;
            batches.push(Batch { task, pages, cpu_ns, elapsed_ns });
        }
        Ok(batches)
    }
}

fn check(plan: &Plan) -> Result<(), Fault> {
    if plan.ring_bytes > LARGEST_RING_BYTES {
        let message = format!("expected a ring of at most {LARGEST_RING_BYTES} bytes, found {}", plan.ring_bytes);
        return Err(Fault::new("plan", message));
    }
    plan.tasks.iter().try_for_each(Task::check)
}

fn page_count(page_bytes: usize, half_ring_bytes: usize) -> usize {
    (half_ring_bytes / page_bytes).max(FEWEST_PAGES)
}

/// A permutation of `0..count` (Fisher and Yates).
fn drawn_order(count: usize, seed: u64, pass: u64) -> Vec<usize> {
    let mut rng = Rng::new(seed, ORDER, pass);
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, rng.between(0, last as i64) as usize);
    }
    order
}

impl Memory {
    fn new(tasks: &[Task], half_ring_bytes: usize, seed: u64) -> Self {
        let counts = tasks.iter().map(|task| (task.page_bytes, page_count(task.page_bytes, half_ring_bytes)));
        let length = counts.clone().map(|(page_bytes, count)| page_bytes * count).max().unwrap_or(0);
        let mut rng = Rng::new(seed, IVS, 0);
        let ivs = (0..counts.map(|(_, count)| count).max().unwrap_or(0)).map(|_| drawn_block(&mut rng)).collect();
        Self { plain: Ring::drawn(length, &mut Rng::new(seed, PAGES, 0)), output: Ring::zeroed(length), ivs }
    }
}

fn drawn_block(rng: &mut Rng) -> [u8; 16] {
    let bits = u128::from(rng.bits()) << 64 | u128::from(rng.bits());
    bits.to_le_bytes()
}

impl Cell {
    fn new(
        library: Library,
        task: Task,
        half_ring_bytes: usize,
        memory: &Memory,
        seed: u64,
        index: usize,
    ) -> Result<Self, Fault> {
        let mut rng = Rng::new(seed, KEYS, index as u64);
        let count = page_count(task.page_bytes, half_ring_bytes);
        let (mut coded, mut tags) = (None, vec![Tag::default(); count]);
        let work = match task.mode {
            None => Work::Mac(checked_mac(library, task, &drawn_key(task.algorithm.key_bytes(), &mut rng), memory)?),
            Some(mode) => {
                let key = drawn_key(Cipher::key_bytes(task.algorithm, mode), &mut rng);
                let mut pair = Pair::new(library, task.algorithm, mode, &key)?;
                pair.check(task, [0, count - 1], memory)?;
                if task.direction == Direction::Decrypt {
                    coded = Some(pair.encrypted(task.page_bytes, &mut tags, memory)?);
                }
                Work::Cipher(if task.direction == Direction::Decrypt { pair.decrypter } else { pair.encrypter })
            }
        };
        Ok(Self { task, work, count, cursor: 0, batch_pages: 1, coded, tags })
    }

    fn touch(&self, memory: &Memory) {
        let length = self.count * self.task.page_bytes;
        self.coded.as_ref().unwrap_or(&memory.plain).touch(length);
        memory.output.touch(length);
    }

    /// Runs `pages` pages: CPU time of the thread and time on the wall, ns.
    fn timed(&mut self, pages: u64, memory: &mut Memory) -> Result<(u64, u64), Fault> {
        let elapsed = monotonic_ns();
        let cpu = thread_cpu_ns();
        for _ in 0..pages {
            self.page(memory)?;
        }
        let cpu_ns = thread_cpu_ns() - cpu;
        Ok((cpu_ns, monotonic_ns() - elapsed))
    }

    #[inline]
    fn page(&mut self, memory: &mut Memory) -> Result<(), Fault> {
        let (index, page_bytes) = (self.cursor, self.task.page_bytes);
        self.cursor = if index + 1 == self.count { 0 } else { index + 1 };
        let input = self.coded.as_ref().unwrap_or(&memory.plain).page(index, page_bytes);
        match &mut self.work {
            Work::Cipher(cipher) => {
                let output = memory.output.page_mut(index, page_bytes);
                cipher.page(&memory.ivs[index], input, output, &mut self.tags[index])
            }
            Work::Mac(mac) => mac.page(input, &mut [0; LONGEST_CODE_BYTES]).map(drop),
        }
    }

    /// How many pages take about `batch_ns` of CPU time, at least one. Doubles until a quarter of that is reached.
    fn pages_in(&mut self, batch_ns: u64, memory: &mut Memory) -> Result<u64, Fault> {
        let mut pages = 1;
        loop {
            let (cpu_ns, _) = self.timed(pages, memory)?; // not elapsed: a core taken away would make batches too short
            if cpu_ns >= batch_ns / 4 {
                return Ok((pages as f64 * batch_ns as f64 / cpu_ns.max(1) as f64).round().max(1.0) as u64);
            }
            pages *= 2;
        }
    }
}

fn drawn_key(length: usize, rng: &mut Rng) -> Vec<u8> {
    (0..length).map(|_| rng.bits() as u8).collect()
}

/// Both directions under one key.
struct Pair {
    encrypter: Cipher,
    decrypter: Cipher,
    is_gcm: bool,
}

impl Pair {
    fn new(library: Library, algorithm: Algorithm, mode: Mode, key: &[u8]) -> Result<Self, Fault> {
        let make = |direction| Cipher::new(library, algorithm, mode, direction, key);
        Ok(Self {
            encrypter: make(Direction::Encrypt)?,
            decrypter: make(Direction::Decrypt)?,
            is_gcm: mode == Mode::Gcm,
        })
    }

    /// Whether these pages decrypt to what they were, and a flipped tag is turned down.
    fn check(&mut self, task: Task, pages: [usize; 2], memory: &Memory) -> Result<(), Fault> {
        let wrong = |found: &str| Fault::new("wrong", format!("{task}: expected the page back, found {found}"));
        let (mut coded, mut back) = (vec![0; task.page_bytes], vec![0; task.page_bytes]);
        for index in pages {
            let (plain, iv) = (memory.plain.page(index, task.page_bytes), &memory.ivs[index]);
            let mut tag = Tag::default();
            self.encrypter.page(iv, plain, &mut coded, &mut tag)?;
            self.decrypter.page(iv, &coded, &mut back, &mut tag)?;
            if back != plain {
                return Err(wrong("another one"));
            }
            if coded == plain {
                return Err(wrong("that it was never encrypted"));
            }
            tag[0] ^= 1;
            if self.is_gcm && !self.decrypter.page(iv, &coded, &mut back, &mut tag).is_err_and(|f| f.kind == "tag") {
                return Err(wrong("that a wrong tag passes"));
            }
        }
        Ok(())
    }

    /// A ring of encrypted pages, as many as there are tags, which are set.
    fn encrypted(&mut self, page_bytes: usize, tags: &mut [Tag], memory: &Memory) -> Result<Ring, Fault> {
        let mut coded = Ring::zeroed(page_bytes * tags.len());
        for (index, tag) in tags.iter_mut().enumerate() {
            let plain = memory.plain.page(index, page_bytes);
            self.encrypter.page(&memory.ivs[index], plain, coded.page_mut(index, page_bytes), tag)?;
        }
        Ok(coded)
    }
}

/// An HMAC of which two pages' codes differ, and one page's code is the same again.
fn checked_mac(library: Library, task: Task, key: &[u8], memory: &Memory) -> Result<Mac, Fault> {
    let mut mac = Mac::new(library, task.algorithm, key)?;
    let mut code_of = |index| {
        let mut code = [0; LONGEST_CODE_BYTES];
        mac.page(memory.plain.page(index, task.page_bytes), &mut code).map(|length| (code, length))
    };
    let (first, second, again) = (code_of(0)?, code_of(1)?, code_of(0)?);
    if first == second || first != again {
        return Err(Fault::new("wrong", format!("{task}: expected one code for each page, found otherwise")));
    }
    Ok(mac)
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
