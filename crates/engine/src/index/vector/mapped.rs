//! Memory-mapped files, and the conversion of their bytes to numbers (`unsafe`).
//!
//! Segments are written once, under a name that no other process opens before it is complete, and are only
//! ever unlinked afterwards, never truncated or overwritten; an unlinked file stays readable through its map.
//! One risk remains: if another program truncates the file, or the disk fails under a page, the system ends
//! the process (SIGBUS) when it touches the page. The length is compared with the manifest before anything
//! else is read.

#![expect(unsafe_code, reason = "mapping a file and viewing its aligned bytes as numbers")]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use memmap2::Mmap;

mod plain {
    /// Numbers without padding, for which every pattern of bits is a value.
    ///
    /// Private to this module, so that no other type can claim it.
    pub trait Plain: Copy {}
    impl Plain for u8 {}
    impl Plain for i8 {}
    impl Plain for u16 {}
    impl Plain for u32 {}
    impl Plain for u64 {}
    impl Plain for i64 {}
    impl Plain for f32 {}
}

pub(super) use plain::Plain;

/// Returns the bytes of numbers, in this machine's order.
pub(super) fn bytes_of<T: Plain>(numbers: &[T]) -> &[u8] {
    // SAFETY: `Plain` types have no padding, so every byte of the slice is initialised; a byte
    // needs no alignment; the length is that of the same memory.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast::<u8>(), size_of_val(numbers)) }
}

/// Returns bytes as numbers, if they are aligned and divide evenly.
pub(super) fn numbers_of<T: Plain>(bytes: &[u8]) -> Option<&[T]> {
    // SAFETY: `Plain` types accept every pattern of bits, and `align_to` gives only whole,
    // aligned values in the middle.
    let (before, numbers, after) = unsafe { bytes.align_to::<T>() };
    (before.is_empty() && after.is_empty()).then_some(numbers)
}

/// A whole file, mapped for reading.
#[derive(Debug)]
pub(super) struct Mapped {
    map: Mmap,
}

impl Mapped {
    /// Maps the file, which must have exactly `length` bytes, more than none.
    pub(super) fn open(path: &Path, length: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        let found = file.metadata()?.len();
        if found != length || found == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{found} bytes instead of {length}")));
        }
        // SAFETY: the file is never changed after it was completed (see the module's comment), so
        // the bytes behind the shared reference stay the same.
        let map = unsafe { Mmap::map(&file)? };
        if map.len() as u64 != length {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "changed while it was opened"));
        }
        Ok(Self { map })
    }

    /// Returns all bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Returns a range of bytes as numbers; empty if the range is outside the file, or not aligned.
    pub(super) fn numbers<T: Plain>(&self, range: Range<usize>) -> &[T] {
        self.map.get(range).and_then(numbers_of).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_from_their_bytes() {
        let numbers = [i64::MIN, -1, 0, 7, i64::MAX];
        assert_eq!(numbers_of::<i64>(bytes_of(&numbers)), Some(&numbers[..]));
        assert_eq!(numbers_of::<i64>(&bytes_of(&numbers)[1..]), None);
        assert_eq!(numbers_of::<i64>(&bytes_of(&numbers)[..39]), None);
        assert_eq!(numbers_of::<f32>(bytes_of(&[1.5f32, -0.0])).unwrap(), [1.5, -0.0]);
    }

    #[test]
    fn file_of_another_length_is_not_mapped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, bytes_of(&[1u32, 2, 3])).unwrap();
        assert_eq!(Mapped::open(&path, 12).unwrap().numbers::<u32>(4..12), [2, 3]);
        assert!(Mapped::open(&path, 12).unwrap().numbers::<u32>(4..16).is_empty());
        assert_eq!(Mapped::open(&path, 11).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(Mapped::open(&path, 13).unwrap_err().kind(), io::ErrorKind::InvalidData);
        std::fs::write(&path, []).unwrap();
        assert_eq!(Mapped::open(&path, 0).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
