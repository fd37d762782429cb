use std::path::Path;
use std::process::Command;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::Context;
use super::doctor::process::{Ending, run as run_program};
use crate::error::{CliError, CliResult, Exit};
use crate::ipc::client::is_older;

/// See whether a newer version of yore is out
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    command: Sub,
}

#[derive(Debug, Subcommand)]
enum Sub {
    /// Ask the package client that installed this program for the newest version
    ///
    /// Only this command asks, and only that client: npm, pip, uv, Homebrew or apt, by its own settings and network. Nothing is installed.
    Check,
}

/// Name of the package in registries.
const PACKAGE: &str = "yore-memory";
const OWN: &str = env!("CARGO_PKG_VERSION");
/// Longest wait for a client.
const PATIENCE: Duration = Duration::from_secs(60);

/// A package client that installs yore.
struct Client {
    name: &'static str,
    /// The command that tells the newest version.
    query: Vec<String>,
    /// Finds that version in what the command prints; `None`: the client knows of none.
    newest: fn(&str) -> Option<String>,
    /// The command that installs it.
    upgrade: String,
}

impl Client {
    fn new(name: &'static str, query: &[&str], newest: fn(&str) -> Option<String>, upgrade: &str) -> Self {
        Self { name, query: query.iter().map(|word| (*word).to_owned()).collect(), newest, upgrade: upgrade.to_owned() }
    }

    /// Returns the client that installed a program, by the folder that it lies in. `exists` tells whether there is a file at a path.
    fn of(program: &Path, exists: &dyn Fn(&Path) -> bool) -> Option<Self> {
        let parts: Vec<&str> = program.iter().filter_map(|part| part.to_str()).collect();
        let has = |part: &str| parts.contains(&part);
        if has("node_modules") {
            let upgrade = format!("npm install --global {PACKAGE}@latest");
            return Some(Self::new(
                "npm",
                &["npm", "view", PACKAGE, "version"],
                |told| version_in(told.lines().next()?),
                &upgrade,
            ));
        }
        if has("Cellar") {
            return Some(Self::new("Homebrew", &["brew", "info", "--json=v2", "yore"], of_homebrew, "brew upgrade yore"));
        }
        if has("uv") && has("tools") {
            let upgrade = format!("uv tool upgrade {PACKAGE}");
            return Some(Self::new("uv", &["uv", "tool", "list", "--outdated"], of_uv, &upgrade));
        }
        let folder = program.parent()?;
        let python = ["python3", "python", "python.exe"].map(|name| folder.join(name)).into_iter().find(|path| exists(path));
        if program.starts_with("/usr/bin") && exists(&Path::new("/var/lib/dpkg/info").join(format!("{PACKAGE}.list"))) {
            let upgrade = format!("sudo apt update && sudo apt install {PACKAGE}");
            return Some(Self::new(
                "apt",
                &["apt-cache", "policy", PACKAGE],
                |told| version_in(after(told, "Candidate:")?),
                &upgrade,
            ));
        }
        let python = python?.to_str()?.to_owned();
        let upgrade = format!("{python} -m pip install --upgrade {PACKAGE}");
        let query = [&*python, "-m", "pip", "--disable-pip-version-check", "index", "versions", PACKAGE];
        Some(Self::new("pip", &query, |told| version_in(after(told, "yore-memory (")?), &upgrade))
    }
}

/// Returns what stands behind some words in the same line.
fn after<'t>(told: &'t str, words: &str) -> Option<&'t str> {
    told.lines().find_map(|line| line.split_once(words)).map(|(_, rest)| rest)
}

/// Returns the first version in a text.
fn version_in(text: &str) -> Option<String> {
    let is_version = |word: &&str| word.contains('.') && word.starts_with(|letter: char| letter.is_ascii_digit());
    let words = text.split(|letter: char| letter.is_whitespace() || "()[],v:".contains(letter));
    words.map(|word| word.trim_matches('.')).find(is_version).map(str::to_owned)
}

fn of_homebrew(told: &str) -> Option<String> {
    let told: Value = serde_json::from_str(told).ok()?;
    told.pointer("/formulae/0/versions/stable")?.as_str().map(str::to_owned)
}

/// uv lists only tools that have a newer version: `yore-memory v0.1.0 [latest: 0.2.0]`.
fn of_uv(told: &str) -> Option<String> {
    let line = told.lines().find(|line| line.starts_with(PACKAGE));
    Some(line.and_then(|line| version_in(after(line, "latest")?)).unwrap_or_else(|| OWN.to_owned()))
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let Sub::Check = arguments.command;
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let program = program.map_err(|error| CliError::io(Path::new("yore"), &error))?;
    let Some(client) = Client::of(&program, &|path| path.exists()) else {
        return Err(unknown(
            format!("no package client installed {}, so none can be asked", program.display()),
            "look where you got it from: the release's page, or `git pull` in a clone",
        ));
    };
    let newest = ask(&client)?;
    let is_newer = is_older(OWN, &newest);
    if context.printer.is_json() {
        context.printer.json(&json!({"version": OWN, "newest": newest, "client": client.name, "upgrade": client.upgrade}))?;
        return Ok(Exit::Success);
    }
    context.printer.line(match is_newer {
        true => format!("yore {newest} is out, this is {OWN}: `{}`", client.upgrade),
        false => format!("yore {OWN} is the newest that {} knows", client.name),
    })?;
    Ok(Exit::Success)
}

