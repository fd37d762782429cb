//! Reads API keys of model servers from a program, the environment or the system's keyring.
//!
//! The keyring is used through the program that the system brings for it, so that no key is ever an argument or in a file of yore.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use yore_engine::llm::KeyOf;
use yore_sources::child::{self, ChildError, Ended, Input, Limits};

use crate::config::Environment;

/// Most bytes of a key.
const MOST_KEY: usize = 8_192;
/// Longest time for a program that gives a key: it may ask the person.
const PATIENCE: Duration = Duration::from_secs(60);
/// Stands for the name of a provider in a command.
const PROVIDER: &str = "{provider}";
/// Name under which keys stand in the keyring.
const SERVICE: &str = "yore";

/// The place of a key.
#[derive(Clone, Debug, Default)]
pub struct KeyPlace {
    /// Name of the provider, for the keyring.
    pub provider: String,
    /// A program and its arguments that prints it; empty: none.
    pub command: Vec<String>,
    /// True if that program gives the keys of all servers.
    pub is_general: bool,
    /// An environment variable.
    pub variable: Option<String>,
    /// True if the server may want none.
    pub is_optional: bool,
}

/// Returns how the key of a place is found. Nothing is read before it is needed.
pub fn key_of(place: KeyPlace, environment: &Environment) -> KeyOf {
    let own = place.variable.as_deref().and_then(|variable| environment.get(variable)).and_then(|key| key.to_str());
    let own = own.map(str::trim).filter(|key| !key.is_empty()).map(str::to_owned);
    Arc::new(move || {
        if !place.command.is_empty() {
            return match printed(&place.command) {
                Ok(key) => Ok(Some(key)),
                // One for all servers need not have a key of each.
                Err(_) if place.is_general && place.is_optional => Ok(None),
                Err(reason) => Err(format!("llm.key_command failed: {reason}")),
            };
        }
        let Some(variable) = &place.variable else { return Ok(None) };
        if let Some(key) = &own {
            return Ok(Some(key.clone()));
        }
        match Keyring::here().and_then(|keyring| keyring.look_up(&place.provider)) {
            Some(key) => Ok(Some(key)),
            None if place.is_optional => Ok(None),
            None => Err(format!(
                "{variable} is not set, and the system's keyring has none (`yore models key {}` puts one there)",
                place.provider
            )),
        }
    })
}

/// Returns the program that prints the key of a provider, as `llm.key_command` says, and whether it is one for all providers; empty: none
/// does. One that does not name the provider gives the key of the main one. `wants_key`: false for a provider without keys.
pub fn key_command(command: &[String], provider: &str, wants_key: bool, is_main: bool) -> (Vec<String>, bool) {
    let is_general = command.iter().any(|part| part.contains(PROVIDER));
    if if is_general { wants_key } else { is_main } {
        (command.iter().map(|part| part.replace(PROVIDER, provider)).collect(), is_general)
    } else {
        (Vec::new(), is_general)
    }
}

/// Returns what a program prints.
fn printed(command: &[String]) -> Result<String, String> {
    let (program, arguments) = command.split_first().ok_or("it is empty")?;
    let limits = Limits { time: PATIENCE, output: MOST_KEY, report: 0 };
    let ended = child::run(Command::new(program).args(arguments), Input::Empty, &limits, &mut || false);
    // Its output may be the key, and is not told.
    match ended {
        Ok(Ended { status, .. }) if !status.success() => Err(status.to_string()),
        Ok(Ended { output, .. }) => match String::from_utf8(output) {
            Ok(key) if !key.trim().is_empty() => Ok(key.trim().to_owned()),
            _ => Err("it printed no key".to_owned()),
        },
        Err(error) => Err(error.to_string()),
    }
}

/// The system's keyring, as the program that the system brings for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyring {
    /// `secret-tool`, of Linux desktops.
    SecretTool,
    /// `security`, of macOS.
    Security,
}

impl Keyring {
    /// Returns the keyring of this system, if yore knows one.
    pub fn here() -> Option<Self> {
        match () {
            () if cfg!(target_os = "macos") => Some(Self::Security),
            () if cfg!(unix) => Some(Self::SecretTool),
            () => None,
        }
    }

