//! The data directory's secret: 32 random bytes, owner-only, never exported. Keys the hashes in
//! redaction markers, of lines, of files and of what was forgotten, so that none of them can be
//! guessed from outside.

use std::io;
use std::path::Path;

use super::error::{IngestError, KeyProblem};
use super::redact::Redactor;
use crate::store::Store;

/// Keys for the uses of hashing, all derived from one file.
#[derive(Clone)]
pub(crate) struct Keys {
    /// Redaction markers.
    pub redaction: [u8; 32],
    /// Lines of the archive.
    pub line: [u8; 32],
    /// Beginnings and ends of source files.
    pub fingerprint: [u8; 32],
    /// Sessions and messages that were forgotten.
    pub tombstone: [u8; 32],
    /// Texts that were embedded.
    pub embedding: [u8; 32],
    /// What a session was told something for.
    pub ledger: [u8; 32],
    /// What is kept of agents' settings.
    pub settings: [u8; 32],
    /// The key itself.
    check: [u8; 32],
}

/// Keys the digests by which a data directory's ledgers tell prompts apart; `None` where nothing was
/// read yet. The key file is read, never made.
///
/// # Errors
/// When the key file cannot be read.
pub fn ledger_key(directory: &Path) -> io::Result<Option<[u8; 32]>> {
    Ok(Keys::load(&directory.join("key"))?.map(|keys| keys.ledger))
}

/// Seals what is kept of agents' settings; the key file is made where there is none.
///
/// # Errors
/// When the key file can be neither read nor written.
pub fn settings_key(directory: &Path) -> io::Result<[u8; 32]> {
    crate::platform::create_private_directory(directory)?;
    Ok(Keys::load_or_create(directory)?.settings)
}

/// A redactor for names, such as directories, that is ready at once: see [`Redactor::for_names`]. Where nothing
/// was read yet there is no key, and its markers are nobody's.
///
/// # Errors
/// When the key file cannot be read.
pub fn name_redactor(directory: &Path) -> io::Result<Redactor> {
    let keys = Keys::load(&directory.join("key"))?;
    Ok(Redactor::for_names(&keys.map_or([0; 32], |keys| keys.redaction)))
}

/// Name of the fact by which the database knows its key.
const CHECK: &str = "key-check";

impl Keys {
    /// The keys that a memory is written with. The first time they are made and noted; later another key,
    /// or none, is refused: with it what was forgotten for good would come back, and every file would be
    /// read anew.
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

    /// What is wrong with the key, where something is; nothing is written.
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

    /// Lets the memory go on with the key that is there, or with a new one.
    pub(crate) fn accept(store: &Store, directory: &Path) -> Result<Self, IngestError> {
        let fail = |error| IngestError::DataDirectory { path: directory.join("key"), error };
        let keys = Self::load_or_create(directory).map_err(fail)?;
        store.set_fact(CHECK, &keys.check())?;
        Ok(keys)
    }

    /// The keys for what is not written down: those of the file, or, where there is none, nobody's.
    pub(crate) fn for_reading(directory: &Path) -> io::Result<Self> {
        Ok(Self::load(&directory.join("key"))?.unwrap_or_else(|| Self::of_secret(&[0; 32])))
    }

    pub(crate) fn refused(store: &Store, path: &Path, problem: KeyProblem) -> IngestError {
        match store.tombstone_count() {
            Ok(forgotten) => IngestError::Key { path: path.to_path_buf(), problem, forgotten },
            Err(error) => error.into(),
        }
    }

    /// By which a key is recognised, and which tells nothing of it.
    fn check(&self) -> String {
        blake3::keyed_hash(&self.check, b"yore").to_hex()[..32].to_owned()
    }

    /// Reads the key file, or writes one.
    pub(crate) fn load_or_create(directory: &Path) -> io::Result<Self> {
        let path = directory.join("key");
        if let Some(keys) = Self::load(&path)? {
            return Ok(keys);
        }
        let mut secret = [0u8; 32];
        getrandom::fill(&mut secret).map_err(|error| io::Error::other(error.to_string()))?;
        let mut suffix = [0u8; 8];
        getrandom::fill(&mut suffix).map_err(|error| io::Error::other(error.to_string()))?;
        // Written whole elsewhere, then linked: of two processes the second finds the first's.
        let draft = directory.join(format!("key.{:016x}", u64::from_le_bytes(suffix)));
        crate::platform::write_new_private_file(&draft, &secret)?;
        let linked = std::fs::hard_link(&draft, &path);
        std::fs::remove_file(&draft)?;
        match linked {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // No hard links here: whoever creates the file first wins.
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
            check: blake3::derive_key("yore 2026-11 check of the key", secret),
        }
    }

    /// What a tombstone of a session or message holds.
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
