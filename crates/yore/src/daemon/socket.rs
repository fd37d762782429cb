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
        }
    }

    /// Listens in the data directory, or, where its name is too long for a socket, in a directory
    /// of its own. Whoever calls holds the daemon's lock: a socket that lies there is nobody's.
    pub fn listen(directory: &Path) -> io::Result<(Listener, Address)> {
        let mut path = directory.join(NAME);
        if path.as_os_str().len() > LONGEST_NAME {
            path = private_directory(directory)?.join(NAME);
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
        Ok((Listener { inner, path }, Address { place, token: None }))
    }

    /// Connects; may wait while the listener has too much to do.
    pub fn connect(address: &Address) -> io::Result<Stream> {
        Stream::connect(&address.place)
    }

    /// A short directory that only the owner of the data directory can enter.
    fn private_directory(directory: &Path) -> io::Result<PathBuf> {
        let mut hasher = DefaultHasher::new();
        directory.hash(&mut hasher);
        let name = format!("yore-{:016x}", hasher.finish());
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
        let parents = runtime.into_iter().chain([std::env::temp_dir(), PathBuf::from("/tmp")]);
        let path = parents
            .map(|parent| parent.join(&name))
            .find(|path| path.join(NAME).as_os_str().len() <= LONGEST_NAME)
            .ok_or(io::ErrorKind::InvalidFilename)?;
        yore_engine::platform::create_private_directory(&path)?;
        let meta = std::fs::symlink_metadata(&path)?;
        // The name can be guessed: somebody else may have been there first.
        let is_ours = meta.is_dir() && meta.uid() == directory.metadata()?.uid() && meta.mode() & 0o077 == 0;
        if is_ours { Ok(path) } else { Err(io::ErrorKind::PermissionDenied.into()) }
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
