//! The data directory's secret key, and the keyed hashes made with it. It is 32 random bytes, readable by the owner only, never
//! exported. It keys the hashes in redaction markers, of lines, of source files and of forgotten items, so that no outsider can
//! guess the hashed content.

use std::io;
use std::path::Path;

use super::error::{IngestError, KeyProblem};
use crate::store::Store;
use yore_sources::redact::Redactor;

/// Keys for the different hashes, all derived from one file.
#[derive(Clone)]
pub(crate) struct Keys {
    /// Key for redaction markers.
    pub redaction: [u8; 32],
    /// Key for hashes of archived lines.
    pub line: [u8; 32],
    /// Key for fingerprints: hashes of the beginnings and ends of source files.
    pub fingerprint: [u8; 32],
    /// Key for tombstones of forgotten sessions and messages.
    pub tombstone: [u8; 32],
    /// Key for hashes of embedded texts.
    pub embedding: [u8; 32],
    /// Key for the digests of prompts in a session's ledger.
    pub ledger: [u8; 32],
    /// Key that seals saved agent settings.
    pub settings: [u8; 32],
    /// Key that seals exports.
    pub export: [u8; 32],
    /// Key for the check value that identifies the key itself.
    check: [u8; 32],
}

/// Returns the key for the digests that identify prompts in the ledgers of a data directory. Returns `None`
/// if nothing was read yet. Reads the key file and never creates it.
///
/// # Errors
/// When the key file cannot be read.
pub fn ledger_key(directory: &Path) -> io::Result<Option<[u8; 32]>> {
    Ok(Keys::load(&directory.join("key"))?.map(|keys| keys.ledger))
}

/// Returns the key that seals saved agent settings. Creates the key file if there is none.
///
/// # Errors
/// When the key file can be neither read nor written.
pub fn settings_key(directory: &Path) -> io::Result<[u8; 32]> {
    crate::platform::create_private_directory(directory)?;
    Ok(Keys::load_or_create(directory)?.settings)
}

/// Returns the key that seals exports, by which a memory recognises its own. Returns `None` if nothing was read yet. Reads the key file
/// and never creates it.
///
/// # Errors
/// When the key file cannot be read.
pub(crate) fn export_key(directory: &Path) -> io::Result<Option<[u8; 32]>> {
    Ok(Keys::load(&directory.join("key"))?.map(|keys| keys.export))
}

/// Returns a redactor for names, such as directories, that needs no preparation: see [`Redactor::for_names`].
/// If nothing was read yet there is no key, and the markers are keyed with zeros.
///
/// # Errors
/// When the key file cannot be read.
pub fn name_redactor(directory: &Path) -> io::Result<Redactor> {
    let keys = Keys::load(&directory.join("key"))?;
    Ok(Redactor::for_names(&keys.map_or([0; 32], |keys| keys.redaction)))
}

/// Name of the fact in the database that identifies its key.
const CHECK: &str = "key-check";

impl Keys {
    /// Returns the keys that this memory is written with. The first call creates them and records the check
    /// value in the database. Later a different key, or none, is refused: with it, everything forgotten for
    /// good would come back and every file would be read again.
    ///
    /// # Errors
    /// [`IngestError::Key`] for a key that is missing or foreign.
    pub(crate) fn of(store: &Store, directory: &Path) -> Result<Self, IngestError> {
        let path = directory.join("key");
        let fail = |error| IngestError::DataDirectory { path: path.clone(), error };
        let noted = store.fact(CHECK)?;
        match (Self::load(&path).map_err(fail)?, noted) {
            (Some(keys), Some(noted)) if keys.check() == noted => Ok(keys),
            (Some(_), Some(_)) => Err(Self::refused(store, &path, KeyProblem::Foreign)),
            (None, Some(_)) => Err(Self::refused(store, &path, KeyProblem::Missing)),
            (None, None) if store.is_keyed()? => Err(Self::refused(store, &path, KeyProblem::Missing)),
            (_, None) => {
                let keys = Self::load_or_create(directory).map_err(fail)?;
                store.set_fact(CHECK, &keys.check())?;
                Ok(keys)
            }
        }
    }

