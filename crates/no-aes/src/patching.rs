//! Replacing CPUID by an instruction that raises SIGILL, in the code of what is loaded.

use crate::code::{classify, occurrences, Finding};
use crate::frames::Frames;
use crate::memory::{OwnMemory, Snapshot};
use crate::objects::{additions, loaded, Object};
use crate::real;
use crate::sites::{replace, SITES};
use std::ffi::{c_void, CString};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Mutex;

static PATCHED: AtomicU32 = AtomicU32::new(0);
static UNPATCHED: AtomicU32 = AtomicU32::new(0);

/// The part that was examined so far.
static SEEN: Mutex<Seen> = Mutex::new(Seen { additions: 0, objects: Vec::new() });

struct Seen {
    additions: u64,
    objects: Vec<(usize, CString)>,
}

impl Seen {
    fn has(&self, object: &Object) -> bool {
        self.objects.iter().any(|(base, name)| *base == object.base && *name == object.name)
    }
}

/// How many instructions were replaced.
pub fn patched() -> u32 {
    PATCHED.load(Ordering::Relaxed)
}

/// How many places may hold the instruction and were left as they are: outside of every function of the unwind table,
/// or behind something that could not be decoded. Constants between functions count, where they look like it.
pub fn unpatched() -> u32 {
    UNPATCHED.load(Ordering::Relaxed)
}

