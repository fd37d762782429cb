//! Projects and the aliases by which one is recognised: normalised remote, git directory, recorded directory.

use serde::{Deserialize, Serialize};

/// A name that identifies a project. Two directories with an equal alias are one project.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectAlias {
    /// A normalised remote, see [`normalize_remote`].
    Remote(String),
    /// The repository's common directory: worktrees share it.
    GitDir(String),
    /// A recorded working directory, see [`normalize_directory`].
    Directory(String),
    /// A name that the source itself gives.
    Name(String),
}

impl ProjectAlias {
    /// The stored name of the kind of alias.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Remote(_) => "remote",
            Self::GitDir(_) => "git_dir",
            Self::Directory(_) => "directory",
            Self::Name(_) => "name",
        }
    }

    /// Returns the alias with a stored kind and value.
    pub fn of(kind: &str, value: &str) -> Option<Self> {
        let value = value.to_owned();
        match kind {
            "remote" => Some(Self::Remote(value)),
            "git_dir" => Some(Self::GitDir(value)),
            "directory" => Some(Self::Directory(value)),
            "name" => Some(Self::Name(value)),
            _ => None,
        }
    }

    /// The stored value.
    pub fn value(&self) -> &str {
        match self {
            Self::Remote(value) | Self::GitDir(value) | Self::Directory(value) | Self::Name(value) => value,
        }
    }
}

/// Ports that the scheme implies: of ssh, http, https and git.
const USUAL_PORTS: [&str; 4] = ["22", "80", "443", "9418"];

/// Returns `host/path` of a git remote without scheme, user, password, query, `.git` and trailing slash, with
/// the host in lower case. A port stays unless it is the scheme's own, since two servers on one host are
/// different. `None` for a local path or an empty text.
///
/// ```
/// use yore_core::scope::normalize_remote;
/// let same = Some("github.com/Acme/tide".to_owned());
/// assert_eq!(normalize_remote("git@github.com:Acme/tide.git"), same);
/// assert_eq!(normalize_remote("https://user:pw@GitHub.com/Acme/tide/?private_token=x"), same);
/// assert_eq!(normalize_remote("ssh://git@github.com:22/Acme/tide.git"), same);
/// assert_eq!(normalize_remote("http://localhost:3000/Acme/tide"), Some("localhost:3000/Acme/tide".to_owned()));
/// assert_eq!(normalize_remote("/srv/git/tide.git"), None);
/// ```
pub fn normalize_remote(url: &str) -> Option<String> {
    let url = url.trim();
    let url = url.split(['?', '#']).next().unwrap_or(url);
    let (authority, path, is_url) = if let Some((scheme, rest)) = url.split_once("://") {
        if scheme.eq_ignore_ascii_case("file") {
            return None;
        }
        let (authority, path) = rest.split_once('/')?;
        (authority, path, true)
    } else {
        // The scp form; a colon after a slash belongs to a path, a single letter is a drive.
        let (authority, path) = url.split_once(':')?;
        if authority.contains('/') || authority.len() < 2 {
            return None;
        }
        (authority, path, false)
    };
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let (name, port) = match host.rsplit_once(':') {
        // `[::1]` ends with its bracket: the text after its last colon is not a port.
        Some((name, port)) if is_url && port.bytes().all(|byte| byte.is_ascii_digit()) => (name, port),
        _ => (host, ""),
    };
    let host = name.to_lowercase();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    if host.is_empty() || path.is_empty() {
        return None;
    }
    let port = if port.is_empty() || USUAL_PORTS.contains(&port) { String::new() } else { format!(":{port}") };
    Some(format!("{host}{port}/{path}"))
}

/// Returns a path with forward slashes, no trailing slash, no `.` and `..`, and a drive letter in lower case.
pub fn tidy_path(path: &str) -> String {
    let mut path = path.replace('\\', "/");
    if path.split('/').any(|part| matches!(part, "." | "..")) {
        let is_absolute = path.starts_with('/');
        let mut parts: Vec<&str> = Vec::new();
        for part in path.split('/') {
            match part {
                "." => {}
                ".." if parts.last().is_some_and(|last| !matches!(*last, "" | "..") && !last.ends_with(':')) => {
                    parts.pop();
                }
                ".." if is_absolute => {}
                part => parts.push(part),
            }
        }
        path = parts.join("/");
        if path.is_empty() {
            path.push_str(if is_absolute { "/" } else { "." });
        }
    }
    while path.len() > 1 && path.ends_with('/') {
        path.pop();
    }
    let bytes = path.as_bytes();
    if bytes.len() >= 2 && bytes[1] == b':' && bytes[0].is_ascii_alphabetic() {
        path[..1].make_ascii_lowercase();
    }
    path
}

