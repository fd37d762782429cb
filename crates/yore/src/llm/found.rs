//! Finds the language models that are ready on this computer: agents' programs that are signed in, a local server, keys.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use yore_engine::llm::{PROGRAMS, Program, SERVERS, Server};
use yore_engine::transport::{Client, ClientSettings, Request, is_here};

use crate::config::Environment;
use crate::settings::Settings;

/// Longest time for the answer of a local server.
const PATIENCE: Duration = Duration::from_millis(500);
/// Most bytes of its list of models.
const MOST_BYTES: u64 = 1 << 20;
/// Variable of the local server's address, as its own programs read it, and its usual port.
const OLLAMA_HOST: &str = "OLLAMA_HOST";
const OLLAMA_PORT: &str = "11434";
/// Largest local model that is proposed, in bytes: a larger one fits few computers.
const LARGEST: u64 = 24 << 30;

/// Who pays for the calls of a model, and where its words go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payer {
    /// The person's plan of an agent's program, whose own service gets the words.
    Plan,
    /// Nobody: it answers on this computer.
    Here,
    /// The account of a key, which is billed.
    Key(&'static str),
}

/// A language model that is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundModel {
    /// The provider.
    pub provider: &'static str,
    /// The model; empty: the provider's own default.
    pub model: String,
    /// Its name for people.
    pub title: String,
    /// Who pays.
    pub payer: Payer,
}

impl FoundModel {
    /// Returns the provider with its model, as `--with` takes it.
    pub fn name(&self) -> String {
        if self.model.is_empty() { self.provider.to_owned() } else { format!("{}/{}", self.provider, self.model) }
    }

    /// Returns whether it can be taken as it is: a server that is billed lacks a model and its price.
    pub fn is_ready(&self) -> bool {
        !matches!(self.payer, Payer::Key(_))
    }
}

/// Returns the models that are ready: programs that are signed in first, then the local server, then keys. The local server is asked for
/// its models; nothing else is started or connected to.
pub fn found(settings: &Settings) -> Vec<FoundModel> {
    let environment = &settings.environment;
    let home = settings.paths.home.clone().unwrap_or_default();
    let is_ready =
        |program: &&Program| is_on_path(program.command[0], environment) && is_signed_in(program.name, &home, environment);
    let programs = PROGRAMS.iter().filter(is_ready).map(|program| FoundModel {
        provider: program.name,
        model: program.small_model.to_owned(),
        title: program.title.to_owned(),
        payer: Payer::Plan,
    });
    let local = local_model(environment).map(|model| FoundModel {
        provider: "ollama",
        title: format!("Ollama with {model}"),
        model,
        payer: Payer::Here,
    });
    let keys = SERVERS.iter().filter_map(|server| {
        let variable = server.key_variable.filter(|variable| has_value(environment, variable))?;
        Some(FoundModel {
            provider: server.name,
            model: String::new(),
            title: format!("{} by the key in {variable}", server.name),
            payer: Payer::Key(variable),
        })
    });
    programs.chain(local).chain(keys).collect()
}

fn has_value(environment: &Environment, variable: &str) -> bool {
    environment.get(variable).is_some_and(|value| !value.is_empty())
}

/// Returns whether a program is on the search path.
pub fn is_on_path(name: &str, environment: &Environment) -> bool {
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd"] } else { &[""] };
    let search = environment.get("PATH").map(std::env::split_paths);
    search.into_iter().flatten().any(|folder| endings.iter().any(|ending| folder.join(format!("{name}{ending}")).is_file()))
}

/// Returns whether a program is an agent's, which must be signed in.
pub fn signs_in(name: &str) -> bool {
    !matches!(name, "ollama-run" | "llm")
}

/// Returns whether an agent's program has what it signs in with. Nothing of it is read but whether it is there.
fn is_signed_in(name: &str, home: &Path, environment: &Environment) -> bool {
    let folder = |variable: &str, usual: &str| {
        let own = environment.get(variable).filter(|value| !value.is_empty());
        own.map_or_else(|| home.join(usual), PathBuf::from)
    };
    let mentions = |path: PathBuf, word: &str| std::fs::read_to_string(path).is_ok_and(|text| text.contains(word));
    let is_there = |path: PathBuf| path.metadata().is_ok_and(|file| file.is_file() && file.len() > 2);
    match name {
        // On macOS the secret itself is in the keychain.
        "claude" => {
            is_there(folder("CLAUDE_CONFIG_DIR", ".claude").join(".credentials.json"))
                || mentions(home.join(".claude.json"), "\"oauthAccount\"")
                || has_value(environment, "CLAUDE_CODE_OAUTH_TOKEN")
        }
        "codex" => is_there(folder("CODEX_HOME", ".codex").join("auth.json")),
        "gemini-cli" => is_there(home.join(".gemini/oauth_creds.json")),
        "qwen" => is_there(home.join(".qwen/oauth_creds.json")) || mentions(home.join(".qwen/settings.json"), "\"selectedType\""),
        "opencode" => is_there(folder("XDG_DATA_HOME", ".local/share").join("opencode/auth.json")),
        // Its own folder is another one in a run for yore, so that only what lies elsewhere signs it in.
        "copilot" => {
            ["COPILOT_GITHUB_TOKEN", "GH_TOKEN"].iter().any(|variable| has_value(environment, variable))
                || is_there(folder("GH_CONFIG_DIR", ".config/gh").join("hosts.yml"))
        }
        _ => false,
    }
}

