//! Hashes the ends of a file's archived part; `unit` compares the hashes to detect a rewrite.

use std::fs::File;
use std::io;

use yore_sources::peek::read_at;

use super::key::Keys;

/// Number of bytes at each end of the archived part that are hashed.
const FINGERPRINT_BYTES: u64 = 4096;

/// Returns keyed hashes of the first bytes of a file and of the last bytes before `end`.
pub(super) fn fingerprint(keys: &Keys, file: &mut File, end: u64) -> io::Result<Vec<u8>> {
    let head = read_at(file, 0, FINGERPRINT_BYTES.min(end))?;
    let tail = read_at(file, end.saturating_sub(FINGERPRINT_BYTES), FINGERPRINT_BYTES.min(end))?;
    let mut both = blake3::keyed_hash(&keys.fingerprint, &head).as_bytes()[..16].to_vec();
    both.extend_from_slice(&blake3::keyed_hash(&keys.fingerprint, &tail).as_bytes()[..16]);
    Ok(both)
}