/// Folders at which Linux sees the drives of Windows: WSL, Cygwin.
const DRIVES_BELOW: [&str; 2] = ["/mnt/", "/cygdrive/"];
/// Letters that name a drive at the root, as Git Bash writes it (`/c/code`). Others may be folders of a Linux.
const DRIVES_AT_ROOT: std::ops::RangeInclusive<u8> = b'c'..=b'h';
/// Servers under which Windows sees the files of WSL; the distribution follows.
const WSL_SERVERS: [&str; 2] = ["wsl$", "wsl.localhost"];

/// Returns the key form of a recorded directory: the same for every spelling of one folder. The recorded form is
/// kept beside it.
///
/// It is a tidy path ([`tidy_path`]). A folder on a drive of Windows is `c:/...`, in lower case, however the drive
/// is reached; a folder of WSL is its path inside the distribution.
///
/// ```
/// use yore_core::scope::normalize_directory;
/// for spelling in [r"C:\Code\Tide\", r"\\?\c:\code\tide", "/mnt/c/code/tide", "/c/code/./tide", r"\\wsl$\Ubuntu\mnt\c\Code\tide"] {
///     assert_eq!(normalize_directory(spelling), "c:/code/tide");
/// }
/// assert_eq!(normalize_directory(r"\\wsl.localhost\Ubuntu\home\ada\Pond"), "/home/ada/Pond");
/// ```
pub fn normalize_directory(path: &str) -> String {
    let slashed = path.replace('\\', "/");
    let mut single = String::with_capacity(slashed.len());
    for letter in slashed.chars() {
        // Two at the beginning mean a share.
        if letter != '/' || !single.ends_with('/') || single == "/" {
            single.push(letter);
        }
    }
    let tidy = tidy_path(&single);
    let mut path = tidy.as_str();
    let mut is_share = false;
    // Prefixes of Windows that switch its own normalisation off.
    while let Some(rest) = path.strip_prefix("//?/") {
        is_share = rest.get(..4).is_some_and(|unc| unc.eq_ignore_ascii_case("unc/"));
        path = if is_share { &rest[4..] } else { rest };
    }
    if let Some(rest) = path.strip_prefix("//").filter(|_| !is_share) {
        (is_share, path) = (true, rest);
    }
    let parts = path.split('/').filter(|part| !part.is_empty()).collect::<Vec<_>>();
    if is_share {
        // No server is called `?`: a prefix that stands twice.
        let server = parts.iter().position(|part| *part != "?").unwrap_or(parts.len());
        let parts = &parts[server..];
        return match parts {
            [] => "/".to_owned(),
            [drive, ..] if is_drive(drive) => parts.join("/").to_lowercase(),
            [server, rest @ ..] if WSL_SERVERS.iter().any(|wsl| wsl.eq_ignore_ascii_case(server)) => {
                key_of_unix(&format!("/{}", rest.get(1..).unwrap_or_default().join("/")))
            }
            _ => format!("//{}", parts.join("/")).to_lowercase(),
        };
    }
    if path.starts_with('/') {
        return key_of_unix(&format!("/{}", parts.join("/")));
    }
    let joined = parts.join("/");
    if parts.first().is_some_and(|first| is_drive(first)) { joined.to_lowercase() } else { joined }
}

/// Returns whether this component is a drive, such as `c:`.
fn is_drive(part: &str) -> bool {
    matches!(part.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic())
}

/// Returns the key form of an absolute path with single slashes.
fn key_of_unix(path: &str) -> String {
    let below = DRIVES_BELOW.iter().find_map(|folder| path.strip_prefix(folder));
    let drive = |rest: &str, is_letter: fn(&u8) -> bool| match rest.as_bytes() {
        [letter] | [letter, b'/', ..] if is_letter(letter) => Some(format!("{}:{}", &rest[..1], &rest[1..]).to_lowercase()),
        _ => None,
    };
    let at_root = &path[1..];
    below
        .and_then(|rest| drive(rest, u8::is_ascii_alphabetic))
        .or_else(|| drive(at_root, |letter| DRIVES_AT_ROOT.contains(&letter.to_ascii_lowercase())))
        // The address form: `/c:/code`.
        .or_else(|| at_root.split('/').next().is_some_and(is_drive).then(|| at_root.to_lowercase()))
        .unwrap_or_else(|| path.to_owned())
}

/// Returns whether `inner` is `outer` or a path below it; both in key form.
pub fn is_within(inner: &str, outer: &str) -> bool {
    inner == outer || (inner.starts_with(outer) && (outer == "/" || inner.as_bytes().get(outer.len()) == Some(&b'/')))
}

