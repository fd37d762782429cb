//! Checks whether a path exists and can be read, and whether a read failure is temporary.

use std::fs::File;
use std::io;
use std::path::Path;

/// Returns whether a read failure may be temporary, so that a retry makes sense.
pub fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionReset, HostUnreachable, Interrupted, NetworkDown, NetworkUnreachable, NotConnected,
        OutOfMemory, StaleNetworkFileHandle, TimedOut,
    };
    let is_known = matches!(
        error.kind(),
        ConnectionAborted
            | ConnectionReset
            | HostUnreachable
            | Interrupted
            | NetworkDown
            | NetworkUnreachable
            | NotConnected
            | OutOfMemory
            | StaleNetworkFileHandle
            | TimedOut
    );
    // Errors without a kind of their own: input or output, too many open files, a server that is down. On
    // Windows, a file (or a part of it) that another program has locked.
    let codes: &[i32] = if cfg!(windows) {
        &[32, 33, 1117]
    } else if cfg!(target_os = "macos") {
        &[5, 23, 24, 64]
    } else {
        &[5, 23, 24, 112, 121]
    };
    is_known || error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

/// Checks that a root can be read. A missing root is not an error.
pub fn readable(root: &Path) -> io::Result<()> {
    let outcome = root.metadata().and_then(|meta| {
        if meta.is_dir() {
            root.read_dir().map(drop)
        } else if meta.is_file() {
            File::open(root).map(drop)
        } else {
            Ok(())
        }
    });
    outcome.or_else(|error| if is_missing(&error) { Ok(()) } else { Err(error) })
}

/// Returns whether the error says that there is nothing, not that it cannot be read. A link to itself leads nowhere.
pub fn is_missing(error: &io::Error) -> bool {
    let loops = match () {
        () if cfg!(windows) => 1921,
        () if cfg!(any(target_os = "linux", target_os = "android")) => 40,
        () => 62,
    };
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) || error.raw_os_error() == Some(loops)
}

/// Returns whether a path exists, or may exist in a folder that cannot be read.
pub fn may_exist(path: &Path) -> bool {
    path.metadata().map_or_else(|error| !is_missing(&error), |_| true)
}

/// Returns whether a unit's file exists, or may exist. The name of a part follows a `#`.
pub fn is_there(name: &Path) -> bool {
    may_exist(name) || name.to_str().and_then(|name| name.rsplit_once('#')).is_some_and(|(file, _)| may_exist(Path::new(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_that_is_away_is_tried_again_and_a_forbidden_file_is_not() {
        for kind in [io::ErrorKind::TimedOut, io::ErrorKind::HostUnreachable, io::ErrorKind::StaleNetworkFileHandle] {
            assert!(is_passing(&kind.into()), "{kind}");
        }
        let code = if cfg!(windows) { 32 } else { 5 };
        assert!(is_passing(&io::Error::from_raw_os_error(code)));
        for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::InvalidData, io::ErrorKind::NotFound] {
            assert!(!is_passing(&kind.into()), "{kind}");
        }
    }
}
