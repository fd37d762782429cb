//! The port of the archive: files, lines, sessions, turns, notes and projects, and how they are forgotten.

pub(super) mod blobs;
pub(super) mod commit;
pub(super) mod episodes;
pub(super) mod exchanges;
pub(super) mod forget;
pub(super) mod merges;
mod native_id;
pub(super) mod notes;
pub(super) mod overview;
pub(super) mod projects;
pub(super) mod sessions;
pub(super) mod sources;
pub(super) mod structure;
pub(super) mod upsert;
pub(super) mod words;
