//! The parts of tdelta that must not get in the way of what they measure. Knows no Python and no database.
//!
//! `draw` makes every random number from the run's seed; `data` makes the rows; `script` reads transaction scripts;
//! `breaker` ends what a connection is at; `pace` says when an operation is due; `latency` keeps the histograms; `process` reads clocks and the kernel's accounts; `load` is the loop that ties them together over a [`client::Client`];
//! `twin` is what every engine does beside it. `scan` reads files for what they give away.

pub mod breaker;
pub mod client;
pub mod data;
pub mod draw;
pub mod latency;
pub mod load;
pub mod pace;
pub mod process;
pub mod scan;
pub mod script;
pub mod trace;
pub mod twin;
pub mod value;
