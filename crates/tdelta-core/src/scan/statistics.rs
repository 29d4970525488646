//! The kind of bytes in a file: by block, whether they look random, are zeros, or carry little information; and how
//! much of the file is printable text.
//!
//! Encrypted bytes are uniform, and so are well compressed ones: nothing here can distinguish the two.

use super::crew::{self, Crew};
use super::source::{Buffer, Fault, Source};
use serde::Serialize;
use std::io::Error;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Blocks of the second size hold so many of the first.
const PER_LARGE: usize = 16;

/// Large blocks that are read at once.
const LARGE_AT_ONCE: usize = 4;

/// Blocks shorter than this (the last of a file) are not judged: the chi-square of fewer bytes says little.
const JUDGED_BYTES: usize = 1024;

/// Bits a byte up to which a block counts as low in entropy. English text has 4 to 5, Base64 has 6, machine code about 6,
/// a block of 4096 random bytes 7.95.
const LOW_BITS: f64 = 6.5;

/// How many standard deviations of a cube root of a chi-square (Wilson and Hilferty 1931) still look random: less than one
/// block of random bytes in 10⁸ lies outside.
const DEVIATIONS: f64 = 6.0;

/// Printable runs of at least so many bytes count as text.
const TEXT_BYTES: u64 = 8;

/// How many blocks of one size look like what.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BlockKinds {
    /// The size, bytes.
    pub block_bytes: usize,
    /// All blocks.
    pub blocks: u64,
    /// Bytes as evenly spread as random ones.
    pub random: u64,
    /// Nothing but zeros.
    pub zero: u64,
    /// At most 6.5 bits a byte, and not all zeros.
    pub low: u64,
    /// None of these.
    pub between: u64,
    /// Too short to be judged.
    pub short: u64,
    /// The least entropy of a judged block that is not all zeros, bits a byte; none if there is no such block.
    pub entropy_least_bits: Option<f64>,
    /// The mean entropy of these blocks.
    pub entropy_mean_bits: Option<f64>,
}

/// The kind of bytes in one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FileBytes {
    /// Its size when it was opened.
    pub size_bytes: u64,
    /// Bytes looked at, holes (which are zeros) included.
    pub scanned_bytes: u64,
    /// Zeros among them.
    pub zero_bytes: u64,
    /// Shannon entropy of the whole file's bytes, bits a byte; none for an empty file.
    pub entropy_bits: Option<f64>,
    /// Chi-square of the whole file's bytes against a uniform distribution, 255 degrees of freedom.
    pub chi_square: Option<f64>,
    /// Runs of at least 8 printable ASCII bytes.
    pub printable_strings: u64,
    /// Bytes in such runs.
    pub printable_bytes: u64,
    /// The longest of them; 0 if there is none.
    pub longest_printable_bytes: u64,
    /// By block, of the requested size and of 16 times that.
    pub by_block: [BlockKinds; 2],
    /// Why it could not be read (or not to its end).
    pub fault: Option<Fault>,
}

