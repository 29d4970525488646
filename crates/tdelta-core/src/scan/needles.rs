//! Many byte strings, looked for at once.
//!
//! Every place where any of them stands counts, for each of them, overlaps included: markers of which one is the beginning
//! of another must both be found. So a vectorized searcher only says where the next one begins, and what begins there is
//! compared byte by byte. Which searcher is fastest on bytes that look random was measured (`examples/searchers.rs`,
//! benches/results/instrument.md).

use aho_corasick::packed;
use aho_corasick::{AhoCorasick, Input, MatchKind, Span};
use memchr::memmem::Finder;

/// The byte strings, and what finds them.
pub struct Needles {
    all: Vec<Vec<u8>>,
    longest: usize,
    searcher: Searcher,
}

enum Searcher {
    /// One string: two of its bytes, compared in vectors.
    One(Box<Finder<'static>>),
    /// A few dozen: Teddy, which compares the first bytes of all of them in vectors.
    Packed(packed::Searcher),
    /// More than that, or a processor without such vectors.
    Automaton(AhoCorasick),
}

impl Needles {
    /// Prepares a search.
    ///
    /// # Errors
    /// A text for people: there is none, or one is empty, or they are too many.
    pub fn new(all: Vec<Vec<u8>>) -> Result<Self, String> {
        if all.is_empty() {
            return Err("expected at least one byte string to search for, found none".into());
        }
        if all.iter().any(Vec::is_empty) {
            return Err("expected byte strings of at least one byte, found an empty one".into());
        }
        let longest = all.iter().map(Vec::len).max().unwrap_or(1);
        let searcher = Searcher::over(&all)?;
        Ok(Self { all, longest, searcher })
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Bytes behind the last place where one may begin that are still needed to see it whole.
    pub(super) fn margin(&self) -> usize {
        self.longest - 1
    }

    /// Whether one consists of zeros alone, so that a hole may hold it.
    pub(super) fn has_zeros(&self) -> bool {
        self.all.iter().any(|needle| needle.iter().all(|byte| *byte == 0))
    }

    /// Tells `found` of every needle (by number) and place in `haystack`, of those that begin before `starts`.
    pub fn each_in(&self, haystack: &[u8], starts: usize, mut found: impl FnMut(usize, usize)) {
        let end = haystack.len().min(starts.saturating_add(self.margin()));
        let haystack = &haystack[..end];
        let mut from = 0;
        while let Some(at) = self.searcher.next(haystack, from).filter(|at| *at < starts) {
            let rest = &haystack[at..];
            let here = self.all.iter().enumerate().filter(|(_, needle)| rest.starts_with(needle));
            here.for_each(|(number, _)| found(number, at));
            from = at + 1;
        }
    }
}

impl Searcher {
    fn over(all: &[Vec<u8>]) -> Result<Self, String> {
        if let [needle] = all {
            return Ok(Self::One(Box::new(Finder::new(needle).into_owned())));
        }
        if let Some(packed) = packed::Config::new().builder().extend(all).build() {
            return Ok(Self::Packed(packed));
        }
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(all);
        automaton.map(Self::Automaton).map_err(|error| format!("cannot search for {} byte strings: {error}", all.len()))
    }

    /// Where the next of them begins, at `from` or behind it.
    #[inline]
    fn next(&self, haystack: &[u8], from: usize) -> Option<usize> {
        match self {
            Self::One(finder) => finder.find(haystack.get(from..)?).map(|at| from + at),
            Self::Packed(searcher) => {
                let span = Span { start: from, end: haystack.len() };
                (from <= haystack.len()).then(|| searcher.find_in(haystack, span))?.map(|found| found.start())
            }
            Self::Automaton(automaton) => {
                let input = Input::new(haystack).range(from.min(haystack.len())..);
                automaton.find(input).map(|found| found.start())
            }
        }
    }
}
