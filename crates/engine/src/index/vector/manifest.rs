//! The manifest of a vector index: its segments and its owner. A small file: one line of JSON, and the checksum of that line. It
//! is replaced as a whole, so a reader sees the list before or after a change, never in between.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::ResetReason;
use super::segment::{FORMAT, SegmentRecord};

/// File name.
pub(super) const NAME: &str = "manifest";
/// File name while it is written.
pub(super) const DRAFT: &str = "manifest.draft";

/// The owner of an index; an index of another owner is not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    pub identity: String,
    pub token: String,
    pub dimensions: usize,
}

/// Content of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub format: u32,
    #[serde(flatten)]
    pub owner: Owner,
    /// The caller's number: the index has its queue up to this position.
    pub position: u64,
    /// Number of the next segment.
    pub next: u64,
    /// The segments, oldest first.
    pub segments: Vec<SegmentRecord>,
}

/// The part that every format has.
#[derive(Deserialize)]
struct AnyFormat {
    format: u32,
}

impl Manifest {
    /// Makes a list without segments.
    pub(super) fn empty(owner: Owner) -> Self {
        Self { format: FORMAT, owner, position: 0, next: 1, segments: Vec::new() }
    }

    /// Parses the file's bytes, if they are intact and belong to the owner.
    pub(super) fn parse(bytes: &[u8], owner: &Owner) -> Result<Self, ResetReason> {
        let damaged = || ResetReason::Damaged("the manifest is damaged".to_owned());
        let text = std::str::from_utf8(bytes).map_err(|_| damaged())?;
        let (line, rest) = text.split_once('\n').ok_or_else(damaged)?;
        if rest.strip_suffix('\n') != Some(blake3::hash(line.as_bytes()).to_hex().as_str()) {
            return Err(damaged());
        }
        let AnyFormat { format } = serde_json::from_str(line).map_err(|_| damaged())?;
        if format != FORMAT {
            return Err(ResetReason::OtherFormat);
        }
        let manifest: Self = serde_json::from_str(line).map_err(|_| damaged())?;
        let Owner { identity, token, dimensions } = &manifest.owner;
        if *identity != owner.identity || *dimensions != owner.dimensions {
            return Err(ResetReason::OtherVectors);
        }
        if *token != owner.token {
            return Err(ResetReason::OtherStore);
        }
        Ok(manifest)
    }

    /// Returns the file's bytes.
    pub(super) fn render(&self) -> io::Result<Vec<u8>> {
        let line = serde_json::to_string(self)?;
        let hash = blake3::hash(line.as_bytes()).to_hex();
        Ok(format!("{line}\n{hash}\n").into_bytes())
    }

    /// Replaces the previous file durably; returns the new bytes.
    pub(super) fn replace(&self, directory: &Path) -> io::Result<Vec<u8>> {
        let bytes = self.render()?;
        let draft = directory.join(DRAFT);
        remove_if_there(&draft)?;
        crate::platform::write_new_private_file(&draft, &bytes)?;
        std::fs::rename(&draft, directory.join(NAME))?;
        sync_directory(directory);
        Ok(bytes)
    }
}

/// Removes a file; succeeds also if there is none.
pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes names durable, where a directory can be opened for that.
pub(super) fn sync_directory(directory: &Path) {
    if let Ok(directory) = std::fs::File::open(directory) {
        let _ = directory.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Owner {
        Owner { identity: "model \"a\"\n1".to_owned(), token: "t".to_owned(), dimensions: 8 }
    }

    fn manifest() -> Manifest {
        let segment = SegmentRecord {
            number: 3,
            bytes: 1024,
            rows: 5,
            turns: 4,
            touched: 1,
            is_sketched: true,
            columns: "aa".to_owned(),
            content: "bb".to_owned(),
        };
        Manifest { position: u64::MAX, next: 4, segments: vec![segment], ..Manifest::empty(owner()) }
    }

    #[test]
    fn manifest_comes_back_from_its_bytes() {
        let bytes = manifest().render().unwrap();
        assert_eq!(Manifest::parse(&bytes, &owner()), Ok(manifest()));
    }

    #[test]
    fn any_changed_or_missing_byte_is_noticed() {
        let bytes = manifest().render().unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(Manifest::parse(&changed, &owner()).is_err(), "byte {at}");
            assert!(Manifest::parse(&bytes[..at], &owner()).is_err(), "{at} bytes");
        }
        assert!(Manifest::parse(&[bytes.as_slice(), b"\n"].concat(), &owner()).is_err());
    }

    #[test]
    fn manifest_of_another_is_told_from_a_damaged_one() {
        let parse = |manifest: Manifest| Manifest::parse(&manifest.render().unwrap(), &owner());
        let with = |owner| Manifest { owner, ..manifest() };
        assert_eq!(parse(Manifest { format: FORMAT + 1, ..manifest() }), Err(ResetReason::OtherFormat));
        assert_eq!(parse(with(Owner { identity: "b".to_owned(), ..owner() })), Err(ResetReason::OtherVectors));
        assert_eq!(parse(with(Owner { dimensions: 9, ..owner() })), Err(ResetReason::OtherVectors));
        assert_eq!(parse(with(Owner { token: "u".to_owned(), ..owner() })), Err(ResetReason::OtherStore));
    }
}
