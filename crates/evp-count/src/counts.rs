//! The counts: slots in a mapped file, claimed by whoever comes first, thread or process.
//!
//! A slot is 64 bytes: the cipher's number in OpenSSL (i32, 0: free), four bytes of nothing, starts that encrypt (u64),
//! starts that decrypt (u64), the cipher's name (40 bytes, zero behind it), all in the machine's own order.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, AtomicU8, Ordering};

/// Kinds of ciphers that are told apart.
pub const SLOTS: usize = 64;
const NAME_BYTES: usize = 40;

/// One kind of cipher.
#[repr(C)]
pub struct Slot {
    number: AtomicI32,
    _unused: u32,
    encrypts: AtomicU64,
    decrypts: AtomicU64,
    name: [AtomicU8; NAME_BYTES],
}

/// All of the file.
type Table = [Slot; SLOTS];

static TABLE: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());

/// Maps the file, made or made longer if need be. Where that fails nothing is counted, and the reader finds no counts.
pub fn open(path: &OsStr) {
    let Ok(path) = CString::new(path.as_bytes()) else { return };
    let bytes = size_of::<Table>();
    // SAFETY: system calls on a path that ends in zero and a descriptor of our own; the mapping is never undone.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CREAT | libc::O_CLOEXEC, 0o600);
        if file < 0 {
            return;
        }
        if libc::ftruncate(file, bytes as libc::off_t) == 0 {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let mapped = libc::mmap(ptr::null_mut(), bytes, protection, libc::MAP_SHARED, file, 0);
            if mapped != libc::MAP_FAILED {
                TABLE.store(mapped.cast(), Ordering::Release);
            }
        }
        libc::close(file);
    }
}

/// Whether there is a file to count in.
pub fn is_open() -> bool {
    !TABLE.load(Ordering::Relaxed).is_null()
}

/// Counts one start of the cipher with this number; `name` is asked when it is the first.
pub fn count(number: i32, encrypts: bool, name: impl FnOnce(&mut dyn FnMut(&[u8]))) {
    let table = TABLE.load(Ordering::Acquire);
    if table.is_null() {
        return;
    }
    // SAFETY: a mapping of this size that stays; all of its fields are atomic or never read.
    let slot = claim(unsafe { &*table }, number, name);
    let counter = if encrypts { &slot.encrypts } else { &slot.decrypts };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// The slot of this number, or a free one that becomes its; the last one where none is free.
fn claim(table: &Table, number: i32, name: impl FnOnce(&mut dyn FnMut(&[u8]))) -> &Slot {
    for slot in table {
        let known = slot.number.load(Ordering::Acquire);
        if known == number {
            return slot;
        }
        if known != 0 {
            continue;
        }
        match slot.number.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                name(&mut |text| slot.call(text));
                return slot;
            }
            Err(other) if other == number => return slot,
            Err(_) => {}
        }
    }
    &table[SLOTS - 1]
}

impl Slot {
    /// Writes its name, as much as there is room for before a zero.
    fn call(&self, name: &[u8]) {
        for (at, byte) in self.name[..NAME_BYTES - 1].iter().zip(name) {
            at.store(*byte, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn told(content: &[u8]) -> Vec<(String, u64, u64)> {
        let whole = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap());
        let used = content.chunks_exact(64).filter(|slot| slot[..4] != [0; 4]);
        used.map(|slot| {
            let name = slot[24..].split(|byte| *byte == 0).next().unwrap();
            (String::from_utf8(name.to_vec()).unwrap(), whole(&slot[8..16]), whole(&slot[16..24]))
        })
        .collect()
    }

    /// One test, since the table is one for the process.
    #[test]
    fn starts_are_counted_by_cipher_and_direction_from_any_thread_and_added_to_what_is_there() {
        count(1, true, |_| panic!("there is no file yet"));
        let path = std::env::temp_dir().join(format!("evp-count-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        open(path.as_os_str());
        assert!(is_open());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..1000 {
                        count(419, round % 4 == 0, |call| call(b"AES-128-CBC"));
                        count(427, true, |call| call(&[b'x'; 100]));
                    }
                });
            }
        });
        open(path.as_os_str());
        count(419, true, |_| panic!("the name is known"));
        let content = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let mut found = told(&content);
        found.sort();
        assert_eq!(found, [("AES-128-CBC".into(), 1001, 3000), ("x".repeat(39), 4000, 0)]);
        for number in 1000..1100 {
            count(number, false, |call| call(b"many"));
        }
        assert_eq!(content.len(), SLOTS * 64);
    }
}