    /// Returns the key of a provider; `None` if there is none, or no keyring.
    pub fn look_up(self, provider: &str) -> Option<String> {
        let command: &[&str] = match self {
            Self::SecretTool => &["secret-tool", "lookup", "service", SERVICE, "provider", provider],
            Self::Security => &["security", "find-generic-password", "-s", SERVICE, "-a", provider, "-w"],
        };
        printed(&command.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>()).ok()
    }

    /// Puts the key of a provider into the keyring.
    ///
    /// # Errors
    /// A sentence that says what failed.
    pub fn put(self, provider: &str, key: &str) -> Result<(), String> {
        match self {
            Self::SecretTool => {
                let label = format!("--label=yore: {provider}");
                self.run(&["store", &label, "service", SERVICE, "provider", provider], key.as_bytes())
            }
            // Commands on standard input, since arguments can be read by every process.
            Self::Security => {
                let quoted = key.replace('\\', "\\\\").replace('"', "\\\"");
                let line = format!("add-generic-password -U -s {SERVICE} -a \"{provider}\" -w \"{quoted}\"\n");
                self.run(&["-i"], line.as_bytes())
            }
        }
    }

    /// Removes the key of a provider from the keyring.
    ///
    /// # Errors
    /// A sentence that says what failed.
    pub fn remove(self, provider: &str) -> Result<(), String> {
        match self {
            Self::SecretTool => self.run(&["clear", "service", SERVICE, "provider", provider], &[]),
            Self::Security => self.run(&["delete-generic-password", "-s", SERVICE, "-a", provider], &[]),
        }
    }

    fn run(self, arguments: &[&str], input: &[u8]) -> Result<(), String> {
        let program = match self {
            Self::SecretTool => "secret-tool",
            Self::Security => "security",
        };
        let limits = Limits { time: PATIENCE, output: MOST_KEY, report: MOST_KEY };
        match child::run(Command::new(program).args(arguments), Input::Bytes(input.to_vec()), &limits, &mut || false) {
            Ok(ended) if ended.status.success() => Ok(()),
            Ok(ended) => {
                let report = String::from_utf8_lossy(&ended.report);
                let line = report.trim().lines().last().unwrap_or_default().to_owned();
                Err(format!("{program}: {}", if line.is_empty() { ended.status.to_string() } else { line }))
            }
            Err(ChildError::NotStarted(_)) => Err(format!("{program} is not installed")),
            Err(error) => Err(format!("{program}: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyPlace, key_command, key_of};
    use crate::config::Environment;

    #[test]
    fn a_command_that_names_the_provider_gives_the_keys_of_all_that_want_one_and_any_other_that_of_the_main_one() {
        let command = |text: &str, provider, wants_key, is_main| {
            key_command(&text.split(' ').map(str::to_owned).collect::<Vec<_>>(), provider, wants_key, is_main).0.join(" ")
        };
        assert_eq!(command("op read op://v/{provider}/key", "cohere", true, false), "op read op://v/cohere/key");
        assert_eq!(command("op read op://v/{provider}/key", "openai", true, true), "op read op://v/openai/key");
        assert_eq!(command("op read op://v/{provider}/key", "ollama", false, true), "");
        assert_eq!(command("op read op://v/main", "cohere", true, false), "");
        assert_eq!(command("op read op://v/main", "vllm", false, true), "op read op://v/main");
    }

    #[cfg(unix)]
    #[test]
    fn a_command_for_all_servers_may_lack_the_key_of_one_that_may_want_none() {
        let key = |is_optional| {
            let (command, is_general) = key_command(&["false".to_owned(), "{provider}".to_owned()], "openai", true, false);
            let place = KeyPlace { provider: "openai".to_owned(), command, is_general, variable: None, is_optional };
            key_of(place, &Environment::default())()
        };
        assert_eq!(key(true), Ok(None));
        assert!(key(false).is_err_and(|reason| reason.contains("llm.key_command failed")));
    }
}