/// Returns the last component of a directory in key form: a project's first name.
pub fn directory_name(path: &str) -> &str {
    match path.rsplit('/').next() {
        Some(name) if !name.is_empty() => name,
        _ => path,
    }
}

/// The projects whose episodes a question is asked of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScopeChoice {
    /// The project of the current directory and the global scope (notes and pages that belong to no project);
    /// everything if the project is unknown.
    #[default]
    Current,
    /// The same, but nothing if the project is unknown.
    CurrentOnly,
    /// Everything.
    All,
    /// The projects with these names, ids or directories.
    Projects(Vec<String>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn directories_compare_by_component() {
        assert!(is_within("/a/b/c", "/a/b"));
        assert!(!is_within("/a/bc", "/a/b"));
        assert!(is_within("/a", "/"));
        assert_eq!(tidy_path(r"C:\Code\tide\"), "c:/Code/tide");
        assert_eq!(directory_name("/home/dev/tide"), "tide");
        assert_eq!(normalize_directory("/w/plain/../../z/./other/"), "/z/other");
        assert_eq!(normalize_directory("/../.."), "/");
        assert_eq!(normalize_directory(r"C:\w\..\.."), "c:/..");
        assert_eq!(normalize_directory("a/../../b"), "../b");
    }

    #[test]
    fn one_folder_has_one_key_in_every_spelling() {
        for (key, spellings) in [
            (
                "c:/code/tide",
                &[
                    r"C:\Code\tide",
                    r"c:\code\TIDE\",
                    "C:/Code/tide/",
                    "/mnt/c/Code/tide",
                    "/mnt/C/code/tide/",
                    "/c/Code/tide",
                    "/C/code//tide",
                    "/cygdrive/c/code/tide",
                    "/c:/code/tide",
                    r"\\?\C:\code\tide",
                    r"\\.\C:\code\tide",
                    r"C:\code\other\..\tide\.",
                    r"\\wsl$\Ubuntu\mnt\c\Code\Tide",
                    r"\\wsl.localhost\Ubuntu-24.04\mnt\c\Code\Tide",
                ][..],
            ),
            (
                "/home/ada/Pond",
                &[
                    "/home/ada/Pond",
                    "/home/ada/Pond/",
                    "/home/ada//Pond/.",
                    "/home/ada/x/../Pond",
                    r"\\wsl$\Ubuntu\home\ada\Pond",
                    r"\\WSL.localhost\Ubuntu-24.04\home\ada\Pond\",
                    "//wsl.localhost/Debian/home/ada/Pond",
                    r"\\?\UNC\wsl$\Ubuntu\home\ada\Pond",
                    r"\\?\UNC\?\wsl$\Ubuntu\home\ada\Pond",
                ],
            ),
            ("//nas/code/tide", &[r"\\NAS\Code\tide", r"\\?\UNC\nas\code\Tide", "//nas/code/tide/"]),
            ("c:", &["C:\\", "/mnt/c/", "/c", r"\\?\C:\"]),
            ("/", &["/", r"\\wsl$\Ubuntu\", "//"]),
        ] {
            for spelling in spellings {
                assert_eq!(normalize_directory(spelling), key, "{spelling}");
            }
        }
        for (one, other) in [
            ("/home/ada/pond", "/home/ada/Pond"),
            ("/mnt/data/pond", "/data/pond"),
            ("/code/pond", "/ork/pond"),
            (r"C:\pond", r"D:\pond"),
            (r"\\nas\pond", "/nas/pond"),
        ] {
            assert_ne!(normalize_directory(one), normalize_directory(other), "{one} {other}");
        }
    }

    proptest! {
        #[test]
        fn spellings_of_windows_keep_their_key(text in r"(//|/|\\\\)?(\?/|\./|wsl\$/|mnt/|unc/|[cz]:?/|[A-Z]|\.\./|/|\\){0,8}") {
            let once = normalize_directory(&text);
            prop_assert_eq!(normalize_directory(&once), once);
        }

        #[test]
        fn normalising_never_panics_and_is_idempotent(text in ".{0,40}") {
            normalize_remote(&text);
            let once = normalize_directory(&text);
            prop_assert_eq!(normalize_directory(&once), once);
        }

        #[test]
        fn credentials_never_reach_a_remote_alias(user in "[a-z]{1,8}", password in "[A-Za-z0-9]{12,20}") {
            let alias = normalize_remote(&format!("https://{user}:{password}@example.org/a/b.git")).unwrap();
            prop_assert_eq!(alias, "example.org/a/b");
        }
    }
}