/// The list of models of an Ollama server.
#[derive(Deserialize)]
struct Listed {
    models: Vec<LocalModel>,
}

#[derive(Deserialize)]
struct LocalModel {
    name: String,
    #[serde(default)]
    size: u64,
}

/// Returns the address of the local server: that of OLLAMA_HOST, if it leads to this computer.
fn local_address(environment: &Environment) -> Option<String> {
    let host = environment.get(OLLAMA_HOST).and_then(|host| host.to_str()).map(str::trim).unwrap_or_default();
    let host = host.trim_start_matches("http://").trim_end_matches('/');
    let (name, port) = host.rsplit_once(':').unwrap_or((host, OLLAMA_PORT));
    // A server that listens everywhere is reached here.
    let name = if matches!(name, "" | "0.0.0.0") { "127.0.0.1" } else { name };
    let address = format!("http://{name}:{port}");
    is_here(&address).then_some(address)
}

/// Returns the largest model of the local server that writes text, if one runs.
fn local_model(environment: &Environment) -> Option<String> {
    let address = local_address(environment)?;
    let settings = ClientSettings { max_bytes: MOST_BYTES, connect_timeout: PATIENCE, ..ClientSettings::default() };
    let request = Request {
        method: "GET",
        address: format!("{address}/api/tags"),
        headers: Vec::new(),
        body: Vec::new(),
        timeout: PATIENCE,
    };
    let answer = Client::new(&settings).ok()?.ask(&request).ok().filter(|answer| answer.status == 200)?;
    let listed: Listed = serde_json::from_slice(&answer.body).ok()?;
    let writes = |model: &LocalModel| !model.name.contains("embed") && !model.name.contains("bge-") && model.size <= LARGEST;
    listed.models.into_iter().filter(writes).max_by_key(|model| model.size).map(|model| model.name)
}

/// Returns the address of a found model's server, where it is not the usual one.
pub fn unusual_address(model: &FoundModel, environment: &Environment) -> Option<String> {
    let usual = Server::named(model.provider)?.address;
    local_address(environment).filter(|address| model.payer == Payer::Here && address != usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        variables.iter().map(|(name, value)| (std::ffi::OsString::from(name), std::ffi::OsString::from(value))).collect()
    }

    #[test]
    fn the_local_server_is_looked_for_on_this_computer_only() {
        let address = |host: &str| local_address(&environment(&[(OLLAMA_HOST, host)]));
        assert_eq!(address("").as_deref(), Some("http://127.0.0.1:11434"));
        assert_eq!(address("0.0.0.0:9000").as_deref(), Some("http://127.0.0.1:9000"));
        assert_eq!(address("http://localhost:11434/").as_deref(), Some("http://localhost:11434"));
        assert_eq!(address("gpu.example.com:11434"), None);
    }

    #[test]
    fn a_program_counts_as_signed_in_by_its_own_file_only() {
        let home = tempfile::tempdir().unwrap();
        let is_in = |name: &str, variables: &[(&str, &str)]| is_signed_in(name, home.path(), &environment(variables));
        for program in PROGRAMS {
            assert!(!is_in(program.name, &[]), "{}", program.name);
        }
        std::fs::create_dir_all(home.path().join(".codex")).unwrap();
        std::fs::write(home.path().join(".codex/auth.json"), "{}").unwrap();
        assert!(!is_in("codex", &[]), "an empty file");
        std::fs::write(home.path().join(".codex/auth.json"), "{\"tokens\": 1}").unwrap();
        assert!(is_in("codex", &[]));
        assert!(is_in("claude", &[("CLAUDE_CODE_OAUTH_TOKEN", "x")]) && !is_in("copilot", &[("GH_TOKEN", "")]));
    }
}