/// Returns the newest version that a client knows.
fn ask(client: &Client) -> CliResult<String> {
    let Client { name, query, .. } = client;
    let mut command = Command::new(&query[0]);
    command.args(&query[1..]);
    let ran = run_program(command, b"", PATIENCE);
    let shown = query.join(" ");
    let trouble = match ran.ending {
        Ending::Ended(Some(0)) => match (client.newest)(&ran.stdout) {
            Some(newest) => return Ok(newest),
            None => format!("{name} knows no version of {PACKAGE}"),
        },
        Ending::Ended(_) => {
            let is_reason = |line: &&str| !line.is_empty() && !line.starts_with("WARNING");
            let told = ran.stderr.lines().map(str::trim).find(is_reason).unwrap_or("it says nothing");
            format!("{name} could not tell the newest version: {}", crate::render::text::harmless(told))
        }
        Ending::Late => format!("{name} did not answer within {} s", PATIENCE.as_secs()),
        Ending::NotStarted(error) => format!("{name} cannot be started: {error}"),
    };
    Err(unknown(trouble, &format!("`{shown}` shows it")))
}

fn unknown(message: String, hint: &str) -> CliError {
    CliError { exit: Exit::Nothing, code: "self/unknown".to_owned(), message, hint: Some(hint.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(program: &str, files: &[&str]) -> Option<(&'static str, Vec<String>)> {
        let found = Client::of(Path::new(program), &|path| files.iter().any(|file| Path::new(file) == path))?;
        Some((found.name, found.query))
    }

    #[test]
    fn the_client_is_known_by_the_folder_of_the_program() {
        let name = |program: &str, files: &[&str]| client(program, files).map(|(name, _)| name);
        assert_eq!(name("/home/a/.nvm/lib/node_modules/yore-memory-linux-x64/bin/yore", &[]), Some("npm"));
        assert_eq!(name("/opt/homebrew/Cellar/yore/0.1.0/bin/yore", &[]), Some("Homebrew"));
        assert_eq!(name("/home/a/.local/share/uv/tools/yore-memory/bin/yore", &[]), Some("uv"));
        assert_eq!(name("/usr/bin/yore", &["/usr/bin/python3", "/var/lib/dpkg/info/yore-memory.list"]), Some("apt"));
        let (pip, query) = client("/home/a/env/bin/yore", &["/home/a/env/bin/python3"]).unwrap();
        assert_eq!((pip, query[0].as_str()), ("pip", "/home/a/env/bin/python3"));
        assert_eq!(name("/home/a/.cargo/bin/yore", &[]), None);
        assert_eq!(name("/home/a/.local/bin/yore", &[]), None);
    }

    #[test]
    fn the_newest_version_is_read_from_what_each_client_prints() {
        let read = |program: &str, files: &[&str], told: &str| {
            let found = Client::of(Path::new(program), &|path| files.iter().any(|file| Path::new(file) == path)).unwrap();
            (found.newest)(told)
        };
        let is = |version: &str| Some(version.to_owned());
        assert_eq!(read("/x/node_modules/y/yore", &[], "0.2.0\n"), is("0.2.0"));
        let brew = r#"{"formulae": [{"versions": {"stable": "0.3.1"}}], "casks": []}"#;
        assert_eq!(read("/x/Cellar/yore/0.1.0/bin/yore", &[], brew), is("0.3.1"));
        assert_eq!(read("/x/Cellar/yore/0.1.0/bin/yore", &[], "Error"), None);
        let uv = "/x/uv/tools/yore-memory/bin/yore";
        assert_eq!(read(uv, &[], "ruff v0.3.0 [latest: 0.4.0]\nyore-memory v0.1.0 [latest: 0.2.0]\n- yore\n"), is("0.2.0"));
        assert_eq!(read(uv, &[], "ruff v0.3.0 [latest: 0.4.0]\n"), is(OWN), "what is not outdated is the newest");
        let pip = "yore-memory (1.10.0)\nAvailable versions: 1.10.0, 0.1.0\n  INSTALLED: 0.1.0\n";
        assert_eq!(read("/e/bin/yore", &["/e/bin/python3"], pip), is("1.10.0"));
        let files = ["/var/lib/dpkg/info/yore-memory.list"];
        let apt = "yore-memory:\n  Installed: 0.1.0\n  Candidate: 0.2.0-1\n  Version table:\n";
        assert_eq!(read("/usr/bin/yore", &files, apt), is("0.2.0-1"));
        assert_eq!(read("/usr/bin/yore", &files, "N: Unable to locate package\n"), None);
    }
}
