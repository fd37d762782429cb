//! The outside world to episodes.
//!
//! - `source`: one file per agent, and the table of all
//! - `lines`, `parse`: bytes to JSON values, whatever state the file is in
//! - [`redact`]: secrets go before the first write
//! - `batch`: reads ahead of the store, in a thread of its own
//! - `archive`: every line, stored once
//! - `foreign`: other programs' databases, read in place
//! - `policy`: what may be kept at all
//! - `project`: recorded directory to project
//! - `lease`, `key`: who reads, and the secret that keys hashes
//! - `reindex`, `forget`: the archive read again, and cut
//!
//! - `request`, `report`, `error`: what goes in and comes out
//!
//! `Ingest::run` is the whole way: find files (`run`), take each and read what is new (`unit`), look up what
//! it refers to (`entries`), store it (`writer`).

mod archive;
mod batch;
mod disk;
mod entries;
mod error;
mod file_error;
mod foreign;
mod forget;
mod found;
mod key;
mod lease;
mod lines;
mod parse;
mod peek;
mod policy;
mod project;
pub mod redact;
mod reindex;
mod report;
mod request;
mod run;
mod scan;
pub mod source;
mod unit;
mod writer;

pub(crate) use self::archive::{damaged_blobs, decompressed, unpack, write_archived};
pub(crate) use self::disk::is_there;
pub use self::error::{IngestError, KeyProblem};
pub(crate) use self::foreign::{changed_within, size_with_log};
pub(crate) use self::forget::ForgetTarget;
pub(crate) use self::key::Keys;
pub use self::key::{ledger_key, name_redactor, settings_key};
pub(crate) use self::lease::{Holder, take_turn};
pub use self::policy::{CapturePolicy, PatternError};
pub use self::project::{ProjectNames, names_of};
pub use self::reindex::ReindexReport;
pub use self::report::{IngestReport, LearnedUnit, Observer, Silent};
pub use self::request::{GivenDocument, IngestRequest, SourceRoot};
pub use self::run::Ingest;
pub use self::scan::ScanReport;
