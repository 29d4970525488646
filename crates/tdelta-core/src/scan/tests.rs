//! Against the plainest code that says the same.

use super::search::{search_cut, Cut};
use super::{search, statistics, BlockKinds, FileMatches, Needles};
use crate::draw::Rng;
use proptest::prelude::*;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A file in memory that is gone with the test, under a path by which it can be opened.
fn file(content: &[u8]) -> (File, PathBuf) {
    // SAFETY: the name ends in NUL; a new descriptor is nobody else's.
    let mut made = unsafe { File::from_raw_fd(libc::memfd_create(c"tdelta-scan".as_ptr(), 0)) };
    made.write_all(content).unwrap();
    let path = PathBuf::from(format!("/proc/self/fd/{}", made.as_raw_fd()));
    (made, path)
}

fn always(_: u64) -> bool {
    true
}

/// Every place of every needle, by comparing at each.
fn naive(content: &[u8], needles: &[Vec<u8>]) -> (Vec<u64>, Vec<Option<u64>>) {
    let places = |needle: &Vec<u8>| {
        (0..content.len()).filter(|at| content[*at..].starts_with(needle)).map(|at| at as u64).collect::<Vec<_>>()
    };
    let all: Vec<Vec<u64>> = needles.iter().map(places).collect();
    (all.iter().map(|found| found.len() as u64).collect(), all.iter().map(|found| found.first().copied()).collect())
}

fn found(paths: &[PathBuf], needles: &[Vec<u8>], cut: Cut, threads: usize) -> Vec<FileMatches> {
    search_cut(paths, &Needles::new(needles.to_vec()).unwrap(), threads, &mut always, cut).unwrap()
}

/// Bytes of an alphabet so small that needles occur, overlap and stand at every border.
fn bytes(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec![0u8, b'a', b'b']), length)
}

/// Stretches of one byte each, those at the ends of what is printable often among them.
fn stretches() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![prop::sample::select(vec![0, b' ', b'~', 0x1f, 0x7f]), any::<u8>()];
    let stretch = (byte, 1usize..80).prop_map(|(byte, length)| vec![byte; length]);
    prop::collection::vec(stretch, 0..200).prop_map(|all| all.concat())
}

