//! Where functions begin and end: the unwind table of a library, `.eh_frame_hdr` with `.eh_frame` behind it (Linux
//! Standard Base, Core, "Exception Frames"; DWARF 5, section 6.4). It is there in every library that was built as usual,
//! stripped or not, and every piece of a function that the compiler moved elsewhere has an entry of its own.

use crate::memory::Snapshot;
use std::ops::Range;

/// `DW_EH_PE_*`: how a pointer is written.
mod encoding {
    pub const ABSOLUTE: u8 = 0x00;
    pub const ULEB128: u8 = 0x01;
    pub const UDATA2: u8 = 0x02;
    pub const UDATA4: u8 = 0x03;
    pub const UDATA8: u8 = 0x04;
    pub const SLEB128: u8 = 0x09;
    pub const SDATA2: u8 = 0x0a;
    pub const SDATA4: u8 = 0x0b;
    pub const SDATA8: u8 = 0x0c;
    pub const FORM: u8 = 0x0f;
    pub const RELATIVE_TO_PLACE: u8 = 0x10;
    pub const RELATIVE_TO_TABLE: u8 = 0x30;
}

const ENTRY_BYTES: usize = 8;

/// The binary search table of one library: pairs of a function's start and its entry, both relative to the table.
pub struct Frames<'a> {
    memory: &'a Snapshot,
    header: usize,
    entries: &'a [[u8; ENTRY_BYTES]],
}

impl<'a> Frames<'a> {
    /// Reads the table at `header`; none if it has another shape than linkers give it.
    pub fn read(memory: &'a Snapshot, header: usize) -> Option<Self> {
        let mut cursor = Cursor { memory, at: header };
        let [version, frames_encoding, count_encoding, table_encoding] =
            [cursor.u8()?, cursor.u8()?, cursor.u8()?, cursor.u8()?];
        if version != 1 || table_encoding != encoding::RELATIVE_TO_TABLE | encoding::SDATA4 {
            return None;
        }
        cursor.pointer(frames_encoding, header)?;
        let count = cursor.pointer(count_encoding, header)?;
        let entries = memory.from(cursor.at).get(..count.checked_mul(ENTRY_BYTES)?)?;
        Some(Self { memory, header, entries: entries.as_chunks().0 })
    }

    /// The addresses of the function, or the piece of one, that holds `address`; none if the table has no such.
    pub fn function_at(&self, address: usize) -> Option<Range<usize>> {
        let behind = self.entries.partition_point(|entry| self.relative(entry).is_some_and(|start| start <= address));
        let entry = self.entries.get(behind.checked_sub(1)?)?;
        let range = self.described(self.relative(&entry[4..])?)?;
        range.contains(&address).then_some(range)
    }

    /// The first four bytes as an address.
    fn relative(&self, bytes: &[u8]) -> Option<usize> {
        let offset = i32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
        self.header.checked_add_signed(offset as isize)
    }

    /// The addresses that an entry (FDE) describes.
    fn described(&self, entry: usize) -> Option<Range<usize>> {
        let mut cursor = Cursor { memory: self.memory, at: entry };
        let length = cursor.u32()?;
        let id_at = cursor.at;
        let back = cursor.u32()? as usize;
        if length == 0 || length == u32::MAX || back == 0 {
            return None; // the end, the 64-bit form, or a CIE
        }
        let form = self.pointer_encoding(id_at.checked_sub(back)?)?;
        let start = cursor.pointer(form, self.header)?;
        let bytes = cursor.pointer(form & encoding::FORM, self.header)?;
        Some(start..start.checked_add(bytes)?)
    }

