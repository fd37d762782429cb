//! A separate computer for each test: nothing of the real one's environment, home or configuration reaches
//! the program.
//!
//! - [`TestEnvironment`]: home, data directory, working directory
//! - [`Runner`]: one call of the program
//! - [`Outcome`]: the result of a call, with the temporary paths removed

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use serde_json::Value;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_yore");

pub(crate) struct TestEnvironment {
    root: PathBuf,
    /// Removes everything when dropped.
    _directory: tempfile::TempDir,
}

impl TestEnvironment {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["home", "work"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        Self { root, _directory: directory }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Returns the data directory, which the program creates.
    pub(crate) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.data().join("yore.db")
    }

    /// Returns Claude Code's directory.
    pub(crate) fn claude(&self) -> PathBuf {
        self.root.join("home").join(".claude")
    }

    /// Returns the directory of Claude Code's transcripts.
    pub(crate) fn projects(&self) -> PathBuf {
        self.claude().join("projects")
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Returns a call of `yore` with these arguments.
    pub(crate) fn yore<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Runner {
        let mut runner = self.program(PROGRAM);
        runner.command.args(arguments);
        runner
    }

    /// Returns a call of another program in the same environment.
    pub(crate) fn program(&self, program: impl AsRef<OsStr>) -> Runner {
        let home = self.root.join("home");
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.root.join("work"));
        command.env("YORE_HOME", self.data()).env("TZ", "UTC0").env("YORE_DAEMON__AUTOSTART", "false");
        // Nobody listens there: the real computer's model server is none of this one's.
        command.env("OLLAMA_HOST", "127.0.0.1:1");
        for name in ["HOME", "USERPROFILE"] {
            command.env(name, &home);
        }
        command.env("APPDATA", home.join("AppData/Roaming")).env("LOCALAPPDATA", home.join("AppData/Local"));
        // Without these, helpers are not found and nothing starts on Windows.
        for name in ["PATH", "SystemRoot"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        Runner { command, stdin: Vec::new(), root: self.root.clone() }
    }

    /// Ingests a path.
    pub(crate) fn ingest(&self, path: &Path) -> Outcome {
        self.yore(["ingest"]).arg(path).run().success()
    }

    /// Checks that `yore doctor --deep` reports no problem.
    #[track_caller]
    pub(crate) fn is_sound(&self) {
        let outcome = self.yore(["doctor", "--deep", "--json"]).run();
        let findings = outcome.json();
        for finding in findings.as_array().unwrap() {
            let is_ours = !matches!(finding["code"].as_str(), Some("retention" | "archive-sources" | "disk"));
            let is_well = matches!(finding["severity"].as_str(), Some("fine" | "note"));
            assert!(is_well || !is_ours, "{finding}");
        }
        assert!(findings.as_array().unwrap().iter().any(|finding| finding["code"] == "archive"), "{findings}");
    }
}

/// One call of the program.
#[must_use = "nothing happens until it is run"]
pub(crate) struct Runner {
    command: Command,
    stdin: Vec<u8>,
    root: PathBuf,
}

impl Runner {
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    pub(crate) fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.command.current_dir(directory);
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Self {
        bytes.as_ref().clone_into(&mut self.stdin);
        self
    }

    /// The same command started by a shell, whose script has it as `$0` and `$@`.
    #[cfg(unix)]
    pub(crate) fn through_shell(mut self, script: &str) -> Self {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(script).arg(self.command.get_program()).args(self.command.get_args()).env_clear();
        shell.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(directory) = self.command.get_current_dir() {
            shell.current_dir(directory);
        }
        self.command = shell;
        self
    }

    /// Runs to the end.
    #[must_use = "say how it must have ended"]
    #[track_caller]
    pub(crate) fn run(mut self) -> Outcome {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let bytes = self.stdin;
        // Not every program reads its input to the end.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let outcome = Outcome {
            status: output.status,
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            root: self.root,
        };
        assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
        outcome
    }

    /// Starts with pipes, for a dialogue.
    #[cfg(unix)]
    pub(crate) fn start_piped(mut self) -> Child {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
    }

    /// Starts without input and output, but standard error.
    pub(crate) fn start_with_log(mut self) -> Child {
        self.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Starts without input and output.
    pub(crate) fn start(mut self) -> Child {
        self.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }
}

/// The result of a call.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    root: PathBuf,
}

impl Outcome {
    #[track_caller]
    pub(crate) fn success(self) -> Self {
        self.ends_with(0)
    }

    #[track_caller]
    pub(crate) fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{}\n{}", self.stdout, self.stderr);
        self
    }

    /// The error's code, from its line on standard error.
    #[track_caller]
    pub(crate) fn code(&self) -> &str {
        let line = self.stderr.lines().find(|line| line.starts_with("error: ")).unwrap_or_else(|| panic!("{}", self.stderr));
        line.rsplit_once(" [").and_then(|(_, code)| code.strip_suffix(']')).unwrap_or_else(|| panic!("{line}"))
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }

    /// Returns everything a user sees, without the parts that differ from run to run.
    pub(crate) fn shown(&self) -> String {
        let mut shown = self.stdout.clone();
        if !self.stderr.is_empty() {
            shown.push_str("--- standard error\n");
            shown.push_str(&self.stderr);
        }
        if self.status.code() != Some(0) {
            shown.push_str(&format!("--- exit code {:?}\n", self.status.code()));
        }
        without_sizes(&shown.replace(&*self.root.to_string_lossy(), "[root]"))
    }
}

/// Replaces `1.5 MB` by `[size]` and `7.5 %` by `[share]`, and drops the hashes of markers, which depend on a
/// key that is random for every data directory.
fn without_sizes(text: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let unit = ["kB", "MB", "GB", "B", "%"].iter().find(|unit| word.starts_with(**unit));
        let number = out.last().map(|last| last.trim_start_matches('(')).unwrap_or_default();
        let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
        match unit.map(|unit| (unit, &word[unit.len()..])) {
            Some((unit, rest)) if is_number && !rest.starts_with(char::is_alphanumeric) => {
                let last = out.pop().unwrap_or_default();
                let name = if *unit == "%" { "[share]" } else { "[size]" };
                out.push(format!("{}{name}{rest}", &last[..last.len() - last.trim_start_matches('(').len()]));
            }
            _ => out.push(word.to_owned()),
        }
    }
    let text = out.join(" ");
    let mut parts = text.split("[yore:redacted ");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (kind, rest) = part.split_once(' ').unwrap_or((part, ""));
        kept.push_str(&format!("[yore:redacted {kind} [hash]{}", rest.trim_start_matches(|c: char| c.is_ascii_hexdigit())));
    }
    kept
}

#[test]
fn sizes_and_hashes_are_left_out_of_snapshots() {
    let shown = "kept 1.5 MB for 12 B (7.5 % of 3 Bytes) [yore:redacted token 00ff00ff] x";
    let expected = "kept [size] for [size] ([share] of 3 Bytes) [yore:redacted token [hash]] x";
    assert_eq!(without_sizes(shown), expected);
}
