//! The daemon's transport: an owner-only Unix socket, or a loopback port with a token where there are none.

use std::io;
use std::path::Path;

#[cfg(not(unix))]
pub use self::loopback::{Listener, Stream, connect, listen};
#[cfg(unix)]
pub use self::unix::{Listener, Stream, connect, listen};

/// The address of a listener, with its token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// A path, or an address on this computer.
    pub place: String,
    /// Token that every request must carry, if anyone on the computer can connect.
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

    /// Longest path of a socket, below the limits of the systems (104 bytes on macOS, 108 on Linux).
    const LONGEST_NAME: usize = 100;
    const NAME: &str = "daemon.sock";
    /// Time that one call of `accept` waits.
    const ACCEPT: Duration = Duration::from_secs(2);

    /// A listening socket; dropping it removes its name.
    pub struct Listener {
        inner: UnixListener,
        path: PathBuf,
        /// A directory that was created for this socket alone, and is removed with it.
        own: Option<PathBuf>,
    }

    impl Listener {
        /// Returns the next client; [`io::ErrorKind::WouldBlock`] if none came for a while.
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

    /// Listens in the data directory or, if its path is too long for a socket, in a directory of its own. The
    /// caller holds the daemon's lock, so an existing socket is a leftover.
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
        // The timeout also applies to `accept`, so that the accepting thread sees the end of the daemon even
        // if the name of the socket is gone and no client can connect any more.
        Stream::from(OwnedFd::from(inner.try_clone()?)).set_read_timeout(Some(ACCEPT))?;
        let place = path.to_str().ok_or(io::ErrorKind::InvalidFilename)?.to_owned();
        Ok((Listener { inner, path, own }, Address { place, token: None }))
    }

    /// Connects; may wait while the listener is busy.
    pub fn connect(address: &Address) -> io::Result<Stream> {
        Stream::connect(&address.place)
    }

    /// Returns the places for directories with short names.
    fn short_directories() -> Vec<PathBuf> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
        runtime.into_iter().chain([std::env::temp_dir(), PathBuf::from("/tmp")]).collect()
    }

    /// Returns a short directory that only the owner of the data directory can enter, and true if it is for
    /// one socket alone. Its name is the same each time. That name can be guessed, so if another user created
    /// it first, a random name is used. Clients read the path from the card.
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
            // Open to others, like a directory of another user.
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

    /// A listening port.
    pub struct Listener {
        inner: TcpListener,
    }

    impl Listener {
        /// Returns the next client.
        pub fn accept(&self) -> io::Result<Stream> {
            self.inner.accept().map(|(stream, _)| stream)
        }
    }

    /// Listens on a free loopback port. Clients must send a token, which is stored beside the port in a file
    /// in the data directory.
    pub fn listen(_directory: &Path) -> io::Result<(Listener, Address)> {
        let inner = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let place = inner.local_addr()?.to_string();
        Ok((Listener { inner }, Address { place, token: Some(yore_engine::platform::random_token()?) }))
    }

    /// Connects to the address, within half a second.
    pub fn connect(address: &Address) -> io::Result<Stream> {
        let place = address.place.parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        TcpStream::connect_timeout(&place, std::time::Duration::from_millis(500))
    }
}
