//! Vectors kept across runs, for measurements that embed the same texts again and again. (The vectors of a
//! memory are in its store.)
//!
//! There is one file for each [identity](super::Embedder::identity), so that vectors of different models are
//! never mixed:
//!
//! ```text
//! header: "yore-vectors 1\n", dimensions u32, length u32, identity, check 8
//! record: BLAKE3 of the text 16, vector f32 × dimensions, check 8        (numbers little-endian)
//! ```
//!
//! A check is the BLAKE3 of all that precedes it in the header or the record. Records are only appended, each
//! in one write. A killed process leaves at most one torn record at the end; a power cut may leave several.
//! Torn records fail their check, and the next writer cuts them off. A damaged record before the end is
//! skipped.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::platform::{self, FileLock};

const MAGIC: &[u8] = b"yore-vectors 1\n";
const HASH: usize = 16;
const CHECK: usize = 8;

/// Hash of a text, the key of its vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextHash([u8; HASH]);

impl TextHash {
    /// Returns the hash of a text, byte for byte.
    pub fn of(text: &str) -> Self {
        let mut hash = [0; HASH];
        hash.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..HASH]);
        Self(hash)
    }
}

/// An error of a cache of vectors. The cache can always be deleted.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// A file operation failed.
    #[error("the vector cache {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not a cache of vectors, or belongs to something else.
    #[error("{0} is not a vector cache of this model; delete it")]
    Foreign(PathBuf),
    /// The vector has a different length than those of the cache.
    #[error("a vector of {found} dimensions does not fit the cache {path} of {expected}")]
    Dimensions {
        /// The file.
        path: PathBuf,
        /// Numbers in a vector of the cache.
        expected: usize,
        /// Numbers in the given vector.
        found: usize,
    },
}

/// A file of vectors by text. One process at a time writes; others read the records that existed when they
/// opened it.
#[derive(Debug)]
pub struct EmbedCache {
    path: PathBuf,
    dimensions: usize,
    state: Mutex<State>,
    /// Lock held by the process that writes.
    lock: Option<FileLock>,
    skipped: usize,
}

#[derive(Debug)]
struct State {
    file: File,
    /// Offset of each text's record.
    offsets: HashMap<TextHash, u64>,
    /// Offset of the next record.
    end: u64,
    /// True if records were appended that may not be on disk yet.
    is_dirty: bool,
}

impl EmbedCache {
    /// Opens the file for `identity` in `directory`, and creates both if they are missing.
    pub fn open(directory: &Path, identity: &str, dimensions: usize) -> Result<Self, CacheError> {
        let name = blake3::hash(identity.as_bytes()).to_hex();
        let path = directory.join(format!("{}.vectors", &name[..32]));
        let failed = |source: io::Error| CacheError::Io { path: path.clone(), source };
        platform::create_private_directory(directory).map_err(failed)?;
        let lock = FileLock::take(&path.with_extension("lock")).map_err(failed)?;
        platform::create_private_file(&path).map_err(failed)?;
        let mut file = OpenOptions::new().read(true).write(lock.is_some()).open(&path).map_err(failed)?;
        let header = header(identity, dimensions);
        let length = file.metadata().map_err(failed)?.len();
        let mut begin = vec![0; header.len().min(usize::try_from(length).unwrap_or(usize::MAX))];
        file.read_exact(&mut begin).map_err(failed)?;
        if begin != header {
            // A torn header is the beginning of a valid one; any other content belongs to another program.
            if !header.starts_with(&begin) {
                return Err(CacheError::Foreign(path));
            }
            if lock.is_some() {
                file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(&header)).map_err(failed)?;
            }
        }
        let scan = scan(&file, header.len() as u64, dimensions).map_err(failed)?;
        if lock.is_some() && scan.end < file.metadata().map_err(failed)?.len() {
            file.set_len(scan.end).map_err(failed)?;
        }
        let state = State { file, offsets: scan.offsets, end: scan.end, is_dirty: false };
        Ok(Self { dimensions, state: Mutex::new(state), lock, skipped: scan.skipped, path })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether [`EmbedCache::put`] keeps vectors, that is whether no other process writes.
    pub fn is_writable(&self) -> bool {
        self.lock.is_some()
    }