proptest! {
    #[test]
    fn every_place_of_every_needle_is_found_once_whatever_the_borders(
        content in bytes(0..400),
        needles in prop::collection::vec(bytes(1..6), 1..5),
        chunk_bytes in 1usize..40,
        segment_bytes in 1u64..90,
        threads in 1usize..4,
    ) {
        let (_kept, path) = file(&content);
        let (matches, first_offsets) = naive(&content, &needles);
        let one = &found(&[path], &needles, Cut { chunk_bytes, segment_bytes }, threads)[0];
        prop_assert_eq!(&one.matches, &matches);
        prop_assert_eq!(&one.first_offsets, &first_offsets);
        prop_assert_eq!((one.size_bytes, one.scanned_bytes), (content.len() as u64, content.len() as u64));
        prop_assert!(one.fault.is_none());
    }

    #[test]
    fn many_needles_are_found_like_few(content in bytes(0..300), needles in prop::collection::vec(bytes(2..5), 70..90)) {
        let (_kept, path) = file(&content);
        let (matches, _) = naive(&content, &needles);
        prop_assert_eq!(&found(&[path], &needles, Cut { chunk_bytes: 64, segment_bytes: 128 }, 2)[0].matches, &matches);
    }

    #[test]
    fn holes_hide_nothing(
        parts in prop::collection::vec((0u64..6, bytes(1..50)), 0..4),
        needles in prop::collection::vec(bytes(1..6), 1..4),
        tail in 0u64..3,
        segment_bytes in prop::sample::select(vec![4096u64, 5000, 8192]),
    ) {
        const PAGE: u64 = 4096;
        let (sparse, path) = file(&[]);
        let mut content = Vec::new();
        for (pages, part) in &parts {
            content.resize(content.len() + (pages * PAGE) as usize, 0);
            sparse.write_all_at(part, content.len() as u64).unwrap();
            content.extend(part);
        }
        content.resize(content.len() + (tail * PAGE) as usize, 0);
        sparse.set_len(content.len() as u64).unwrap();
        let (matches, first_offsets) = naive(&content, &needles);
        let one = &found(&[path], &needles, Cut { chunk_bytes: 1000, segment_bytes }, 2)[0];
        prop_assert_eq!(&one.matches, &matches);
        prop_assert_eq!(&one.first_offsets, &first_offsets);
    }

    #[test]
    fn statistics_say_what_counting_says(
        content in stretches(),
        block_bytes in prop::sample::select(vec![1024usize, 1500, 2048]),
    ) {
        let (_kept, path) = file(&content);
        let one = &statistics(&[path], block_bytes, 1, &mut always).unwrap()[0];
        let runs = content.split(|byte| !(0x20..=0x7e).contains(byte)).map(<[u8]>::len).filter(|run| *run >= 8);
        let runs: Vec<usize> = runs.collect();
        prop_assert_eq!(one.printable_strings, runs.len() as u64);
        prop_assert_eq!(one.printable_bytes, runs.iter().sum::<usize>() as u64);
        prop_assert_eq!(one.longest_printable_bytes, runs.iter().copied().max().unwrap_or(0) as u64);
        prop_assert_eq!(one.scanned_bytes, content.len() as u64);
        prop_assert_eq!(one.zero_bytes, content.iter().filter(|byte| **byte == 0).count() as u64);
        for (kinds, size) in one.by_block.iter().zip([block_bytes, 16 * block_bytes]) {
            let blocks: Vec<&[u8]> = content.chunks(size).collect();
            let judged: Vec<f64> = blocks
                .iter()
                .filter(|block| block.len() >= 1024 && block.iter().any(|byte| *byte != 0))
                .map(|block| entropy(block))
                .collect();
            prop_assert_eq!(kinds.blocks, blocks.len() as u64);
            prop_assert_eq!(kinds.random + kinds.low + kinds.between, judged.len() as u64);
            prop_assert_eq!(kinds.zero + kinds.short + judged.len() as u64, kinds.blocks);
            let least = judged.iter().copied().reduce(f64::min);
            prop_assert!(near(kinds.entropy_least_bits, least));
            let mean = (!judged.is_empty()).then(|| judged.iter().sum::<f64>() / judged.len() as f64);
            prop_assert!(near(kinds.entropy_mean_bits, mean));
        }
        prop_assert!(near(one.entropy_bits, (!content.is_empty()).then(|| entropy(&content))));
        prop_assert!(near(one.chi_square, (!content.is_empty()).then(|| chi_square(&content))));
    }
}

fn counts(block: &[u8]) -> [f64; 256] {
    let mut counts = [0.0; 256];
    block.iter().for_each(|byte| counts[usize::from(*byte)] += 1.0);
    counts
}

fn entropy(block: &[u8]) -> f64 {
    let shares = counts(block).into_iter().map(|count| count / block.len() as f64);
    -shares.filter(|share| *share > 0.0).map(|share| share * share.log2()).sum::<f64>()
}

fn chi_square(block: &[u8]) -> f64 {
    let expected = block.len() as f64 / 256.0;
    counts(block).into_iter().map(|count| (count - expected).powi(2) / expected).sum()
}

