//! Reads the first bytes of a file, apart from the main reading.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::Value;

/// Reads `length` bytes at `offset`, or fewer if the file has become shorter.
pub fn read_at(file: &mut File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the byte at `offset`; `None` at the end of the file.
pub fn byte_at(file: &mut File, offset: u64) -> io::Result<Option<u8>> {
    Ok(read_at(file, offset, 1)?.first().copied())
}

/// Returns the first JSON value within the first 256 KiB of a file.
pub fn first_value(path: &Path) -> Option<Value> {
    let mut file = File::open(path).ok()?;
    let head = read_at(&mut file, 0, 256 * 1024).ok()?;
    serde_json::Deserializer::from_slice(&head).into_iter::<Value>().next()?.ok()
}

/// Returns the first string value of a member `name` within the first 256 KiB of a file.
pub fn first_string(path: &Path, name: &str) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let head = read_at(&mut file, 0, 256 * 1024).ok()?;
    let key = format!("\"{name}\":\"");
    let at = memchr::memmem::find(&head, key.as_bytes())? + key.len() - 1;
    // Parses one JSON string, starting at the opening quote.
    serde_json::Deserializer::from_slice(&head[at..]).into_iter::<String>().next()?.ok()
}