    /// Returns what is wrong with the key, if anything. Writes nothing.
    pub(crate) fn problem(store: &Store, directory: &Path) -> Result<Option<KeyProblem>, IngestError> {
        let path = directory.join("key");
        let keys = Self::load(&path).map_err(|error| IngestError::DataDirectory { path, error })?;
        Ok(match (keys, store.fact(CHECK)?) {
            (Some(keys), Some(noted)) if keys.check() != noted => Some(KeyProblem::Foreign),
            (None, Some(_)) => Some(KeyProblem::Missing),
            (None, None) if store.is_keyed()? => Some(KeyProblem::Missing),
            _ => None,
        })
    }

    /// Accepts the key that is there, or a new one, as the key of this memory.
    pub(crate) fn accept(store: &Store, directory: &Path) -> Result<Self, IngestError> {
        let fail = |error| IngestError::DataDirectory { path: directory.join("key"), error };
        let keys = Self::load_or_create(directory).map_err(fail)?;
        store.set_fact(CHECK, &keys.check())?;
        Ok(keys)
    }

    /// Returns the keys for hashes that are not stored: those of the key file, or keys derived from zeros if
    /// there is no file.
    pub(crate) fn for_reading(directory: &Path) -> io::Result<Self> {
        Ok(Self::load(&directory.join("key"))?.unwrap_or_else(|| Self::of_secret(&[0; 32])))
    }

    pub(crate) fn refused(store: &Store, path: &Path, problem: KeyProblem) -> IngestError {
        match store.tombstones() {
            Ok(forgotten) => IngestError::Key { path: path.to_path_buf(), problem, forgotten: forgotten.len() as u64 },
            Err(error) => error.into(),
        }
    }

    /// Returns a value that identifies the key and reveals nothing about it.
    fn check(&self) -> String {
        blake3::keyed_hash(&self.check, b"yore").to_hex()[..32].to_owned()
    }

    /// Reads the key file, or creates one.
    pub(crate) fn load_or_create(directory: &Path) -> io::Result<Self> {
        let path = directory.join("key");
        if let Some(keys) = Self::load(&path)? {
            return Ok(keys);
        }
        let mut secret = [0u8; 32];
        getrandom::fill(&mut secret).map_err(|error| io::Error::other(error.to_string()))?;
        let mut suffix = [0u8; 8];
        getrandom::fill(&mut suffix).map_err(|error| io::Error::other(error.to_string()))?;
        // The file is written under another name first and then linked: of two processes, the second finds
        // the key of the first.
        let draft = directory.join(format!("key.{:016x}", u64::from_le_bytes(suffix)));
        crate::platform::write_new_private_file(&draft, &secret)?;
        let linked = std::fs::hard_link(&draft, &path);
        std::fs::remove_file(&draft)?;
        match linked {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // Hard links are not supported here: the process that creates the file first wins.
            Err(_) => match crate::platform::write_new_private_file(&path, &secret) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            },
        }
        Self::load(&path)?.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the key file vanished"))
    }

    fn load(path: &Path) -> io::Result<Option<Self>> {
        let secret = match std::fs::read(path) {
            Ok(secret) => secret,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if secret.len() != 32 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{} is damaged: it must hold 32 bytes", path.display()),
            ));
        }
        Ok(Some(Self::of_secret(&secret)))
    }

    fn of_secret(secret: &[u8]) -> Self {
        Self {
            redaction: blake3::derive_key("yore 2026-11 redaction markers", secret),
            line: blake3::derive_key("yore 2026-11 archive lines", secret),
            fingerprint: blake3::derive_key("yore 2026-11 source fingerprints", secret),
            tombstone: blake3::derive_key("yore 2026-11 tombstones", secret),
            embedding: blake3::derive_key("yore 2026-11 embedded texts", secret),
            ledger: blake3::derive_key("yore 2026-11 ledgers", secret),
            settings: blake3::derive_key("yore 2026-11 agents' settings", secret),
            export: blake3::derive_key("yore 2026-11 exports", secret),
            check: blake3::derive_key("yore 2026-11 check of the key", secret),
        }
    }

    /// Returns the hash that a tombstone stores for a session or message.
    pub(crate) fn tombstone_hash(&self, agent: &str, what: &str, native_id: &str) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_keyed(&self.tombstone);
        for part in [agent, what, native_id] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let mut hash = [0u8; 16];
        hash.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        hash
    }
}
