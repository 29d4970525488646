//! A file that is only read: opened without a trace where that is allowed, its holes known.

use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Bytes of a block as `stat` counts them, whatever the file system's own are.
const STAT_BLOCK_BYTES: u64 = 512;

/// Where buffers begin: a page of memory.
const ALIGNED_BYTES: usize = 4096;

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The system's number of the error; 0 where it has none.
    pub errno: i32,
    /// The system's words.
    pub message: String,
}

impl From<&Error> for Fault {
    fn from(error: &Error) -> Self {
        Self { errno: error.raw_os_error().unwrap_or(0), message: error.to_string() }
    }
}

/// An open regular file.
pub struct Source {
    file: File,
    size_bytes: u64,
    is_sparse: bool,
}

impl Source {
    /// Opens a regular file for reading, without touching its access time where the owner may ask for that.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let open = |flags: i32| {
            // Not blocking: opening a pipe that nobody writes to would wait for ever.
            OpenOptions::new().read(true).custom_flags(flags | libc::O_NONBLOCK).open(path)
        };
        let file = match open(libc::O_NOATIME) {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => open(0),
            other => other,
        }?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(Error::other("not a regular file"));
        }
        let size_bytes = found.len();
        Ok(Self { file, size_bytes, is_sparse: found.blocks() * STAT_BLOCK_BYTES < size_bytes })
    }

    /// Its size when it was opened.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Fills `buffer` from `offset` as far as the file goes. Returns how many bytes there were.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// The parts of `range` that are not holes, in order. All of it where the file system does not report holes.
    pub fn data(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut parts = Vec::new();
        if !self.is_sparse {
            parts.push(range);
            return parts;
        }
        let mut at = range.start;
        while at < range.end {
            let start = match self.seek(at, libc::SEEK_DATA) {
                Ok(start) if start < range.end => start,
                Ok(_) => break,
                Err(libc::ENXIO) => break, // nothing but a hole up to the end
                Err(_) => at,
            };
            let end = self.seek(start, libc::SEEK_HOLE).ok().filter(|end| *end > start).unwrap_or(range.end);
            parts.push(start..end.min(range.end));
            at = end;
        }
        parts
    }

    fn seek(&self, offset: u64, whence: i32) -> Result<u64, i32> {
        // SAFETY: the descriptor is open, and its position is nobody else's: every read here says its own.
        let found = unsafe { libc::lseek(self.file.as_raw_fd(), offset as libc::off_t, whence) };
        if found < 0 {
            return Err(Error::last_os_error().raw_os_error().unwrap_or(0));
        }
        Ok(found as u64)
    }
}

/// A buffer that begins at a page of memory and is used again for every read.
pub struct Buffer {
    bytes: Vec<u8>,
    skip: usize,
    length: usize,
}

impl Buffer {
    /// A buffer of `length` bytes.
    pub fn new(length: usize) -> Self {
        let bytes = vec![0; length + ALIGNED_BYTES];
        let skip = bytes.as_ptr().align_offset(ALIGNED_BYTES).min(ALIGNED_BYTES);
        Self { bytes, skip, length }
    }

    /// Its first `count` bytes.
    pub fn first(&mut self, count: usize) -> &mut [u8] {
        &mut self.bytes[self.skip..self.skip + count.min(self.length)]
    }
}
