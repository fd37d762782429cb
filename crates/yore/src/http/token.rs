//! The access token of the HTTP port: creates, reads and compares it. It opens the whole memory, and is in an owner-only file in
//! the data directory.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use yore_engine::platform;

/// Name of the token's file in the data directory.
pub const TOKEN: &str = "mcp-token";
/// Number of hexadecimal digits of a token.
const TOKEN_LENGTH: usize = 64;

/// Returns the token. It is made once, so that agents' settings stay valid; a token that others could read is
/// replaced.
pub fn token(directory: &Path) -> io::Result<String> {
    named(directory, TOKEN)
}

/// Returns the token in a file of this name, as [`token`] does.
pub fn named(directory: &Path, name: &str) -> io::Result<String> {
    if let Some(token) = known(&directory.join(name)) {
        return Ok(token);
    }
    let token = platform::random_token()?;
    let draft = directory.join(format!("{name}.{}.tmp", std::process::id()));
    let _ = std::fs::remove_file(&draft);
    platform::write_new_private_file(&draft, token.as_bytes())?;
    std::fs::rename(&draft, directory.join(name))?;
    Ok(token)
}

/// Returns the token, if there is one and only its owner can read it.
pub fn known_token(directory: &Path) -> Option<String> {
    known(&token_path(directory))
}

fn known(path: &Path) -> Option<String> {
    let mut token = String::new();
    File::open(path).ok()?.take(TOKEN_LENGTH as u64 + 1).read_to_string(&mut token).ok()?;
    let is_token = token.len() == TOKEN_LENGTH && token.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_token && !platform::is_open_to_others(path).ok()?).then_some(token)
}

/// Removes a token that others could read, since repaired permissions would not make it a secret again.
/// Returns whether there was one.
pub fn drop_open_token(directory: &Path) -> io::Result<bool> {
    let path = token_path(directory);
    match platform::is_open_to_others(&path) {
        Ok(true) => std::fs::remove_file(&path).map(|()| true),
        Ok(false) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn token_path(directory: &Path) -> PathBuf {
    directory.join(TOKEN)
}

/// Compares in constant time, so that the time does not show where the difference is.
pub fn is_same(said: &[u8], token: &[u8]) -> bool {
    let difference =
        said.iter().zip(token).fold(0, |difference, (said, token)| std::hint::black_box(difference | (said ^ token)));
    said.len() == token.len() && difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_and_again_when_it_may_be_known() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(known_token(directory.path()), None);
        let first = token(directory.path()).unwrap();
        assert_eq!(first.len(), TOKEN_LENGTH);
        assert_eq!(token(directory.path()).unwrap(), first);
        let path = token_path(directory.path());
        assert!(!platform::is_open_to_others(&path).unwrap());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
            let second = token(directory.path()).unwrap();
            assert_ne!(second, first);
            assert!(!platform::is_open_to_others(&path).unwrap());
            assert!(!drop_open_token(directory.path()).unwrap() && path.exists());
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
            assert!(drop_open_token(directory.path()).unwrap() && !path.exists());
            assert!(!drop_open_token(directory.path()).unwrap());
        }
        std::fs::write(&path, "short").unwrap();
        assert_eq!(token(directory.path()).unwrap().len(), TOKEN_LENGTH);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn tokens_are_equal_or_not() {
        assert!(is_same(b"abc", b"abc"));
        for said in ["", "ab", "abd", "abcd", "ABC"] {
            assert!(!is_same(said.as_bytes(), b"abc"), "{said}");
        }
    }
}
