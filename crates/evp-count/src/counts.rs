//! The counts: slots in a mapped file, claimed by whoever comes first, thread or process.
//!
//! A head of `HEAD_BYTES` (what the two clock readings of a timed call take themselves, picoseconds, u64) is followed by
//! slots of 224 bytes, all in the machine's own order: a number (i32, 0: free), a kind (u32), a tally of what encrypts, a
//! tally of what decrypts, a name (40 bytes, zero behind it). A tally is starts (u64), bytes (u64), and of each phase
//! (init, update, final): calls, nanoseconds, interrupted calls (u64 each). The time of interrupted calls is left out.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicU8, Ordering};

/// Kinds of ciphers that are distinguished.
pub const SLOTS: usize = 64;
/// Bytes ahead of the slots.
pub const HEAD_BYTES: usize = 64;
const NAME_BYTES: usize = 40;
const PHASES: usize = 3;

/// Calls that take longer than this were interrupted: at least 50 bytes a microsecond are enciphered by any code, and
/// whoever loses the CPU to another thread does not have it back before.
const INTERRUPTED_NS: u64 = 20_000;
const INTERRUPTED_NS_PER_BYTE: u64 = 20;

/// The contents of a slot; as `tdelta.processes.openssl_calls` has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A cipher, by its number in OpenSSL.
    Cipher = 0,
    /// A message authentication code.
    Mac = 1,
    /// Random bytes.
    Random = 2,
    /// Contexts of ciphers, made and freed.
    Context = 3,
}

/// The purpose of a call.
#[derive(Clone, Copy)]
pub enum Phase {
    /// Sets a cipher, a key, an initialization vector; makes or frees a context.
    Init = 0,
    /// Takes data.
    Update = 1,
    /// Takes what is left.
    Final = 2,
}

/// One call.
pub struct Call {
    /// Whether it encrypts.
    pub encrypts: bool,
    /// Its purpose.
    pub phase: Phase,
    /// Whether it brought a key or an initialization vector.
    pub starts: bool,
    /// Bytes that it took.
    pub bytes: u64,
    /// How long it took.
    pub ns: u64,
}

#[repr(C)]
struct Times {
    calls: AtomicU64,
    ns: AtomicU64,
    interrupted: AtomicU64,
}

#[repr(C)]
struct Tally {
    starts: AtomicU64,
    bytes: AtomicU64,
    phases: [Times; PHASES],
}

/// One kind of cipher.
#[repr(C)]
struct Slot {
    number: AtomicI32,
    kind: AtomicU32,
    encrypts: Tally,
    decrypts: Tally,
    name: [AtomicU8; NAME_BYTES],
}

/// All of the file.
#[repr(C)]
struct Table {
    own_ps: AtomicU64,
    _unused: [u64; HEAD_BYTES / 8 - 1],
    slots: [Slot; SLOTS],
}

static TABLE: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());