/// Reads files with up to `threads` threads, each file by one; `watch` as for [`super::search`].
pub fn statistics(
    paths: &[PathBuf],
    block_bytes: usize,
    threads: usize,
    watch: &mut dyn FnMut(u64) -> bool,
) -> Option<Vec<FileBytes>> {
    let found: Vec<Mutex<FileBytes>> = paths.iter().map(|_| Mutex::default()).collect();
    let numbered: Vec<(usize, &PathBuf)> = paths.iter().enumerate().collect();
    let tools = || Buffer::new(block_bytes * PER_LARGE * LARGE_AT_ONCE);
    let is_done = crew::run(&numbered, threads, watch, tools, |(file, path), buffer, crew| {
        let one = read(path, block_bytes, buffer, crew);
        *found[*file].lock().unwrap_or_else(PoisonError::into_inner) = one;
    });
    is_done.then(|| found.into_iter().map(|one| one.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}

fn read(path: &Path, block_bytes: usize, buffer: &mut Buffer, crew: &Crew) -> FileBytes {
    let mut tally = Tally::new(block_bytes);
    let outcome = Source::open(path).and_then(|source| tally.source(&source, buffer, crew));
    tally.finish(outcome)
}

struct Tally {
    file: FileBytes,
    total: [u64; 256],
    text: Text,
    entropy: Entropy,
    entropy_sums: [f64; 2],
}

impl Tally {
    fn new(block_bytes: usize) -> Self {
        let kinds = |times: usize| BlockKinds { block_bytes: block_bytes * times, ..BlockKinds::default() };
        Self {
            file: FileBytes { by_block: [kinds(1), kinds(PER_LARGE)], ..FileBytes::default() },
            total: [0; 256],
            text: Text::default(),
            entropy: Entropy::new(block_bytes),
            entropy_sums: [0.0; 2],
        }
    }

    fn source(&mut self, source: &Source, buffer: &mut Buffer, crew: &Crew) -> Result<(), Error> {
        self.file.size_bytes = source.size_bytes();
        let at_once = self.file.by_block[1].block_bytes * LARGE_AT_ONCE;
        let mut at = 0;
        while at < source.size_bytes() && !crew.is_stopped() {
            let wanted = (source.size_bytes() - at).min(at_once as u64) as usize;
            let filled = if source.data(at..at + wanted as u64).is_empty() {
                self.hole(wanted);
                wanted
            } else {
                let chunk = buffer.first(wanted);
                let filled = source.read_at(chunk, at)?;
                self.chunk(&chunk[..filled]);
                filled
            };
            crew.read(filled as u64);
            if filled < wanted {
                break; // it has shrunk
            }
            at += wanted as u64;
        }
        Ok(())
    }

    /// Takes the next bytes of the file; all but the last are whole blocks of the larger size.
    fn chunk(&mut self, bytes: &[u8]) {
        self.file.scanned_bytes += bytes.len() as u64;
        self.text.chunk(bytes);
        for large in bytes.chunks(self.file.by_block[1].block_bytes) {
            let mut sum = [0u32; 256];
            for small in large.chunks(self.file.by_block[0].block_bytes) {
                let counts = histogram(small);
                self.block(0, &counts, small.len());
                sum.iter_mut().zip(&counts).for_each(|(sum, count)| *sum += count);
            }
            self.block(1, &sum, large.len());
            self.total.iter_mut().zip(&sum).for_each(|(total, count)| *total += u64::from(*count));
        }
    }

    /// Takes a hole: nothing is read, since it can only be zeros.
    fn hole(&mut self, length: usize) {
        self.file.scanned_bytes += length as u64;
        self.total[0] += length as u64;
        self.text.end_run(0);
        for kinds in &mut self.file.by_block {
            let (whole, rest) = (length / kinds.block_bytes, length % kinds.block_bytes);
            kinds.blocks += (whole + usize::from(rest > 0)) as u64;
            kinds.zero += whole as u64;
            match rest {
                0 => {}
                1..JUDGED_BYTES => kinds.short += 1,
                _ => kinds.zero += 1,
            }
        }
    }

    fn block(&mut self, size: usize, counts: &[u32; 256], length: usize) {
        let kinds = &mut self.file.by_block[size];
        kinds.blocks += 1;
        if length < JUDGED_BYTES {
            kinds.short += 1;
            return;
        }
        if counts[0] as usize == length {
            kinds.zero += 1;
            return;
        }
        let bits = self.entropy.bits(counts, length);
        if looks_random(chi_square(counts.iter().map(|count| u64::from(*count)), length as f64)) {
            kinds.random += 1;
        } else if bits <= LOW_BITS {
            kinds.low += 1;
        } else {
            kinds.between += 1;
        }
        kinds.entropy_least_bits = Some(kinds.entropy_least_bits.map_or(bits, |least| least.min(bits)));
        self.entropy_sums[size] += bits;
    }

    fn finish(mut self, outcome: Result<(), Error>) -> FileBytes {
        self.text.end_run(0);
        let mut file = self.file;
        file.fault = outcome.err().map(|error| (&error).into());
        (file.printable_strings, file.printable_bytes) = (self.text.strings, self.text.bytes);
        file.longest_printable_bytes = self.text.longest;
        for (kinds, sum) in file.by_block.iter_mut().zip(self.entropy_sums) {
            let judged = kinds.random + kinds.low + kinds.between;
            kinds.entropy_mean_bits = (judged > 0).then(|| sum / judged as f64);
        }
        file.zero_bytes = self.total[0];
        let count: u64 = self.total.iter().sum();
        if count > 0 {
            file.entropy_bits = Some(entropy_of(self.total.iter().map(|count| *count as f64), count as f64));
            file.chi_square = Some(chi_square(self.total.into_iter(), count as f64));
        }
        file
    }
}

/// How often each byte occurs. Four tables in turns: one alone would wait for its own last store.
fn histogram(block: &[u8]) -> [u32; 256] {
    let mut tables = [[0u32; 256]; 4];
    let mut fours = block.chunks_exact(4);
    for four in &mut fours {
        for (table, byte) in tables.iter_mut().zip(four) {
            table[usize::from(*byte)] += 1;
        }
    }
    fours.remainder().iter().for_each(|byte| tables[0][usize::from(*byte)] += 1);
    let [mut sum, others @ ..] = tables;
    others.iter().for_each(|table| sum.iter_mut().zip(table).for_each(|(sum, count)| *sum += count));
    sum
}

/// Pearson's chi-square against a uniform distribution over 256 values.
fn chi_square(counts: impl Iterator<Item = u64>, length: f64) -> f64 {
    let squares: f64 = counts.map(|count| (count as f64) * (count as f64)).sum();
    squares * 256.0 / length - length
}

/// Whether a chi-square of 255 degrees of freedom is what random bytes have: neither too large nor too small.
fn looks_random(chi_square: f64) -> bool {
    const FREEDOM: f64 = 255.0;
    let spread = 2.0 / (9.0 * FREEDOM);
    ((chi_square / FREEDOM).cbrt() - (1.0 - spread)).abs() <= DEVIATIONS * spread.sqrt()
}

fn entropy_of(counts: impl Iterator<Item = f64>, length: f64) -> f64 {
    let sum: f64 = counts.filter(|count| *count > 0.0).map(|count| count * count.log2()).sum();
    (length.log2() - sum / length).max(0.0)
}

/// Shannon entropy of small blocks by a table of c·log₂ c, since a logarithm for each of 256 counts would cost more than
/// counting.
struct Entropy {
    table: Vec<f64>,
}

impl Entropy {
    fn new(largest: usize) -> Self {
        let term = |count: usize| if count == 0 { 0.0 } else { count as f64 * (count as f64).log2() };
        Self { table: (0..=largest).map(term).collect() }
    }

    fn bits(&self, counts: &[u32; 256], length: usize) -> f64 {
        if length >= self.table.len() {
            return entropy_of(counts.iter().map(|count| f64::from(*count)), length as f64);
        }
        let sum: f64 = counts.iter().map(|count| self.table[*count as usize]).sum();
        ((length as f64).log2() - sum / length as f64).max(0.0)
    }
}

/// Runs of printable ASCII, whatever chunks they come in.
#[derive(Default)]
struct Text {
    strings: u64,
    bytes: u64,
    longest: u64,
    /// The run that reached the end of the last chunk.
    open: u64,
}

fn is_printable(byte: u8) -> bool {
    (0x20..0x7f).contains(&byte)
}

impl Text {
    fn chunk(&mut self, bytes: &[u8]) {
        let Some(first) = bytes.iter().position(|byte| !is_printable(*byte)) else {
            self.open += bytes.len() as u64;
            return;
        };
        self.end_run(first as u64);
        // There is a byte that is not printable, so this finds one.
        let last = bytes.iter().rposition(|byte| !is_printable(*byte)).unwrap_or(first);
        self.open = (bytes.len() - 1 - last) as u64;
        self.between(&bytes[first..=last]);
    }

    /// Ends the open run, which `more` printable bytes belong to.
    fn end_run(&mut self, more: u64) {
        let run = std::mem::take(&mut self.open) + more;
        self.run(run);
    }

    fn run(&mut self, length: u64) {
        if length >= TEXT_BYTES {
            self.strings += 1;
            self.bytes += length;
            self.longest = self.longest.max(length);
        }
    }

    /// Runs within `bytes`, whose first and last byte are not printable. A run that counts cannot pass between bytes that
    /// lie 8 apart, so on random bytes only every eighth is looked at.
    fn between(&mut self, bytes: &[u8]) {
        let step = TEXT_BYTES as usize;
        let mut at = step;
        while at < bytes.len() {
            if !is_printable(bytes[at]) {
                at += step;
                continue;
            }
            let mut start = at;
            while is_printable(bytes[start - 1]) {
                start -= 1;
            }
            let mut end = at + 1;
            while is_printable(bytes[end]) {
                end += 1;
            }
            self.run((end - start) as u64);
            at = end + step;
        }
    }
}
