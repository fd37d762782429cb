//! Reads the lines of a file that may grow, shrink or end in the middle of a line meanwhile.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};

/// Maximum length of a line in bytes. Longer lines are counted and skipped; `reindex` tries them again while
/// the source exists.
pub const MAX_LINE_BYTES: usize = 128 * 1024 * 1024;

/// One physical line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line; [`Lines::bytes`] has its bytes without the newline.
    Complete {
        /// Offset of its first byte in the file.
        start: u64,
        /// Offset after its newline.
        end: u64,
        /// Whether it ends in a newline; the last bytes of a file need not.
        is_terminated: bool,
    },
    /// A line longer than the limit, which is normally [`MAX_LINE_BYTES`].
    TooLong {
        /// Offset of its first byte in the file.
        start: u64,
        /// Offset after its newline.
        end: u64,
    },
}

/// Reads the lines of a file from an offset up to the size that the file had when reading began.
pub struct Lines {
    reader: BufReader<File>,
    at: u64,
    size: u64,
    buffer: Vec<u8>,
    limit: usize,
}

impl Lines {
    /// Starts at `offset` of a file that is `size` bytes long.
    pub fn new(mut file: File, offset: u64, size: u64, limit: usize) -> io::Result<Self> {
        file.seek(SeekFrom::Start(offset))?;
        Ok(Self { reader: BufReader::with_capacity(256 * 1024, file), at: offset, size, buffer: Vec::new(), limit })
    }

    /// Returns the bytes of the line that [`Self::next_line`] returned last.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Returns the next line, or `None` at the end. The end comes early if the file shrank.
    pub fn next_line(&mut self) -> io::Result<Option<Line>> {
        self.buffer.clear();
        if self.buffer.capacity() > 8 * 1024 * 1024 {
            self.buffer = Vec::new();
        }
        let start = self.at;
        let mut is_too_long = false;
        loop {
            let left = self.size.saturating_sub(self.at);
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let available = &available[..available.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
            if available.is_empty() {
                if self.at == start {
                    return Ok(None);
                }
                return Ok(Some(if is_too_long {
                    Line::TooLong { start, end: self.at }
                } else {
                    Line::Complete { start, end: self.at, is_terminated: false }
                }));
            }
            let newline = memchr::memchr(b'\n', available);
            let taken = newline.unwrap_or(available.len());
            if !is_too_long && self.buffer.len() + taken > self.limit {
                is_too_long = true;
                self.buffer = Vec::new();
            }
            if !is_too_long {
                self.buffer.extend_from_slice(&available[..taken]);
            }
            let consumed = taken + usize::from(newline.is_some());
            self.reader.consume(consumed);
            self.at += consumed as u64;
            if newline.is_some() {
                return Ok(Some(if is_too_long {
                    Line::TooLong { start, end: self.at }
                } else {
                    Line::Complete { start, end: self.at, is_terminated: true }
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn lines_of(content: &[u8], limit: usize) -> Vec<(Line, Vec<u8>)> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        let mut lines = Lines::new(file, 0, content.len() as u64, limit).unwrap();
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            found.push((line, lines.bytes().to_vec()));
        }
        found
    }

    #[test]
    fn last_line_without_newline_is_marked() {
        let found = lines_of(b"one\n\ntwo", 100);
        assert_eq!(found[0], (Line::Complete { start: 0, end: 4, is_terminated: true }, b"one".to_vec()));
        assert_eq!(found[1].0, Line::Complete { start: 4, end: 5, is_terminated: true });
        assert_eq!(found[2], (Line::Complete { start: 5, end: 8, is_terminated: false }, b"two".to_vec()));
    }

    #[test]
    fn too_long_line_is_passed_over_without_being_kept() {
        let found = lines_of(b"short\nmuch too long\nshort\n", 8);
        assert_eq!(found[1], (Line::TooLong { start: 6, end: 20 }, Vec::new()));
        assert_eq!(found[2].1, b"short");
    }

    #[test]
    fn file_that_grew_is_read_to_its_first_size_only() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"one\ntwo\nthree\n").unwrap();
        let mut lines = Lines::new(file, 4, 8, 100).unwrap();
        assert_eq!(lines.next_line().unwrap(), Some(Line::Complete { start: 4, end: 8, is_terminated: true }));
        assert_eq!(lines.next_line().unwrap(), None);
    }
}
