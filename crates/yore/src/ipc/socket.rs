//! Where the daemon listens: a Unix socket that only its owner reaches, or, where there is none,
//! a port of this computer's own with a token that stands in an owner-only file.

use std::io;
use std::path::Path;

#[cfg(not(unix))]
pub use self::loopback::{Listener, Stream, connect, listen};
#[cfg(unix)]
pub use self::unix::{Listener, Stream, connect, listen};

/// Where a listener is reached, and what is to be said there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// A path, or an address of this computer.
    pub place: String,
    /// What every request must carry, where anybody on the computer can connect.
    pub token: Option<String>,
}

#[cfg(unix)]
mod unix {
    use std::hash::{DefaultHasher, Hash, Hasher};
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;
    use std::time::Duration;

    use super::{Address, Path, io};

    /// A connected socket.
    pub type Stream = std::os::unix::net::UnixStream;

    /// Longer names fit no socket on some systems (104 bytes on macOS, 108 on Linux).
    const LONGEST_NAME: usize = 100;
    const NAME: &str = "daemon.sock";
    /// How long accepting waits at a time.
    const ACCEPT: Duration = Duration::from_secs(2);

    /// A socket that is listened to; its name goes with it.
    pub struct Listener {
        inner: UnixListener,
        path: PathBuf,
        /// A directory that was made for this socket alone, and goes with it.
        own: Option<PathBuf>,
    }

    impl Listener {
        /// The next client; [`io::ErrorKind::WouldBlock`] when none came for a while.
        pub fn accept(&self) -> io::Result<Stream> {
            self.inner.accept().map(|(stream, _)| stream)
        }
    }

    impl Drop for Listener {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.path);
            if let Some(own) = &self.own {
                let _ = std::fs::remove_dir(own);
            }
        }
    }

    /// Listens in the data directory, or, where its name is too long for a socket, in a directory
    /// of its own. Whoever calls holds the daemon's lock: a socket that lies there is nobody's.
    pub fn listen(directory: &Path) -> io::Result<(Listener, Address)> {
        let mut path = directory.join(NAME);
        let mut own = None;
        if path.as_os_str().len() > LONGEST_NAME {
            let parents = short_directories();
            let (short, is_own) = private_directory(directory, &parents)?;
            path = short.join(NAME);
            own = is_own.then_some(short);
        }
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let inner = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        // A time-out holds for accepting as well: whoever waits there sees when all is to end, even
        // where the name of the socket is gone and nobody can connect any more.
        Stream::from(OwnedFd::from(inner.try_clone()?)).set_read_timeout(Some(ACCEPT))?;
        let place = path.to_str().ok_or(io::ErrorKind::InvalidFilename)?.to_owned();
        Ok((Listener { inner, path, own }, Address { place, token: None }))
    }

    /// Connects; may wait while the listener has too much to do.
    pub fn connect(address: &Address) -> io::Result<Stream> {
        Stream::connect(&address.place)
    }

    /// Where directories with short names can be.
    fn short_directories() -> Vec<PathBuf> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
        runtime.into_iter().chain([std::env::temp_dir(), PathBuf::from("/tmp")]).collect()
    }

    /// A short directory that only the owner of the data directory can enter, and whether it is for one socket alone.
    /// Its name is the same each time; where somebody else was there first, for that name can be guessed, it is one that
    /// nobody guesses. Clients read it from the card.
    fn private_directory(directory: &Path, parents: &[PathBuf]) -> io::Result<(PathBuf, bool)> {
        let mut hasher = DefaultHasher::new();
        directory.hash(&mut hasher);
        let usual = format!("yore-{:016x}", hasher.finish());
        let parent = parents
            .iter()
            .find(|parent| parent.join(&usual).join(NAME).as_os_str().len() <= LONGEST_NAME)
            .ok_or(io::ErrorKind::InvalidFilename)?;
        let owner = directory.metadata()?.uid();
        let is_ours = |path: &Path| -> io::Result<bool> {
            let meta = std::fs::symlink_metadata(path)?;
            Ok(meta.is_dir() && meta.uid() == owner && meta.mode() & 0o077 == 0)
        };
        let path = parent.join(&usual);
        if yore_engine::platform::create_private_directory(&path).is_ok() && is_ours(&path)? {
            return Ok((path, false));
        }
        let unguessed = &yore_engine::platform::random_token()?[..16];
        let path = parent.join(format!("yore-{unguessed}"));
        // Fails where it exists.
        std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700).create(&path)?;
        if is_ours(&path)? { Ok((path, true)) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn directory_that_somebody_else_made_first_does_not_keep_the_daemon_from_listening() {
            let home = tempfile::tempdir().unwrap();
            let data = home.path().join("data");
            std::fs::create_dir(&data).unwrap();
            let parents = [home.path().to_path_buf()];
            let (usual, is_own) = private_directory(&data, &parents).unwrap();
            assert!(!is_own);
            assert_eq!(private_directory(&data, &parents).unwrap().0, usual, "the same each time");
            // Open to others, as somebody else's would have to be.
            std::fs::remove_dir(&usual).unwrap();
            let elsewhere = home.path().join("elsewhere");
            std::fs::create_dir(&elsewhere).unwrap();
            std::fs::set_permissions(&elsewhere, std::fs::Permissions::from_mode(0o777)).unwrap();
            std::os::unix::fs::symlink(&elsewhere, &usual).unwrap();
            let (other, is_own) = private_directory(&data, &parents).unwrap();
            assert!(is_own && other != usual && other != elsewhere);
            assert_eq!(std::fs::metadata(&other).unwrap().mode() & 0o777, 0o700);
        }
    }
}

#[cfg(not(unix))]
mod loopback {
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use super::{Address, Path, io};

    /// A connected socket.
    pub type Stream = TcpStream;

    /// A port that is listened to.
    pub struct Listener {
        inner: TcpListener,
    }

    impl Listener {
        /// The next client.
        pub fn accept(&self) -> io::Result<Stream> {
            self.inner.accept().map(|(stream, _)| stream)
        }
    }

    /// Listens on a free port of this computer's own address. Who may speak is told by a token,
    /// which stands beside the port in a file in the data directory.
    pub fn listen(_directory: &Path) -> io::Result<(Listener, Address)> {
        let inner = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let place = inner.local_addr()?.to_string();
        Ok((Listener { inner }, Address { place, token: Some(yore_engine::platform::random_token()?) }))
    }

    /// Connects.
    pub fn connect(address: &Address) -> io::Result<Stream> {
        let place = address.place.parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        TcpStream::connect_timeout(&place, std::time::Duration::from_millis(500))
    }
}
