//! Which searcher is fastest for 32 random needles of 16 bytes in bytes that look random? Interleaved, in memory.
//!
//!     cargo run --release -p tdelta-core --example searchers
//!
//! Prints GB/s a core: the median of all rounds, and the least and the most. Asserts only that all find the same.

use aho_corasick::{packed, AhoCorasick, AhoCorasickKind};
use memchr::memmem::Finder;
use std::time::Instant;
use tdelta_core::draw::Rng;
use tdelta_core::scan::Needles;

const BYTES: usize = 64 << 20;
const NEEDLES: usize = 32;
const ROUNDS: usize = 9;
const PLANTED: usize = 100;

fn random(stream: u64, length: usize) -> Vec<u8> {
    let mut rng = Rng::new(20_26, stream, 0);
    (0..length.div_ceil(8)).flat_map(|_| rng.bits().to_le_bytes()).take(length).collect()
}

fn main() {
    let mut haystack = random(0, BYTES);
    let needles: Vec<Vec<u8>> = (1..=NEEDLES as u64).map(|number| random(number, 16)).collect();
    for place in 0..PLANTED {
        let at = (place + 1) * (BYTES / (PLANTED + 2));
        haystack[at..at + 16].copy_from_slice(&needles[place % NEEDLES]);
    }
    let teddy = packed::Searcher::new(&needles).expect("a processor with vectors");
    let automaton = AhoCorasick::new(&needles).expect("few needles");
    let table = AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).prefilter(false).build(&needles);
    let table = table.expect("few needles");
    let finders: Vec<Finder<'_>> = needles.iter().map(Finder::new).collect();
    let ours = Needles::new(needles.clone()).expect("needles");
    type Count<'a> = Box<dyn Fn() -> usize + 'a>;
    let ways: [(&str, Count<'_>); 6] = [
        (
            "tdelta's own loop over Teddy",
            Box::new(|| {
                let mut count = 0;
                ours.each_in(&haystack, haystack.len(), |_, _| count += 1);
                count
            }),
        ),
        ("aho-corasick, packed (Teddy)", Box::new(|| teddy.find_iter(&haystack).count())),
        ("aho-corasick, automaton with its prefilter", Box::new(|| automaton.find_iter(&haystack).count())),
        ("aho-corasick, a table without prefilter", Box::new(|| table.find_iter(&haystack).count())),
        (
            "memchr::memmem, one needle after another",
            Box::new(|| finders.iter().map(|finder| finder.find_iter(&haystack).count()).sum()),
        ),
        ("memchr::memmem, one needle alone", Box::new(|| finders[0].find_iter(&haystack).count())),
    ];
    let mut speeds = vec![Vec::new(); ways.len()];
    for round in 0..ROUNDS {
        for turn in 0..ways.len() {
            let which = (turn + round) % ways.len();
            let began = Instant::now();
            let count = std::hint::black_box((ways[which].1)());
            speeds[which].push(BYTES as f64 / began.elapsed().as_secs_f64() / 1e9);
            assert!(count == PLANTED || which == ways.len() - 1, "{}: {count}", ways[which].0);
        }
    }
    for ((name, _), all) in ways.iter().zip(&mut speeds) {
        all.sort_by(f64::total_cmp);
        println!("{name:44} {:6.2} GB/s ({:.2} … {:.2})", all[ROUNDS / 2], all[0], all[ROUNDS - 1]);
    }
}
