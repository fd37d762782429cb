//! Reads a few bytes of a file, apart from the main reading.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::Value;

use super::key::Keys;
use super::source::Source;

/// Number of bytes at each end of the archived part that are hashed to detect a rewritten file.
const FINGERPRINT_BYTES: u64 = 4096;

/// Returns keyed hashes of the first bytes of a file and of the last bytes before `end`.
pub(super) fn fingerprint(keys: &Keys, file: &mut File, end: u64) -> io::Result<Vec<u8>> {
    let head = read_at(file, 0, FINGERPRINT_BYTES.min(end))?;
    let tail = read_at(file, end.saturating_sub(FINGERPRINT_BYTES), FINGERPRINT_BYTES.min(end))?;
    let mut both = blake3::keyed_hash(&keys.fingerprint, &head).as_bytes()[..16].to_vec();
    both.extend_from_slice(&blake3::keyed_hash(&keys.fingerprint, &tail).as_bytes()[..16]);
    Ok(both)
}

/// Reads `length` bytes at `offset`, or fewer if the file has become shorter.
fn read_at(file: &mut File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn byte_at(file: &mut File, offset: u64) -> io::Result<Option<u8>> {
    Ok(read_at(file, offset, 1)?.first().copied())
}

/// Returns the session that a file's first line names.
pub(super) fn first_session(source: &dyn Source, path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let head = read_at(&mut file, 0, 256 * 1024).ok()?;
    let value = serde_json::Deserializer::from_slice(&head).into_iter::<Value>().next()?.ok()?;
    source.owner(&value).session.map(std::borrow::Cow::into_owned)
}

/// Returns the first string value of a member `name` within the first 256 KiB of a file.
pub(crate) fn first_string(path: &Path, name: &str) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let head = read_at(&mut file, 0, 256 * 1024).ok()?;
    let key = format!("\"{name}\":\"");
    let at = memchr::memmem::find(&head, key.as_bytes())? + key.len() - 1;
    // Parses one JSON string, starting at the opening quote.
    serde_json::Deserializer::from_slice(&head[at..]).into_iter::<String>().next()?.ok()
}
