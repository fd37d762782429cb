//! Records changed files with their original bytes, encrypted ([`sealed`]): `install.json` and `backups/install`. A process that
//! changes the record holds a [`Turn`].

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use yore_engine::ingest::settings_key;
use yore_engine::platform;

use super::{Part, Scope, sealed};
use crate::config::replace_file;

const NAME: &str = "install.json";
const VERSION: u32 = 1;

/// Keeps other processes from the record until it is dropped: each reads the whole record and writes all of
/// it.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "it is held")] Option<File>);

impl Turn {
    /// Waits for other processes. Where locks do not work, it does not wait.
    pub fn take(directory: &Path) -> io::Result<Self> {
        let locks = directory.join("locks");
        platform::create_private_directory(&locks)?;
        let path = locks.join("install");
        platform::create_private_file(&path)?;
        let file = OpenOptions::new().write(true).open(&path)?;
        Ok(Self(file.lock().is_ok().then_some(file)))
    }
}

/// All files that were changed.
#[derive(Debug)]
pub struct Record {
    directory: PathBuf,
    wire: Wire,
}

#[derive(Debug, Default, Deserialize, Serialize)]
struct Wire {
    version: u32,
    files: Vec<Changed>,
    /// Directories that were created for these files.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    directories: BTreeSet<PathBuf>,
}

/// A file that was changed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Changed {
    /// Path of the file.
    pub path: String,
    /// The agents that it was changed for.
    pub agents: BTreeSet<String>,
    /// The parts that `yore install` entered in it. Empty in records of yore before 0.2.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub parts: BTreeSet<Part>,
    /// User or project.
    pub scope: String,
    /// The file without yore's entries.
    pub before: Before,
    /// Hash of the original bytes, even if they held an entry of yore's.
    pub hash_before: Option<String>,
    /// Backup of the original bytes, if they held an older entry of yore's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// Hash of the bytes that yore wrote.
    pub hash_after: String,
}

/// The earlier state of a file.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Before {
    /// The file did not exist.
    Missing,
    /// The text in the backup of this name.
    Backup(String),
    /// The earlier text is unknown.
    Unknown,
}

/// Returns the hash of a text.
pub fn hash_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

impl Record {
    /// Reads the record of a data directory; a missing record is empty.
    ///
    /// # Errors
    /// The record cannot be read, or a newer yore wrote it.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join(NAME);
        let wire = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Wire { version: VERSION, ..Wire::default() },
            Err(error) => return Err(error),
            Ok(text) => serde_json::from_str(&text).map_err(io::Error::other)?,
        };
        if wire.version > VERSION {
            return Err(io::Error::other("it was written by a newer yore"));
        }
        Ok(Self { directory: directory.to_path_buf(), wire })
    }

    /// Returns all changed files.
    pub fn files(&self) -> &[Changed] {
        &self.wire.files
    }

    /// Returns the entry of a file, if it was changed.
    pub fn find(&self, path: &str) -> Option<&Changed> {
        self.wire.files.iter().find(|file| file.path == path)
    }

    /// Adds the entry of a file, in place of an older one.
    pub fn note(&mut self, file: Changed) -> io::Result<()> {
        self.wire.files.retain(|other| other.path != file.path);
        self.wire.files.push(file);
        self.wire.files.sort_by(|one, other| one.path.cmp(&other.path));
        self.save()
    }

    /// Records directories that were created.
    pub fn note_directories(&mut self, made: Vec<PathBuf>) -> io::Result<()> {
        if made.is_empty() {
            return Ok(());
        }
        self.wire.directories.extend(made);
        self.save()
    }

    /// Removes the created directories that are empty now.
    pub fn remove_directories(&mut self) -> io::Result<()> {
        let before = self.wire.directories.len();
        // Innermost first. A directory that is not empty stays; it is dropped from the record once no
        // recorded file is below it.
        let made: Vec<PathBuf> = self.wire.directories.iter().rev().cloned().collect();
        for directory in made {
            let is_gone = fs::remove_dir(&directory).is_ok() || !directory.exists();
            let is_used = self.wire.files.iter().any(|file| Path::new(&file.path).starts_with(&directory));
            if is_gone || !is_used {
                self.wire.directories.remove(&directory);
            }
        }
        if self.wire.directories.len() == before { Ok(()) } else { self.save() }
    }

    /// Drops a file from the record, with the backups that are no longer needed.
    pub fn forget(&mut self, path: &str) -> io::Result<()> {
        let gone: Vec<Changed> = self.wire.files.extract_if(.., |file| file.path == path).collect();
        if gone.is_empty() {
            return Ok(());
        }
        self.save()?;
        for file in gone {
            for name in backups_of(&file) {
                if !self.wire.files.iter().any(|other| backups_of(other).contains(&name)) {
                    // A backup that cannot be removed does no harm.
                    let _ = fs::remove_file(self.backups().join(name));
                }
            }
        }
        let _ = fs::remove_dir(self.backups());
        let _ = self.backups().parent().map(fs::remove_dir);
        Ok(())
    }

    fn save(&self) -> io::Result<()> {
        let path = self.directory.join(NAME);
        if self.wire.files.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let text = serde_json::to_string_pretty(&self.wire).map_err(io::Error::other)?;
        replace_file(&path, &(text + "\n"))
    }

    /// Stores a sealed backup of a text; returns its name.
    pub fn back_up(&self, path: &Path, text: &str) -> io::Result<String> {
        let name = name_of(path, text);
        let key = settings_key(&self.directory)?;
        replace_file(&self.backups().join(&name), sealed::seal(&key, text)?)?;
        Ok(name)
    }

    /// Stores a copy of a text in plain form, for its owner to read; returns its path.
    pub fn keep_copy(&self, path: &Path, text: &str) -> io::Result<PathBuf> {
        let copy = self.backups().join(name_of(path, text));
        replace_file(&copy, text)?;
        Ok(copy)
    }

    /// Returns the text of a backup, if it is unchanged.
    pub fn backup(&self, name: &str) -> Option<String> {
        let is_plain = !name.contains(['/', '\\']) && name != "..";
        let bytes = fs::read(self.backups().join(name)).ok().filter(|_| is_plain)?;
        let text = sealed::open(&settings_key(&self.directory).ok()?, bytes)?;
        name.starts_with(&hash_of(&text)[..16]).then_some(text)
    }

    /// Returns the directory of the backups.
    pub fn backups(&self) -> PathBuf {
        self.directory.join("backups").join("install")
    }
}

/// Returns the name of the backup of a text.
fn name_of(path: &Path, text: &str) -> String {
    format!("{}-{}", &hash_of(text)[..16], path.file_name().unwrap_or_default().to_string_lossy())
}

fn backups_of(file: &Changed) -> Vec<String> {
    let before = if let Before::Backup(name) = &file.before { Some(name.clone()) } else { None };
    before.into_iter().chain(file.replaced.clone()).collect()
}

impl Changed {
    /// Creates the entry of a file that is changed for the first time.
    pub fn new(path: String, scope: Scope) -> Self {
        Self {
            path,
            agents: BTreeSet::new(),
            parts: BTreeSet::new(),
            scope: scope.name().to_owned(),
            before: Before::Unknown,
            hash_before: None,
            replaced: None,
            hash_after: String::new(),
        }
    }
}
