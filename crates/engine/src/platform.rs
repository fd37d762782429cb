//! Differences between operating systems: private files, file locks, network file systems, priority of processes.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// Creates a directory (and its parents) that only its owner may enter. An existing one is left
/// as it is: `doctor` reports wrong permissions.
pub fn create_private_directory(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// Creates an empty file that only its owner may read, or leaves an existing one as it is.
pub fn create_private_file(path: &Path) -> io::Result<()> {
    private_options().append(true).create(true).open(path).map(drop)
}

/// Writes a new file that only its owner may read; fails if it exists.
pub fn write_new_private_file(path: &Path, content: &[u8]) -> io::Result<()> {
    use io::Write;
    let mut file: File = private_options().write(true).create_new(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Returns whether a small file can be written in a directory now: the directory exists, is writable, and has
/// room.
pub fn is_writable(directory: &Path) -> bool {
    let probe = directory.join(format!("probe.{}", std::process::id()));
    let written = write_new_private_file(&probe, &[0; 16_384]);
    let _ = fs::remove_file(&probe);
    written.is_ok()
}

/// Makes the names in a directory durable, where the system supports that.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// The advisory lock of a file, which keeps other processes out as long as the value exists. The operating
/// system releases it however a process ends.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Opens the file to lock, and creates it for its owner alone if it is missing. Nothing is locked yet.
    pub fn open(path: &Path) -> io::Result<Self> {
        create_private_file(path)?;
        Self::open_existing(path)
    }

    /// Opens a file that exists.
    pub fn open_existing(path: &Path) -> io::Result<Self> {
        OpenOptions::new().write(true).open(path).map(Self)
    }

    /// Tries to lock and returns whether it succeeded; `false` while another process holds the lock. Fails
    /// where the file system has no locks.
    pub fn try_lock(&self) -> io::Result<bool> {
        match self.0.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Waits until no other process holds the lock, and locks.
    pub fn wait(&self) -> io::Result<()> {
        self.0.lock()
    }

    /// Takes the lock of `path`, or returns `None` while another process holds it.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        let lock = Self::open(path)?;
        Ok(lock.try_lock()?.then_some(lock))
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // A child process that is being started has a copy of every descriptor until it runs its
        // own program; closing ours alone would leave the lock held until then.
        let _ = self.0.unlock();
    }
}

fn private_options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has a mode to set"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

/// Returns whether users other than the owner may read or write this file or directory. Always `false` where
/// permissions are access control lists that the home directory passes on.
pub fn is_open_to_others(path: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Ok(fs::metadata(path)?.permissions().mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        fs::metadata(path).map(|_| false)
    }
}

/// The result of [`close_to_writers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// This user or root.
    Trusted,
    /// Another user, who alone may write.
    Other,
    /// Another user, and more users may write.
    OtherAndOpen,
}

/// Makes a directory private that other users may write to, where this user may do that: on a file system
/// without modes it stays as it is, and `doctor` reports it. Returns whose directory it is; always
/// [`Owner::Trusted`] where permissions are access control lists.
///
/// # Errors
/// When the directory's owner and permissions cannot be read.
pub fn close_to_writers(path: &Path) -> io::Result<Owner> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (meta, me) = (fs::metadata(path)?, rustix::process::geteuid().as_raw());
        if meta.mode() & WRITABLE_BY_OTHERS != 0 && (meta.uid() == me || me == 0) {
            let _ = make_private(path);
        }
        Ok(owner(meta.uid(), meta.mode(), me))
    }
    #[cfg(not(unix))]
    {
        fs::metadata(path).map(|_| Owner::Trusted)
    }
}

#[cfg(unix)]
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Decides whose a file of this user and mode is for `me`. Root may write everywhere, whatever the mode is.
#[cfg(unix)]
fn owner(user: u32, mode: u32, me: u32) -> Owner {
    match mode & WRITABLE_BY_OTHERS {
        _ if user == me || user == 0 || me == 0 => Owner::Trusted,
        0 => Owner::Other,
        _ => Owner::OtherAndOpen,
    }
}

/// Device and number of a file, which tell it from one that took its place.
pub type FileId = (u64, u64);

/// Returns the identity of a file; `None` if it does not exist, or where files have none.
pub fn file_id(path: &Path) -> Option<FileId> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Removes every permission of other users.
pub fn make_private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = if fs::metadata(path)?.is_dir() { 0o700 } else { 0o600 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    }
    #[cfg(not(unix))]
    {
        fs::metadata(path).map(drop)
    }
}

