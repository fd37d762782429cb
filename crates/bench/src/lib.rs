//! Measures speed and memory from workloads.
//!
//! - [`measure`]: CPU time, memory, disk and percentiles, as the kernel counts them
//! - [`vocabulary`]: words with a distribution like that of real work
//! - [`workload`]: documents to store and questions about them
//! - [`transcript`]: a document as the transcript file that a coding agent would have left
//! - [`floor`]: the baseline: the same texts in plain SQLite FTS5
//!
//! The programs are `speed` (yore beside the baseline) and `lexical_trial` (the choice of engine).

pub mod floor;
pub mod measure;
pub mod transcript;
pub mod vocabulary;
pub mod workload;

pub use measure::cpu_time;