/// Maps the file, made or made longer if need be. Where that fails nothing is counted, and the reader finds no counts.
///
/// `own_ps` is what a timed call's own clock readings take.
pub fn open(path: &OsStr, own_ps: u64) {
    let Ok(path) = CString::new(path.as_bytes()) else { return };
    let bytes = size_of::<Table>();
    // SAFETY: system calls on a path that ends in zero and a descriptor of our own; the mapping is never undone, and all
    // of its fields are atomic or never read.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CREAT | libc::O_CLOEXEC, 0o600);
        if file < 0 {
            return;
        }
        if libc::ftruncate(file, bytes as libc::off_t) == 0 {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let mapped = libc::mmap(ptr::null_mut(), bytes, protection, libc::MAP_SHARED, file, 0);
            if mapped != libc::MAP_FAILED {
                (*mapped.cast::<Table>()).own_ps.store(own_ps, Ordering::Relaxed);
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

/// Counts one call of the cipher with this number, or of the other kinds with no number; `name` is called when it is the
/// first.
pub fn count(kind: Kind, number: i32, call: &Call, name: impl FnOnce(&mut dyn FnMut(&[u8]))) {
    let table = TABLE.load(Ordering::Acquire);
    if table.is_null() {
        return;
    }
    // Numbers of OpenSSL are positive.
    let number = if kind == Kind::Cipher { number } else { -(kind as i32) };
    // SAFETY: a mapping of this size that stays; all of its fields are atomic or never read.
    let slot = claim(unsafe { &*table }, kind, number, name);
    let tally = if call.encrypts { &slot.encrypts } else { &slot.decrypts };
    tally.starts.fetch_add(u64::from(call.starts), Ordering::Relaxed);
    tally.bytes.fetch_add(call.bytes, Ordering::Relaxed);
    let times = &tally.phases[call.phase as usize];
    times.calls.fetch_add(1, Ordering::Relaxed);
    if call.ns > INTERRUPTED_NS + INTERRUPTED_NS_PER_BYTE * call.bytes {
        times.interrupted.fetch_add(1, Ordering::Relaxed);
    } else {
        times.ns.fetch_add(call.ns, Ordering::Relaxed);
    }
}

/// The slot of this number, or a free one that becomes its; the last one where none is free.
fn claim(table: &Table, kind: Kind, number: i32, name: impl FnOnce(&mut dyn FnMut(&[u8]))) -> &Slot {
    for slot in &table.slots {
        let known = slot.number.load(Ordering::Acquire);
        if known == number {
            return slot;
        }
        if known != 0 {
            continue;
        }
        match slot.number.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                slot.kind.store(kind as u32, Ordering::Relaxed);
                name(&mut |text| slot.call(text));
                return slot;
            }
            Err(other) if other == number => return slot,
            Err(_) => {}
        }
    }
    &table.slots[SLOTS - 1]
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

    fn start(encrypts: bool) -> Call {
        Call { encrypts, phase: Phase::Init, starts: true, bytes: 0, ns: 100 }
    }

    fn update(bytes: u64, ns: u64) -> Call {
        Call { encrypts: true, phase: Phase::Update, starts: false, bytes, ns }
    }

    /// Names, and all numbers of both tallies.
    fn read(content: &[u8]) -> Vec<(String, Vec<u64>)> {
        let whole = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap());
        let slots = content[HEAD_BYTES..].chunks_exact(size_of::<Slot>()).filter(|slot| slot[..4] != [0; 4]);
        slots
            .map(|slot| {
                let name = slot[184..].split(|byte| *byte == 0).next().unwrap();
                (String::from_utf8(name.to_vec()).unwrap(), slot[8..184].chunks_exact(8).map(whole).collect())
            })
            .collect()
    }

    /// One test, since the table is one for the process.
    #[test]
    fn calls_are_counted_by_cipher_direction_and_phase_from_any_thread_and_added_to_what_is_there() {
        count(Kind::Cipher, 1, &start(true), |_| panic!("there is no file yet"));
        let path = std::env::temp_dir().join(format!("evp-count-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        open(path.as_os_str(), 25_000);
        assert!(is_open());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..1000 {
                        count(Kind::Cipher, 419, &start(round % 4 == 0), |call| call(b"AES-128-CBC"));
                        count(Kind::Cipher, 427, &update(16_384, 3_000), |call| call(&[b'x'; 100]));
                        count(Kind::Mac, 0, &update(4_096, 5_000), |call| call(b"HMAC"));
                    }
                });
            }
        });
        open(path.as_os_str(), 25_000);
        count(Kind::Cipher, 419, &start(true), |_| panic!("the name is known"));
        count(Kind::Cipher, 427, &update(16_384, 4_000_000), |_| panic!("the name is known")); // another thread had the CPU
        let content = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(content[..8], 25_000_u64.to_ne_bytes());
        let mut found = read(&content);
        found.sort();
        assert_eq!(
            found.iter().map(|one| one.0.as_str()).collect::<Vec<_>>(),
            ["AES-128-CBC", "HMAC", &"x".repeat(39)]
        );
        let (starts, macs, updates) = (&found[0].1, &found[1].1, &found[2].1);
        assert_eq!(starts[..5], [1001, 0, 1001, 100_100, 0]);
        assert_eq!(starts[11..16], [3000, 0, 3000, 300_000, 0]);
        assert_eq!(macs[..2], [0, 4000 * 4096]);
        assert_eq!(updates[..8], [0, 4001 * 16_384, 0, 0, 0, 4001, 4000 * 3_000, 1]);
        for number in 1000..1100 {
            count(Kind::Cipher, number, &start(false), |call| call(b"many"));
        }
        assert_eq!(content.len(), HEAD_BYTES + SLOTS * 224);
    }
}
