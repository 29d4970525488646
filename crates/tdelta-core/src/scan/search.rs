//! Searching files for needles, a large file in segments that several threads take.
//!
//! A segment owns the needles that begin in it and reads a little beyond its end, so that none is lost or counted twice at
//! a border, be it between buffers, between segments or beside a hole.

use super::crew::{self, Crew};
use super::needles::Needles;
use super::source::{Buffer, Fault, Source};
use serde::Serialize;
use std::io::Error;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Bytes that are read and searched at once: they stay in the second-level cache of one core between the two.
const CHUNK_BYTES: usize = 256 << 10;

/// Bytes of a file that one thread takes.
const SEGMENT_BYTES: u64 = 64 << 20;

/// The findings in one file. `matches` and `first_offsets` are in the order of the needles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileMatches {
    /// Its size when it was opened.
    pub size_bytes: u64,
    /// Bytes that were read, holes left out.
    pub scanned_bytes: u64,
    /// How often each needle was found.
    pub matches: Vec<u64>,
    /// Where each was found first.
    pub first_offsets: Vec<Option<u64>>,
    /// Why it could not be read (or not to its end).
    pub fault: Option<Fault>,
}

/// How files are cut up; the tests have smaller ones.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    pub chunk_bytes: usize,
    pub segment_bytes: u64,
}

struct Segment<'a> {
    file: usize,
    path: &'a Path,
    range: Range<u64>,
}

/// Searches files with up to `threads` threads. A file that cannot be read is no error of the others.
///
/// `watch` receives the number of bytes read about ten times a second, in the caller's thread, and ends the search by
/// answering `false`; then there is no answer.
pub fn search(
    paths: &[PathBuf],
    needles: &Needles,
    threads: usize,
    watch: &mut dyn FnMut(u64) -> bool,
) -> Option<Vec<FileMatches>> {
    search_cut(paths, needles, threads, watch, Cut { chunk_bytes: CHUNK_BYTES, segment_bytes: SEGMENT_BYTES })
}

pub(super) fn search_cut(
    paths: &[PathBuf],
    needles: &Needles,
    threads: usize,
    watch: &mut dyn FnMut(u64) -> bool,
    cut: Cut,
) -> Option<Vec<FileMatches>> {
    let none = FileMatches {
        matches: vec![0; needles.count()],
        first_offsets: vec![None; needles.count()],
        ..FileMatches::default()
    };
    let found: Vec<Mutex<FileMatches>> = paths.iter().map(|_| Mutex::new(none.clone())).collect();
    let segments: Vec<Segment<'_>> =
        paths.iter().enumerate().flat_map(|(file, path)| segments(file, path, cut.segment_bytes)).collect();
    let tools = || (Buffer::new(cut.chunk_bytes + needles.margin()), none.clone());
    let is_done = crew::run(&segments, threads, watch, tools, |segment, (buffer, part), crew| {
        part.clone_from(&none);
        if let Err(error) = scan(segment, needles, cut.chunk_bytes, buffer, crew, part) {
            part.fault = Some((&error).into());
        }
        found[segment.file].lock().unwrap_or_else(PoisonError::into_inner).merge(part);
    });
    is_done.then(|| found.into_iter().map(|one| one.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}

/// The segments of a file by the size it has now; the last one goes on to the size it will have when it is opened.
fn segments(file: usize, path: &Path, segment_bytes: u64) -> impl Iterator<Item = Segment<'_>> {
    let size = std::fs::metadata(path).map_or(0, |found| found.len());
    let count = size.div_ceil(segment_bytes).max(1);
    (0..count).map(move |number| {
        let end = if number + 1 == count { u64::MAX } else { (number + 1) * segment_bytes };
        Segment { file, path, range: number * segment_bytes..end }
    })
}

fn scan(
    segment: &Segment<'_>,
    needles: &Needles,
    chunk_bytes: usize,
    buffer: &mut Buffer,
    crew: &Crew,
    found: &mut FileMatches,
) -> Result<(), Error> {
    let source = Source::open(segment.path)?;
    found.size_bytes = source.size_bytes();
    for range in places(&source, segment.range.clone(), needles) {
        let mut at = range.start;
        while at < range.end && !crew.is_stopped() {
            let own = (range.end - at).min(chunk_bytes as u64) as usize;
            let chunk = buffer.first(own + needles.margin());
            let filled = source.read_at(chunk, at)?;
            needles.each_in(&chunk[..filled], own, |needle, offset| found.add(needle, at + offset as u64));
            let read = filled.min(own) as u64;
            found.scanned_bytes += read;
            crew.read(read);
            if filled < own {
                break; // it has shrunk
            }
            at += own as u64;
        }
    }
    Ok(())
}

/// Where in `range` a needle may begin: in data, or so near before data that it reaches into it.
fn places(source: &Source, range: Range<u64>, needles: &Needles) -> Vec<Range<u64>> {
    let end = range.end.min(source.size_bytes());
    if needles.has_zeros() {
        return std::iter::once(range.start..end).collect();
    }
    let margin = needles.margin() as u64;
    let reach = end.saturating_add(margin).min(source.size_bytes());
    let mut places: Vec<Range<u64>> = Vec::new();
    for part in source.data(range.start..reach.max(range.start)) {
        let start = part.start.saturating_sub(margin).max(range.start);
        let part = start..part.end.min(end);
        match places.last_mut() {
            Some(last) if last.end >= part.start => last.end = last.end.max(part.end),
            _ if part.is_empty() => {}
            _ => places.push(part),
        }
    }
    places
}

impl FileMatches {
    fn add(&mut self, needle: usize, offset: u64) {
        self.matches[needle] += 1;
        let first = &mut self.first_offsets[needle];
        *first = Some(first.map_or(offset, |known| known.min(offset)));
    }

    /// Adds another part of the same file.
    fn merge(&mut self, part: &Self) {
        self.size_bytes = self.size_bytes.max(part.size_bytes);
        self.scanned_bytes += part.scanned_bytes;
        self.matches.iter_mut().zip(&part.matches).for_each(|(sum, count)| *sum += count);
        for (first, other) in self.first_offsets.iter_mut().zip(&part.first_offsets) {
            *first = [*first, *other].into_iter().flatten().min();
        }
        if self.fault.is_none() {
            self.fault.clone_from(&part.fault);
        }
    }
}
