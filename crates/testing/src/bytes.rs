//! Searches every byte of a data directory for words.
//!
//! It searches: each file as stored; the content of every zstd frame in it, wherever the frame's magic
//! occurs; every value of every table of a SQLite database (the pages of a large value are not adjacent in
//! the file), also decompressed; every term of a full-text index, including those of deleted turns and of files that
//! the index does not use any more (terms are stored without the prefix that they share with their neighbour). A database's free pages must be empty,
//! since their content could not be interpreted.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use tantivy::directory::{CompositeFile, Directory};
use tantivy::termdict::TermDictionary;

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// All data in a data directory.
pub struct Scan {
    /// The place of each piece, and its bytes in lower case.
    pieces: Vec<(String, Vec<u8>)>,
}

impl Scan {
    /// Reads everything below `directory`. The database must not be written in the meantime.
    pub fn of(directory: &Path) -> Self {
        let mut scan = Self { pieces: Vec::new() };
        for path in files_below(directory) {
            let bytes = fs::read(&path).unwrap();
            let name = path.strip_prefix(directory).unwrap().display().to_string();
            scan.take(&name, &bytes);
            if bytes.starts_with(b"SQLite format 3\0") {
                scan.database(&name, &path);
                let log = path.with_file_name(format!("{}-wal", path.file_name().unwrap().display()));
                // Pages in the log are not in the file yet.
                if fs::metadata(log).map_or(0, |meta| meta.len()) == 0 {
                    check_free_pages(&name, &bytes);
                }
            }
            if path.file_name().is_some_and(|file| file == "meta.json") {
                scan.index(&name, path.parent().unwrap());
            }
        }
        scan
    }

    /// Returns the places of `needle`, ignoring case; empty if there are none.
    pub fn places(&self, needle: &str) -> Vec<&str> {
        let needle = needle.to_ascii_lowercase();
        let finder = memchr::memmem::Finder::new(needle.as_bytes());
        let mut places: Vec<&str> =
            self.pieces.iter().filter(|(_, bytes)| finder.find(bytes).is_some()).map(|(place, _)| place.as_str()).collect();
        places.dedup();
        places
    }

    fn take(&mut self, place: &str, bytes: &[u8]) {
        for at in memchr::memmem::find_iter(bytes, &ZSTD_MAGIC) {
            let mut content = Vec::new();
            if let Ok(decoder) = zstd::stream::read::Decoder::new(&bytes[at..]) {
                // A frame that is cut off gives the part that can be decompressed.
                let _ = decoder.single_frame().take(1 << 28).read_to_end(&mut content);
            }
            if !content.is_empty() {
                self.pieces.push((format!("{place}: zstd frame"), content.to_ascii_lowercase()));
            }
        }
        self.pieces.push((place.to_owned(), bytes.to_ascii_lowercase()));
    }

    fn database(&mut self, name: &str, path: &Path) {
        let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let tables: Vec<String> = db
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        for table in tables {
            let mut statement = db.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
            let columns = statement.column_count();
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                for column in 0..columns {
                    if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = row.get_ref_unwrap(column) {
                        self.take(&format!("{name}: {table}"), bytes);
                    }
                }
            }
        }
    }

    /// Takes the terms of every segment in the directory, also of those that no commit names.
    fn index(&mut self, name: &str, directory: &Path) {
        let index = tantivy::Index::open_in_dir(directory).unwrap();
        for file in files_below(directory).into_iter().filter(|file| file.extension().is_some_and(|ending| ending == "term")) {
            let slice = index.directory().open_read(Path::new(file.file_name().unwrap())).unwrap();
            let fields = CompositeFile::open(&slice).unwrap();
            for (field, entry) in index.schema().fields() {
                let Some(dictionary) = fields.open_read(field) else { continue };
                let dictionary = TermDictionary::open(dictionary).unwrap();
                let mut terms = dictionary.stream().unwrap();
                while terms.advance() {
                    self.pieces.push((format!("{name}: term of {}", entry.name()), terms.key().to_ascii_lowercase()));
                }
            }
        }
    }
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            files.extend(files_below(&entry.path()));
        } else {
            files.push(entry.path());
        }
    }
    files.sort();
    files
}

/// Checks that free pages are zero: they hold deleted content unless SQLite overwrote them (`secure_delete`).
fn check_free_pages(name: &str, bytes: &[u8]) {
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let size = match u16::from_be_bytes(bytes[16..18].try_into().unwrap()) {
        1 => 65_536,
        size => size as usize,
    };
    let mut trunk = number(32);
    while trunk != 0 {
        let start = (trunk - 1) * size;
        let leaves = number(start + 4);
        assert!(
            bytes[start + 8 + 4 * leaves..start + size].iter().all(|byte| *byte == 0),
            "{name}: free page {trunk} holds something"
        );
        for leaf in 0..leaves {
            let page = number(start + 8 + 4 * leaf);
            let content = &bytes[(page - 1) * size..page * size];
            assert!(content.iter().all(|byte| *byte == 0), "{name}: free page {page} holds something");
        }
        trunk = number(start);
    }
}