    /// Returns the number of texts that have a vector.
    pub fn len(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).offsets.len()
    }

    /// Returns whether no text has a vector.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of damaged records that were skipped when it was opened.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// Returns the vector of a text, if it is in the cache and intact.
    pub fn get(&self, text: TextHash) -> Result<Option<Vec<f32>>, CacheError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(offset) = state.offsets.get(&text).copied() else { return Ok(None) };
        let mut record = vec![0; record_size(self.dimensions)];
        let read = state.file.seek(SeekFrom::Start(offset)).and_then(|_| state.file.read_exact(&mut record));
        match read {
            Ok(()) => {}
            // Another process cut the file: the vector is gone.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(source) => return Err(CacheError::Io { path: self.path.clone(), source }),
        }
        if sound(&record) != Some(text) {
            return Ok(None);
        }
        let numbers = &record[HASH..record.len() - CHECK];
        let number = |bytes: &[u8]| bytes.try_into().map_or(0.0, f32::from_le_bytes);
        Ok(Some(numbers.chunks_exact(4).map(number).collect()))
    }

    /// Stores the vector of a text. Returns whether it was stored: not if it is already in the cache, and not
    /// while another process writes.
    pub fn put(&self, text: TextHash, vector: &[f32]) -> Result<bool, CacheError> {
        let mismatch = || CacheError::Dimensions { path: self.path.clone(), expected: self.dimensions, found: vector.len() };
        if vector.len() != self.dimensions {
            return Err(mismatch());
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.lock.is_none() || state.offsets.contains_key(&text) {
            return Ok(false);
        }
        let mut record = Vec::with_capacity(record_size(self.dimensions));
        record.extend(text.0);
        record.extend(vector.iter().flat_map(|number| number.to_le_bytes()));
        record.extend(check(&record));
        let offset = state.end;
        let written = state.file.seek(SeekFrom::Start(offset)).and_then(|_| state.file.write_all(&record));
        written.map_err(|source| CacheError::Io { path: self.path.clone(), source })?;
        state.offsets.insert(text, offset);
        state.end += record.len() as u64;
        state.is_dirty = true;
        Ok(true)
    }
}

impl Drop for EmbedCache {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if state.is_dirty {
            // Records that do not reach the disk are embedded again.
            let _ = state.file.sync_data();
        }
    }
}

struct Scan {
    offsets: HashMap<TextHash, u64>,
    end: u64,
    skipped: usize,
}

/// Reads every record. The end is that of the last intact record.
fn scan(file: &File, begin: u64, dimensions: usize) -> io::Result<Scan> {
    let mut reader = BufReader::with_capacity(1 << 20, file);
    reader.seek(SeekFrom::Start(begin))?;
    let mut scan = Scan { offsets: HashMap::new(), end: begin, skipped: 0 };
    let mut record = vec![0; record_size(dimensions)];
    let (mut at, mut unsound) = (begin, 0);
    while read_whole(&mut reader, &mut record)? {
        match sound(&record) {
            Some(text) => {
                scan.offsets.insert(text, at);
                scan.skipped += std::mem::take(&mut unsound);
                scan.end = at + record.len() as u64;
            }
            None => unsound += 1,
        }
        at += record.len() as u64;
    }
    Ok(scan)
}

