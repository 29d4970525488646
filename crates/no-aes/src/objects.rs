//! The objects that are loaded in this process, as the dynamic loader lists them.

use std::ffi::{c_int, c_void, CStr, CString};
use std::ops::Range;

/// A library, or the program itself.
#[derive(Clone, Debug)]
pub struct Object {
    /// The path it was loaded from; empty for the program.
    pub name: CString,
    /// The difference between its addresses in memory and in the file.
    pub base: usize,
    /// The parts that were mapped from its file.
    pub segments: Vec<Segment>,
    /// Where its unwind table is.
    pub frames: Option<usize>,
}

/// A part of an object in memory.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Its addresses.
    pub range: Range<usize>,
    /// Whether it holds code.
    pub is_code: bool,
}

/// The beginnings of the names of what must not be patched: the C library (some of whose code runs with every signal
/// blocked), its loader, its former library of threads, and the kernel's vDSO, which is shared.
const NEVER_PATCHED: [&[u8]; 7] =
    [b"libc.so", b"libc-2", b"libc.musl", b"ld-linux", b"ld-musl", b"libpthread", b"linux-vdso"];

impl Object {
    /// Whether its code may be patched.
    pub fn may_be_patched(&self) -> bool {
        let name = self.name.as_bytes();
        let base_name = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
        let is_ours = self.segments.iter().any(|segment| segment.range.contains(&(loaded as fn() -> Loaded as usize)));
        !is_ours && !NEVER_PATCHED.iter().any(|start| base_name.starts_with(start))
    }
}

/// The loaded objects, and how many there have ever been: a number that changes whenever something was added.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// In the order of loading.
    pub objects: Vec<Object>,
    /// Objects loaded since the process began.
    pub additions: u64,
}

/// Asks the loader.
pub fn loaded() -> Loaded {
    let mut all = Loaded::default();
    // SAFETY: the callback gets `all` back as its last argument, during this call only.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut all).cast()) };
    all
}

/// How many objects have been loaded since the process began.
pub fn additions() -> u64 {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _size: libc::size_t, count: *mut c_void) -> c_int {
        // SAFETY: the loader's own structure, and the number that the caller passed.
        unsafe { *count.cast::<u64>() = (*info).dlpi_adds };
        1 // the same in every object's structure
    }
    let mut count = 0_u64;
    // SAFETY: the callback gets `count` back as its last argument, during this call only.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut count).cast()) };
    count
}

unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, _size: libc::size_t, all: *mut c_void) -> c_int {
    // SAFETY: the loader's own structure, and the list that `loaded` passed.
    let (info, all) = unsafe { (&*info, &mut *all.cast::<Loaded>()) };
    // SAFETY: the loader's own headers, as many as it says.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let name = if info.dlpi_name.is_null() {
        CString::default()
    } else {
        // SAFETY: the loader's own text.
        unsafe { CStr::from_ptr(info.dlpi_name) }.to_owned()
    };
    all.additions = info.dlpi_adds;
    all.objects.push(object(name, info.dlpi_addr as usize, headers));
    0
}

fn object(name: CString, base: usize, headers: &[libc::Elf64_Phdr]) -> Object {
    let at = |header: &libc::Elf64_Phdr| base.wrapping_add(header.p_vaddr as usize);
    let segment = |header: &libc::Elf64_Phdr| Segment {
        range: at(header)..at(header).saturating_add(header.p_filesz as usize),
        is_code: header.p_flags & libc::PF_X != 0,
    };
    Object {
        name,
        base,
        segments: headers.iter().filter(|header| header.p_type == libc::PT_LOAD).map(segment).collect(),
        frames: headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME).map(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::Frames;
    use crate::memory::{OwnMemory, Snapshot};

    fn named(name: &str) -> Object {
        Object { name: CString::new(name).unwrap(), base: 0, segments: Vec::new(), frames: None }
    }

    #[test]
    fn the_c_library_and_its_loader_are_not_to_be_patched_and_others_are() {
        for name in [
            "/lib/x86_64-linux-gnu/libc.so.6",
            "/lib/libc-2.31.so",
            "/lib64/ld-linux-x86-64.so.2",
            "/lib/ld-musl-x86_64.so.1",
            "libpthread.so.0",
            "linux-vdso.so.1",
        ] {
            assert!(!named(name).may_be_patched(), "{name}");
        }
        for name in ["", "/usr/lib/libcrypto.so.3", "/a/linux-vdso.so.1/libx.so", "/lib/libcap.so.2"] {
            assert!(named(name).may_be_patched(), "{name}");
        }
    }

    #[test]
    fn this_code_is_among_what_is_loaded_and_is_not_to_be_patched() {
        let all = loaded();
        assert_eq!(all.additions, additions());
        assert!(all.objects.iter().any(|object| object.name.as_bytes().ends_with(b"libc.so.6")));
        let (ours, _): (Vec<_>, Vec<_>) = all.objects.iter().partition(|object| object.name.is_empty());
        let [program] = ours[..] else { panic!("one program: {ours:?}") };
        assert!(!program.may_be_patched());
    }

    #[test]
    fn the_unwind_table_of_a_real_program_knows_where_its_functions_begin() {
        let program = loaded().objects.into_iter().find(|object| object.name.is_empty()).unwrap();
        let memory = OwnMemory::open().unwrap();
        let mut snapshot = Snapshot::default();
        for Segment { range, .. } in &program.segments {
            snapshot.add(range.start, memory.copy(range.start, range.len()).unwrap());
        }
        let frames = Frames::read(&snapshot, program.frames.unwrap()).unwrap();
        for function in [loaded as fn() -> Loaded as usize, additions as fn() -> u64 as usize] {
            assert_eq!(frames.function_at(function + 1).unwrap().start, function);
        }
    }
}
