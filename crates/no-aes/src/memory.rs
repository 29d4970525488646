//! This process's own memory through `/proc/self/mem`, so that a library that goes away meanwhile is a failed read and
//! not a crash. A write there does what a debugger's does to a page that can be executed and not written: the page stays
//! as it is, never both and never neither, whatever other threads run on it; and where a kernel forbids it
//! (`proc_mem.force_override=never`), nothing has happened yet.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

/// The kernel's file of this process's memory.
pub struct OwnMemory(File);

impl OwnMemory {
    /// Opens it for reading and writing.
    pub fn open() -> io::Result<Self> {
        Ok(Self(OpenOptions::new().read(true).write(true).open("/proc/self/mem")?))
    }

    /// A copy of some bytes.
    pub fn copy(&self, address: usize, bytes: usize) -> io::Result<Vec<u8>> {
        let mut copy = vec![0; bytes];
        self.0.read_exact_at(&mut copy, address as u64)?;
        Ok(copy)
    }

    /// Writes one byte: other threads see the old one or the new one.
    pub fn write(&self, address: usize, byte: u8) -> io::Result<()> {
        self.0.write_all_at(&[byte], address as u64)
    }
}

/// Whether code can be patched: tried on an instruction of this library, which is written as it is.
pub fn is_writable() -> bool {
    let address = is_writable as fn() -> bool as usize;
    OwnMemory::open()
        .and_then(|memory| {
            let first = memory.copy(address, 1)?;
            memory.write(address, first[0])
        })
        .is_ok()
}

/// Copies of parts of this process's memory, each where it was.
#[derive(Default)]
pub struct Snapshot(Vec<(usize, Vec<u8>)>);

impl Snapshot {
    /// Adds the copy of what is at `address`.
    pub fn add(&mut self, address: usize, copy: Vec<u8>) {
        self.0.push((address, copy));
    }

    /// The bytes from `address` on to the end of the part that holds it; none where nothing was copied.
    pub fn from(&self, address: usize) -> &[u8] {
        let found = |(start, copy): &'_ (usize, Vec<u8>)| address.checked_sub(*start).filter(|at| *at < copy.len());
        self.0.iter().find_map(|part| found(part).map(|at| &part.1[at..])).unwrap_or_default()
    }

    /// The bytes of a range; none where a part of it is missing.
    pub fn range(&self, range: &std::ops::Range<usize>) -> Option<&[u8]> {
        self.from(range.start).get(..range.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_written_although_its_page_is_not_writable() {
        // SAFETY: a fresh private mapping, checked below.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                4096,
                libc::PROT_READ | libc::PROT_EXEC,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(page, libc::MAP_FAILED);
        let memory = OwnMemory::open().unwrap();
        memory.write(page as usize + 5, 0x0b).unwrap();
        assert_eq!(memory.copy(page as usize + 4, 3).unwrap(), [0, 0x0b, 0]);
        assert!(is_writable());
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        assert!(OwnMemory::open().unwrap().copy(8, 1).is_err());
    }

    #[test]
    fn a_snapshot_answers_for_what_was_copied_and_for_nothing_else() {
        let mut snapshot = Snapshot::default();
        snapshot.add(100, vec![1, 2, 3]);
        snapshot.add(200, vec![4]);
        assert_eq!(snapshot.from(101), [2, 3]);
        assert_eq!(snapshot.from(200), [4]);
        assert_eq!((snapshot.from(99), snapshot.from(103)), (&[][..], &[][..]));
        assert_eq!(snapshot.range(&(100..103)), Some(&[1, 2, 3][..]));
        assert_eq!(snapshot.range(&(101..104)), None);
    }
}