fn near(found: Option<f64>, expected: Option<f64>) -> bool {
    match (found, expected) {
        (Some(found), Some(expected)) => (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
        (found, expected) => found == expected,
    }
}

fn random(seed: u64, length: usize) -> Vec<u8> {
    let mut rng = Rng::new(seed, 0, 0);
    (0..length.div_ceil(8)).flat_map(|_| rng.bits().to_le_bytes()).take(length).collect()
}

fn kinds_of(content: &[u8]) -> BlockKinds {
    let (_kept, path) = file(content);
    statistics(&[path], 4096, 1, &mut always).unwrap()[0].by_block[0].clone()
}

#[test]
fn random_bytes_look_random_and_text_and_zeros_do_not() {
    let blocks = 2000;
    let kinds = kinds_of(&random(3, 4096 * blocks));
    assert_eq!((kinds.random, kinds.blocks), (blocks as u64, blocks as u64));
    assert!(kinds.entropy_least_bits.unwrap() > 7.93);
    let text = b"The quick brown fox jumps over the lazy dog. ".repeat(2000);
    let kinds = kinds_of(&text);
    assert_eq!((kinds.low, kinds.short), (kinds.blocks - kinds.short, u64::from(text.len() % 4096 < 1024)));
    assert_eq!(kinds_of(&[0; 3 * 4096]).zero, 3);
    let counter: Vec<u8> = (0..4096).map(|number| number as u8).collect();
    assert_eq!(kinds_of(&counter).between, 1, "bytes more even than chance makes them are not random");
}

#[test]
fn runs_of_exactly_eight_count_wherever_they_stand_and_of_seven_do_not() {
    for before in 0..20 {
        for first in 0..12 {
            let mut content = vec![0; before];
            content.extend(b"a".repeat(first));
            content.push(0);
            content.extend(b"12345678\x001234567\x00");
            let (_kept, path) = file(&content);
            let one = &statistics(&[path], 1024, 1, &mut always).unwrap()[0];
            let expected = if first >= 8 { (2, 8 + first as u64) } else { (1, 8) };
            assert_eq!((one.printable_strings, one.printable_bytes), expected, "{before}, {first}");
        }
    }
}

#[test]
fn one_block_in_ten_that_is_text_is_seen() {
    let mut content = random(5, 100 * 4096);
    for block in (0..100).step_by(10) {
        content[block * 4096..block * 4096 + 4096].fill(b'x');
    }
    let kinds = kinds_of(&content);
    assert_eq!((kinds.random, kinds.low), (90, 10));
}

#[test]
fn some_350_bytes_of_text_within_a_block_spoil_it() {
    let text = b"The customer Jane Q. Example of Nowhere Street 12 ordered 3 lamps and a table on 12 May. ".repeat(4);
    for seed in 0..200 {
        let mut content = random(seed, 4096);
        content[1000..1350].copy_from_slice(&text[..350]);
        assert_eq!(kinds_of(&content).random, 0, "seed {seed}");
    }
}

#[test]
fn a_large_hole_counts_as_zeros_and_is_not_read() {
    let (sparse, path) = file(b"head of the file");
    sparse.set_len(1 << 40).unwrap();
    sparse.write_all_at(b"tail of the file", (1 << 40) - 16).unwrap();
    let needles = [b"tail of".to_vec(), b"head of".to_vec()];
    let one =
        &search(std::slice::from_ref(&path), &Needles::new(needles.to_vec()).unwrap(), 2, &mut always).unwrap()[0];
    assert_eq!((one.matches.as_slice(), one.size_bytes), ([1, 1].as_slice(), 1 << 40));
    assert_eq!(one.first_offsets, [Some((1 << 40) - 16), Some(0)]);
    assert!(one.scanned_bytes < 1 << 20);
    let (small, path) = file(&random(11, 4096));
    small.set_len(1 << 30).unwrap();
    let bytes = &statistics(&[path], 4096, 1, &mut always).unwrap()[0];
    assert_eq!((bytes.scanned_bytes, bytes.by_block[0].random), (1 << 30, 1));
    assert_eq!(bytes.by_block[0].zero, (1 << 18) - 1);
}

#[test]
fn what_cannot_be_read_is_told_file_by_file() {
    let (_kept, good) = file(b"abc");
    let paths = [PathBuf::from("/nowhere/at/all"), good, PathBuf::from("/proc/self")];
    let needles = Needles::new(vec![b"b".to_vec()]).unwrap();
    let all = search(&paths, &needles, 2, &mut always).unwrap();
    assert_eq!(all[0].fault.as_ref().map(|fault| fault.errno), Some(libc::ENOENT));
    assert_eq!((all[1].matches[0], &all[1].fault), (1, &None));
    assert_eq!(all[2].fault.as_ref().map(|fault| fault.message.as_str()), Some("not a regular file"));
    let bytes = statistics(&paths, 4096, 2, &mut always).unwrap();
    assert_eq!(bytes.iter().map(|one| one.fault.is_some()).collect::<Vec<_>>(), [true, false, true]);
}

#[test]
fn a_search_for_nothing_is_refused() {
    assert!(Needles::new(Vec::new()).is_err());
    assert!(Needles::new(vec![b"a".to_vec(), Vec::new()]).is_err());
}

#[test]
fn a_watcher_who_has_had_enough_ends_the_search() {
    let (sparse, path) = file(&[]);
    sparse.set_len(1 << 42).unwrap();
    // A needle of zeros makes the search read holes, which would take many minutes here.
    let needles = Needles::new(vec![vec![0; 9]]).unwrap();
    let mut told = Vec::new();
    let mut watch = |bytes: u64| {
        told.push(bytes);
        bytes == 0
    };
    assert_eq!(search(&[path], &needles, 2, &mut watch), None);
    assert_eq!(told.iter().filter(|bytes| **bytes > 0).count(), 1, "no further call");
}