/// Lowers the priority of the calling thread and of those that it starts, for work without a waiting user;
/// has no effect except on Unix.
pub fn lower_priority() {
    #[cfg(unix)]
    {
        // If the system refuses, the work is done all the same.
        let _ = rustix::process::nice(10);
    }
}

/// Lets the system end this process when it takes more memory or more seconds of the processor; has no effect
/// except on Unix.
pub fn limit_resources(memory_bytes: u64, cpu_seconds: u64) {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        for (resource, limit) in [(Resource::As, memory_bytes), (Resource::Cpu, cpu_seconds), (Resource::Core, 0)] {
            // A process without a limit is still ended by the process that waits for it.
            let _ = setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) });
        }
    }
    #[cfg(not(unix))]
    {
        let _ = (memory_bytes, cpu_seconds);
    }
}

/// Leaves the terminal and session that started this process, so that it does not end with them; has no
/// effect except on Unix.
pub fn leave_terminal() {
    #[cfg(unix)]
    {
        // Fails for a process that already leads a session; it has no other session to leave.
        let _ = rustix::process::setsid();
    }
}

/// Returns 256 random bits in hex: a secret that cannot be guessed.
///
/// # Errors
/// When the system gives no randomness.
pub fn random_token() -> io::Result<String> {
    let mut random = [0u8; 32];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns the name of the network file system that holds `path`, if it is on one. Known on Linux, from the
/// table of mounts; elsewhere SQLite itself reports files that it cannot lock.
pub fn network_file_system(path: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let path = path.canonicalize().ok()?;
    network_mount(&mounts, path.to_str()?)
}

fn network_mount(mounts: &str, path: &str) -> Option<String> {
    const NETWORK: [&str; 19] = [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "9p",
        "afs",
        "ceph",
        "fuse.ceph",
        "fuse.sshfs",
        "lustre",
        "gpfs",
        "beegfs",
        "glusterfs",
        "fuse.glusterfs",
        "panfs",
        "virtiofs",
        "fuse.rclone",
        "ocfs2",
    ];
    let (_, kind) = mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ').skip(1);
            Some((fields.next()?.replace("\\040", " "), fields.next()?))
        })
        .filter(|(mount, _)| yore_core::scope::is_within(path, mount))
        .max_by_key(|(mount, _)| mount.len())?;
    NETWORK.contains(&kind).then(|| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_is_free_once_dropped_even_while_a_starting_child_has_a_copy_of_its_descriptor() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let held = FileLock::take(&path).unwrap().unwrap();
        let copy = held.0.try_clone().unwrap();
        assert!(FileLock::take(&path).unwrap().is_none());
        drop(held);
        assert!(FileLock::take(&path).unwrap().is_some());
        drop(copy);
    }

    #[cfg(unix)]
    #[test]
    fn directory_that_others_may_write_to_is_made_private_by_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let mode = || fs::metadata(directory.path()).unwrap().permissions().mode() & 0o777;
        for (before, after) in [(0o777, 0o700), (0o720, 0o700), (0o755, 0o755), (0o700, 0o700)] {
            fs::set_permissions(directory.path(), fs::Permissions::from_mode(before)).unwrap();
            assert_eq!(close_to_writers(directory.path()).unwrap(), Owner::Trusted);
            assert_eq!(mode(), after, "{before:o}");
        }
        let (me, other) = (1000, 1001);
        for (user, by) in [(me, me), (0, me), (other, 0)] {
            assert_eq!(owner(user, 0o40777, by), Owner::Trusted);
        }
        assert_eq!(owner(other, 0o40755, me), Owner::Other);
        assert_eq!(owner(other, 0o40775, me), Owner::OtherAndOpen);
        assert_eq!(owner(other, 0o40757, me), Owner::OtherAndOpen);
    }

    #[test]
    fn deepest_mount_decides_whether_a_path_is_remote() {
        let mounts = "/dev/sda / ext4 rw 0 0\nsrv:/home /home nfs4 rw 0 0\n/dev/sdb /home/local\\040disk ext4 rw 0 0\n";
        assert_eq!(network_mount(mounts, "/home/dev/.local"), Some("nfs4".into()));
        assert_eq!(network_mount(mounts, "/home/local disk/yore"), None);
        assert_eq!(network_mount(mounts, "/homes"), None);
        for kind in ["lustre", "gpfs", "beegfs", "fuse.glusterfs", "panfs", "virtiofs", "fuse.rclone"] {
            let mounts = format!("/dev/sda / ext4 rw 0 0\nsrv /home {kind} rw 0 0\n");
            assert_eq!(network_mount(&mounts, "/home/dev").as_deref(), Some(kind));
        }
    }
}