/// Patches what has been loaded since the last call. When it returns, all that was loaded when it was called is done,
/// by this thread or another.
pub fn patch_new_objects() {
    let Ok(seen) = SEEN.lock() else { return };
    if seen.additions == additions() {
        return;
    }
    let all = loaded();
    let new: Vec<&Object> = all.objects.iter().filter(|o| !seen.has(o) && o.may_be_patched()).collect();
    // Opening takes the loader's lock, whose holder may be in a constructor that waits for ours: let go of it.
    drop(seen);
    let pins: Vec<Option<Pin>> = new.iter().map(|object| Pin::of(object)).collect();
    let Ok(mut seen) = SEEN.lock() else { return };
    for (object, pin) in new.iter().zip(&pins) {
        if seen.has(object) {
            continue;
        }
        match pin.as_ref().map(|_| patch(object)) {
            Some(Ok(counts)) => {
                PATCHED.fetch_add(counts.patched, Ordering::Relaxed);
                UNPATCHED.fetch_add(counts.unpatched, Ordering::Relaxed);
                if counts.patched > 0 {
                    pin.iter().for_each(Pin::keep);
                }
            }
            // It cannot be read, or went away: what it holds is not known.
            Some(Err(_)) | None => drop(UNPATCHED.fetch_add(1, Ordering::Relaxed)),
        }
    }
    if all.additions >= seen.additions {
        seen.additions = all.additions;
        seen.objects = all.objects.into_iter().map(|object| (object.base, object.name)).collect();
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    patched: u32,
    unpatched: u32,
}

/// Patches one object.
fn patch(object: &Object) -> io::Result<Counts> {
    let memory = OwnMemory::open()?;
    let mut code = Snapshot::default();
    let mut places = Vec::new();
    for segment in object.segments.iter().filter(|segment| segment.is_code) {
        let copy = memory.copy(segment.range.start, segment.range.len())?;
        places.extend(occurrences(&copy).map(|offset| segment.range.start + offset));
        code.add(segment.range.start, copy);
    }
    if places.is_empty() {
        return Ok(Counts::default());
    }
    for segment in object.segments.iter().filter(|segment| !segment.is_code) {
        code.add(segment.range.start, memory.copy(segment.range.start, segment.range.len())?);
    }
    let frames = object.frames.and_then(|header| Frames::read(&code, header));
    let mut counts = Counts::default();
    for place in places {
        match find(&code, frames.as_ref(), place) {
            Finding::Instruction if replace(&memory, &SITES, place) => counts.patched += 1,
            Finding::PartOfAnother => {}
            _ => counts.unpatched += 1,
        }
    }
    Ok(counts)
}

/// The meaning of the two bytes at an address.
fn find(code: &Snapshot, frames: Option<&Frames<'_>>, place: usize) -> Finding {
    frames
        .and_then(|frames| frames.function_at(place))
        .and_then(|function| Some(classify(code.range(&function)?, place - function.start)))
        .unwrap_or(Finding::Unclear)
}

/// Keeps an object from being unloaded. The program itself needs no pin.
struct Pin(*mut c_void, CString);

impl Pin {
    /// None if it has gone already.
    fn of(object: &Object) -> Option<Self> {
        if object.name.is_empty() {
            return Some(Self(std::ptr::null_mut(), object.name.clone()));
        }
        let handle = real::dlopen(object.name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            // SAFETY: forgets a message that is not for the program.
            unsafe { libc::dlerror() };
            return None;
        }
        Some(Self(handle, object.name.clone()))
    }

    /// Keeps it for good: the addresses of patched instructions must never come to mean something else.
    fn keep(&self) {
        if !self.0.is_null() {
            real::dlopen(self.1.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE);
        }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: a handle that `dlopen` returned, closed once.
            unsafe { libc::dlclose(self.0) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::tests::table;
    use crate::objects::Segment;

    /// `mov eax, 0xa20f; cpuid; ret`, an instruction and a decoy.
    const FUNCTION: [u8; 8] = [0xb8, 0x0f, 0xa2, 0x00, 0x00, 0x0f, 0xa2, 0xc3];

    /// Twice the same code in a page, of which the unwind table in the page behind it knows the first only.
    fn object() -> (usize, Object) {
        let size = 4096;
        // SAFETY: a fresh private mapping, checked below.
        let start = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), 2 * size, protection, flags, -1, 0)
        };
        assert_ne!(start, libc::MAP_FAILED);
        let (code, header) = (start as usize, start as usize + size);
        let memory = OwnMemory::open().unwrap();
        for (offset, byte) in [FUNCTION, FUNCTION].concat().into_iter().enumerate() {
            memory.write(code + offset, byte).unwrap();
        }
        let functions = [(code, code + FUNCTION.len())];
        for (offset, byte) in table(header, &functions, b"zR", &[0x1b]).into_iter().enumerate() {
            memory.write(header + offset, byte).unwrap();
        }
        // SAFETY: the first page of the mapping made above.
        assert_eq!(unsafe { libc::mprotect(start, size, libc::PROT_READ | libc::PROT_EXEC) }, 0);
        let segments = vec![
            Segment { range: code..code + size, is_code: true },
            Segment { range: header..header + size, is_code: false },
        ];
        (code, Object { name: CString::default(), base: code, segments, frames: Some(header) })
    }

    #[test]
    fn the_instruction_is_replaced_the_decoy_is_not_and_what_no_function_holds_is_counted() {
        let (code, object) = object();
        let _alone = crate::sites::tests::ALONE.lock().unwrap();
        assert_eq!(patch(&object).unwrap(), Counts { patched: 1, unpatched: 2 });
        let expected = [[0xb8, 0x0f, 0xa2, 0x00, 0x00, 0x0f, 0x0b, 0xc3], FUNCTION].concat();
        assert_eq!(OwnMemory::open().unwrap().copy(code, expected.len()).unwrap(), expected);
        assert!(SITES.contains(code + 5));
        assert!(!SITES.contains(code + 1));
    }

    #[test]
    fn without_an_unwind_table_nothing_is_replaced() {
        let (_, object) = object();
        let blind = Object { frames: None, ..object };
        assert_eq!(patch(&blind).unwrap(), Counts { patched: 0, unpatched: 4 });
    }

    #[test]
    fn an_object_that_has_gone_is_an_error_and_no_crash() {
        let gone = Object {
            name: CString::default(),
            base: 4096,
            segments: vec![Segment { range: 4096..8192, is_code: true }],
            frames: None,
        };
        assert!(patch(&gone).is_err());
    }
}
