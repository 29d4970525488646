//! Reading files for what they give away: byte strings that should not be in them, and what kind of bytes they hold.
//!
//! Files are read with `pread` into a small buffer that is used again, never mapped: a file that another process cuts
//! short while it is mapped ends the reader with SIGBUS. A path may be `/proc/PID/fd/N`, so that a file that is unlinked
//! and still open can be read as well. Files may grow, shrink or vanish meanwhile; that is no error, and what stands behind
//! the size that a file had when it was opened is not looked at.

mod crew;
mod needles;
mod search;
mod source;
mod statistics;
#[cfg(test)]
mod tests;

pub use needles::Needles;
pub use search::{search, FileMatches};
pub use source::Fault;
pub use statistics::{statistics, BlockKinds, FileBytes};
