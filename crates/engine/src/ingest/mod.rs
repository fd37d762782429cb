//! Ingestion: reads external histories into the archive and into episodes.
//!
//! `yore_sources` reads and redacts; here its results are stored.
//!
//! - `batch`: reads ahead of the store, in its own thread
//! - `archive`: stores every line once
//! - `policy`: decides what may be kept
//! - `lease`, `key`: which process reads what, and the secret that keys hashes
//! - `reindex`, `forget`: read the archive again, and remove sessions from it
//!
//! - `request`, `report`, `error`: inputs and outputs
//!
//! `Ingest::run` does all of it: finds files (`run`), reads what is new in each (`unit`), looks up what they
//! refer to (`entries`), and stores the result (`writer`).

mod archive;
mod batch;
mod entries;
mod error;
mod file_error;
mod fingerprint;
mod first_commits;
mod forget;
mod found;
mod key;
mod lease;
mod policy;
mod reindex;
mod report;
mod request;
mod run;
mod scan;
mod unit;
mod writer;

pub(crate) use self::archive::{damaged_blobs, decompressed, unpack, write_archived};
pub use self::error::{IngestError, KeyProblem};
pub(crate) use self::first_commits::{first_commit, note_first_commits};
pub(crate) use self::forget::ForgetTarget;
pub use self::forget::PROXY_TEXTS;
pub(crate) use self::found::directories_of;
pub(crate) use self::key::Keys;
pub(crate) use self::key::export_key;
pub use self::key::{ledger_key, name_redactor, settings_key};
pub(crate) use self::lease::{Holder, lock_ingestion};
pub use self::policy::{CapturePolicy, PatternError};
pub use self::reindex::ReindexReport;
pub use self::report::{IngestReport, LearnedUnit, Observer, Silent, unreadable};
pub use self::request::{GivenDocument, IngestRequest, SourceRoot};
pub use self::run::Ingest;
pub use self::scan::ScanReport;