/// Fills the buffer; returns false at the end of the file.
fn read_whole(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn record_size(dimensions: usize) -> usize {
    HASH + 4 * dimensions + CHECK
}

fn check(bytes: &[u8]) -> [u8; CHECK] {
    let mut check = [0; CHECK];
    check.copy_from_slice(&blake3::hash(bytes).as_bytes()[..CHECK]);
    check
}

/// Returns the text hash of a record, if its check is correct.
fn sound(record: &[u8]) -> Option<TextHash> {
    let (content, expected) = record.split_at_checked(record.len().checked_sub(CHECK)?)?;
    let text = content.first_chunk::<HASH>()?;
    (check(content) == expected).then_some(TextHash(*text))
}

#[expect(clippy::cast_possible_truncation, reason = "an identity is a line, a vector has thousands of numbers at most")]
fn header(identity: &str, dimensions: usize) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend((dimensions as u32).to_le_bytes());
    header.extend((identity.len() as u32).to_le_bytes());
    header.extend(identity.as_bytes());
    header.extend(check(&header));
    header
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const IDENTITY: &str = "tiny sha256:0 rten 0";

    fn open(directory: &Path) -> EmbedCache {
        EmbedCache::open(directory, IDENTITY, 3).unwrap()
    }

    fn vector(number: u8) -> Vec<f32> {
        vec![f32::from(number), 0.5, -1.0]
    }

    fn name(number: u8) -> TextHash {
        TextHash::of(&number.to_string())
    }

    /// Returns the numbers below `count` whose texts are in the cache; their vectors must be right.
    fn held(cache: &EmbedCache, count: u8) -> Vec<u8> {
        (0..count)
            .filter(|number| {
                let found = cache.get(name(*number)).unwrap();
                assert!(found.is_none() || found == Some(vector(*number)));
                found.is_some()
            })
            .collect()
    }

    fn filled(directory: &Path, count: u8) -> PathBuf {
        let cache = open(directory);
        (0..count).for_each(|number| assert!(cache.put(name(number), &vector(number)).unwrap()));
        cache.path().to_path_buf()
    }

    #[test]
    fn vectors_are_there_again_after_reopening() {
        let directory = tempfile::tempdir().unwrap();
        let path = filled(directory.path(), 5);
        let cache = open(directory.path());
        assert_eq!(held(&cache, 6), [0, 1, 2, 3, 4]);
        assert!(!cache.put(name(2), &vector(9)).unwrap(), "what is kept is not replaced");
        assert_eq!(cache.get(name(2)).unwrap(), Some(vector(2)));
        assert_eq!(cache.len(), 5);
        assert!(!platform::is_open_to_others(&path).unwrap());
    }

    #[test]
    fn file_cut_at_any_byte_loses_only_what_was_cut() {
        let source = tempfile::tempdir().unwrap();
        let whole = fs::read(filled(source.path(), 4)).unwrap();
        let first = header(IDENTITY, 3).len();
        for length in 0..=whole.len() {
            let directory = tempfile::tempdir().unwrap();
            let path = open(directory.path()).path().to_path_buf();
            fs::write(&path, &whole[..length]).unwrap();
            let kept = u8::try_from(length.saturating_sub(first) / record_size(3)).unwrap();
            let expected: Vec<u8> = (0..kept).collect();
            let cache = open(directory.path());
            assert_eq!(held(&cache, 4), expected, "cut at {length}");
            assert!(cache.put(name(9), &vector(9)).unwrap());
            drop(cache);
            let cache = open(directory.path());
            assert_eq!(held(&cache, 10), expected.iter().copied().chain([9]).collect::<Vec<_>>(), "cut at {length}");
            assert_eq!(cache.skipped(), 0);
        }
    }

    #[test]
    fn any_damaged_byte_costs_one_vector_at_most() {
        let source = tempfile::tempdir().unwrap();
        let whole = fs::read(filled(source.path(), 3)).unwrap();
        let first = header(IDENTITY, 3).len();
        for at in 0..whole.len() {
            let directory = tempfile::tempdir().unwrap();
            let path = open(directory.path()).path().to_path_buf();
            let mut damaged = whole.clone();
            damaged[at] ^= 0x40;
            fs::write(&path, &damaged).unwrap();
            if at < first {
                let error = EmbedCache::open(directory.path(), IDENTITY, 3).unwrap_err();
                assert!(matches!(error, CacheError::Foreign(_)), "{at}: {error}");
                assert_eq!(fs::read(&path).unwrap(), damaged, "somebody else's file is left alone");
                continue;
            }
            let hit = u8::try_from((at - first) / record_size(3)).unwrap();
            let cache = open(directory.path());
            assert_eq!(held(&cache, 3), (0..3).filter(|number| *number != hit).collect::<Vec<_>>(), "{at}");
            assert_eq!(cache.skipped(), usize::from(hit < 2));
            assert!(cache.put(name(hit), &vector(hit)).unwrap());
            assert_eq!(held(&cache, 3), [0, 1, 2]);
        }
    }

    #[test]
    fn second_process_reads_while_the_first_writes() {
        let directory = tempfile::tempdir().unwrap();
        let writer = open(directory.path());
        assert!(writer.put(name(0), &vector(0)).unwrap());
        let reader = open(directory.path());
        assert!(writer.is_writable() && !reader.is_writable());
        assert!(writer.put(name(1), &vector(1)).unwrap());
        assert_eq!(held(&reader, 2), [0]);
        assert!(!reader.put(name(2), &vector(2)).unwrap());
        let later = open(directory.path());
        assert_eq!(held(&later, 3), [0, 1]);
        drop(writer);
        assert!(open(directory.path()).is_writable());
    }

    #[test]
    fn models_do_not_share_vectors() {
        let directory = tempfile::tempdir().unwrap();
        filled(directory.path(), 1);
        let other = EmbedCache::open(directory.path(), "another", 3).unwrap();
        assert!(other.is_empty());
        assert!(matches!(other.put(name(0), &[1.0]).unwrap_err(), CacheError::Dimensions { expected: 3, found: 1, .. }));
    }
}