    /// How the entries that share this preamble (CIE) write pointers.
    fn pointer_encoding(&self, preamble: usize) -> Option<u8> {
        let mut cursor = Cursor { memory: self.memory, at: preamble };
        let (length, id, version) = (cursor.u32()?, cursor.u32()?, cursor.u8()?);
        if length == u32::MAX || id != 0 || !matches!(version, 1 | 3) {
            return None;
        }
        let augmentation = cursor.text()?;
        cursor.uleb()?; // code alignment
        cursor.sleb()?; // data alignment
        match version {
            1 => usize::from(cursor.u8()?), // return address register
            _ => cursor.uleb()?,
        };
        let Some((b'z', letters)) = augmentation.split_first() else {
            return augmentation.is_empty().then_some(encoding::ABSOLUTE);
        };
        cursor.uleb()?; // length of what follows
        for letter in letters {
            match letter {
                b'R' => return cursor.u8(),
                b'L' => drop(cursor.u8()?),
                b'P' => {
                    let form = cursor.u8()?;
                    cursor.pointer(form & encoding::FORM, self.header)?;
                }
                b'S' | b'B' => {}
                _ => return None,
            }
        }
        Some(encoding::ABSOLUTE)
    }
}

/// Reads forward from an address.
struct Cursor<'a> {
    memory: &'a Snapshot,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = self.memory.from(self.at).get(..N)?;
        self.at += N;
        bytes.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.bytes::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    /// A text that ends in NUL.
    fn text(&mut self) -> Option<&'a [u8]> {
        let rest = self.memory.from(self.at);
        let length = rest.iter().position(|byte| *byte == 0)?;
        self.at += length + 1;
        Some(&rest[..length])
    }

    /// The bits of a LEB128 number, how many there are, and whether the last byte says that it is negative.
    fn leb(&mut self) -> Option<(u64, u32, bool)> {
        let (mut value, mut shift) = (0_u64, 0);
        loop {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some((value, shift, byte & 0x40 != 0));
            }
        }
    }

    fn uleb(&mut self) -> Option<usize> {
        self.leb().map(|(value, _, _)| value as usize)
    }

    fn sleb(&mut self) -> Option<isize> {
        let (value, bits, is_negative) = self.leb()?;
        let sign = if is_negative && bits < u64::BITS { u64::MAX << bits } else { 0 };
        Some((value | sign) as isize)
    }

    /// A pointer written as `form` says; `table` is what pointers relative to the table are relative to.
    fn pointer(&mut self, form: u8, table: usize) -> Option<usize> {
        let place = self.at;
        let value = match form & encoding::FORM {
            encoding::ABSOLUTE | encoding::UDATA8 | encoding::SDATA8 => isize::from_le_bytes(self.bytes()?),
            encoding::UDATA4 => u32::from_le_bytes(self.bytes()?) as isize,
            encoding::SDATA4 => i32::from_le_bytes(self.bytes()?) as isize,
            encoding::UDATA2 => u16::from_le_bytes(self.bytes()?) as isize,
            encoding::SDATA2 => i16::from_le_bytes(self.bytes()?) as isize,
            encoding::ULEB128 => self.uleb()? as isize,
            encoding::SLEB128 => self.sleb()?,
            _ => return None,
        };
        match form & !encoding::FORM {
            0 => Some(value as usize),
            encoding::RELATIVE_TO_PLACE => place.checked_add_signed(value),
            encoding::RELATIVE_TO_TABLE => table.checked_add_signed(value),
            _ => None, // indirect, aligned, relative to text: not written for functions on x86-64
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    const PLACE_SDATA4: u8 = encoding::RELATIVE_TO_PLACE | encoding::SDATA4;

    /// An unwind table at `header` for functions from here to there, as GNU ld writes it, with its `.eh_frame` behind.
    pub fn table(header: usize, functions: &[(usize, usize)], augmentation: &[u8], data: &[u8]) -> Vec<u8> {
        let relative = |to: usize, from: usize| (to.wrapping_sub(from) as i32).to_le_bytes();
        let frames = header + 12 + ENTRY_BYTES * functions.len();
        let mut preamble = [&0_u32.to_le_bytes()[..], &[1], augmentation, &[0, 1, 0x78, 16]].concat();
        preamble.push(data.len() as u8);
        preamble.extend(data);
        let mut body = [&(preamble.len() as u32).to_le_bytes()[..], &preamble].concat();
        let mut search = Vec::new();
        for &(start, end) in functions {
            let entry = frames + body.len();
            search.extend(relative(start, header));
            search.extend(relative(entry, header));
            body.extend(13_u32.to_le_bytes());
            body.extend(((entry + 4 - frames) as u32).to_le_bytes());
            body.extend(relative(start, entry + 8));
            body.extend(((end - start) as u32).to_le_bytes());
            body.push(0); // no augmentation data
        }
        let mut table = vec![1, PLACE_SDATA4, encoding::UDATA4, encoding::RELATIVE_TO_TABLE | encoding::SDATA4];
        table.extend(relative(frames, header + 4));
        table.extend((functions.len() as u32).to_le_bytes());
        table.extend(search);
        table.extend(body);
        table
    }

    fn snapshot(header: usize, table: Vec<u8>) -> Snapshot {
        let mut snapshot = Snapshot::default();
        snapshot.add(header, table);
        snapshot
    }

    #[test]
    fn a_function_is_found_by_every_address_within_it_and_by_no_other() {
        let functions = [(0x1000, 0x1010), (0x1010, 0x1011), (0x2000, 0x2100)];
        let memory = snapshot(0x9000, table(0x9000, &functions, b"zR", &[PLACE_SDATA4]));
        let frames = Frames::read(&memory, 0x9000).unwrap();
        for (start, end) in functions {
            for address in [start, end - 1] {
                assert_eq!(frames.function_at(address), Some(start..end));
            }
        }
        for address in [0, 0xfff, 0x1011, 0x1fff, 0x2100, usize::MAX] {
            assert_eq!(frames.function_at(address), None, "{address:x}");
        }
    }

    #[test]
    fn personality_language_data_and_signal_frames_are_stepped_over() {
        let personality = [PLACE_SDATA4, 1, 2, 3, 4];
        for (letters, data) in [
            (&b"zPLR"[..], [&personality[..], &[PLACE_SDATA4, PLACE_SDATA4]].concat()),
            (&b"zRS"[..], vec![PLACE_SDATA4]),
            (&b"zSR"[..], vec![PLACE_SDATA4]),
        ] {
            let memory = snapshot(0x9000, table(0x9000, &[(0x1000, 0x1010)], letters, &data));
            let frames = Frames::read(&memory, 0x9000).unwrap();
            assert_eq!(frames.function_at(0x1008), Some(0x1000..0x1010));
        }
    }

    #[test]
    fn a_table_of_another_shape_or_cut_short_is_no_table() {
        let whole = table(0x9000, &[(0x1000, 0x1010)], b"zR", &[PLACE_SDATA4]);
        for (at, byte) in [(0, 2), (3, PLACE_SDATA4)] {
            let mut other = whole.clone();
            other[at] = byte;
            assert!(Frames::read(&snapshot(0x9000, other), 0x9000).is_none());
        }
        for length in 0..whole.len() {
            let memory = snapshot(0x9000, whole[..length].to_vec());
            let found = Frames::read(&memory, 0x9000).and_then(|frames| frames.function_at(0x1000));
            assert!(found.is_none() || length == whole.len() - 1, "{length} bytes");
        }
    }

    #[test]
    fn an_entry_without_its_preamble_or_with_unknown_letters_describes_nothing() {
        let memory = snapshot(0x9000, table(0x9000, &[(0x1000, 0x1010)], b"zX", &[PLACE_SDATA4]));
        assert_eq!(Frames::read(&memory, 0x9000).unwrap().function_at(0x1000), None);
    }

    #[test]
    fn numbers_of_variable_length_are_read_as_dwarf_has_them() {
        // DWARF 5, tables 7.7 and 7.8.
        let memory = snapshot(0, vec![0x7f, 0x80, 0x01, 0x80, 0x7f, 0x7e, 0xff, 0x00]);
        let mut cursor = Cursor { memory: &memory, at: 0 };
        assert_eq!((cursor.uleb(), cursor.uleb()), (Some(127), Some(128)));
        assert_eq!((cursor.sleb(), cursor.sleb(), cursor.sleb()), (Some(-128), Some(-2), Some(127)));
        assert_eq!(cursor.uleb(), None);
    }
}
