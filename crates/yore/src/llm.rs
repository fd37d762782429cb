//! The configured language model: where it answers, with which key, and on which terms.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use jiff::Zoned;
use yore_engine::llm::{Backoff, CommandSettings, Model, PROGRAMS, SERVERS, Server, Way};
use yore_engine::transport::{Client, ClientSettings, is_here};
use yore_engine::{DailyLimits, Price, Terms};

use crate::config::{Config, Llm};
use crate::error::{CliError, CliResult};
use crate::paths::MODEL_WORK;
use crate::settings::Settings;

/// Providers that are neither a server nor a known program.
pub const COMMAND: &str = "command";
pub const FOLDER: &str = "folder";
/// Folder in the data directory for the provider `folder`.
const FOLDER_NAME: &str = "llm";
/// Most bytes of an answer of a server.
const MOST_BYTES: u64 = 64 << 20;
/// Most bytes of a key.
const MOST_KEY: u64 = 8_192;

/// A provider as it is listed.
pub struct Listed {
    /// Name in the configuration.
    pub name: &'static str,
    /// The way in which it answers.
    pub what: String,
    /// The variable of its key, if it needs one.
    pub key_variable: Option<&'static str>,
}

/// Returns every provider.
pub fn providers() -> Vec<Listed> {
    let servers = SERVERS.iter().map(|server| Listed {
        name: server.name,
        what: if server.address.is_empty() { "the server of llm.address".to_owned() } else { server.address.to_owned() },
        key_variable: server.key_variable,
    });
    let programs = PROGRAMS.iter().map(|program| Listed {
        name: program.name,
        what: format!("`{}`", program.command.join(" ")),
        key_variable: None,
    });
    let others = [(COMMAND, "the program of llm.command"), (FOLDER, "files in llm.folder")];
    let others = others.into_iter().map(|(name, what)| Listed { name, what: what.to_owned(), key_variable: None });
    servers.chain(programs).chain(others).collect()
}

/// Returns the configured model.
///
/// # Errors
/// There is none, it is not known, or it has no key.
pub fn model(settings: &Settings) -> CliResult<Model> {
    let config = settings.own_config()?;
    let llm = &config.llm;
    if llm.provider.is_empty() {
        return Err(CliError::usage(
            "no language model is configured",
            Some("name one: `yore config set llm.provider claude`; `yore models providers` lists them"),
        ));
    }
    let name = match llm.model.as_str() {
        "" => llm.provider.clone(),
        model => format!("{}/{model}", llm.provider),
    };
    Ok(Model::new(name, way(llm, settings)?, Backoff::default()))
}

/// Returns the folder of the provider `folder`.
///
/// # Errors
/// The settings cannot be read.
pub fn folder(settings: &Settings) -> CliResult<PathBuf> {
    let config = settings.own_config()?;
    let own = config.llm.folder.to_str().map(|folder| settings.paths.below_home(folder)).filter(|folder| !folder.is_empty());
    Ok(own.map_or_else(|| settings.directory.join(FOLDER_NAME), PathBuf::from))
}

fn way(llm: &Llm, settings: &Settings) -> CliResult<Way> {
    let timeout = Duration::from_secs(llm.timeout_seconds.into());
    let command =
        |command: Vec<String>| Way::Command(CommandSettings { command, directory: settings.directory.join(MODEL_WORK), timeout });
    if llm.provider == FOLDER {
        return Ok(Way::Folder(folder(settings)?));
    }
    if llm.provider == COMMAND {
        if llm.command.is_empty() {
            return Err(CliError::usage("llm.command is empty", Some("set it to the program and its arguments")));
        }
        return Ok(command(llm.command.clone()));
    }
    if let Some(program) = PROGRAMS.iter().find(|program| program.name == llm.provider) {
        return Ok(command(program.with_model(&llm.model)));
    }
    let server = Server::named(&llm.provider).ok_or_else(|| {
        CliError::usage(format!("there is no provider {:?}", llm.provider), Some("`yore models providers` lists them"))
    })?;
    let address = if llm.address.is_empty() { server.address } else { &llm.address };
    if address.is_empty() || llm.model.is_empty() {
        let missing = if address.is_empty() { "llm.address" } else { "llm.model" };
        return Err(CliError::usage(format!("{} needs {missing}", server.name), None));
    }
    let client = Client::new(&ClientSettings { max_bytes: MOST_BYTES, ..ClientSettings::default() })
        .map_err(|error| CliError::usage(error.to_string(), None))?;
    Ok(Way::Http {
        server: server.name.to_owned(),
        protocol: server.protocol,
        address: address.to_owned(),
        key: key(llm, server, settings)?,
        tiers: server.tiers,
        client,
        timeout,
    })
}

/// Returns the key of a server: that of the command, else that of the variable.
fn key(llm: &Llm, server: &Server, settings: &Settings) -> CliResult<Option<String>> {
    if let Some((program, arguments)) = llm.key_command.split_first() {
        let failed = |reason: String| CliError::usage(format!("llm.key_command failed: {reason}"), None);
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let mut key = String::new();
        let read = child.stdout.take().map(|output| output.take(MOST_KEY).read_to_string(&mut key));
        let status = child.wait().map_err(|error| failed(error.to_string()))?;
        // Its output may be the key, and is not told.
        if !status.success() || !matches!(read, Some(Ok(_))) || key.trim().is_empty() {
            return Err(failed(if status.success() { "it printed no key".to_owned() } else { status.to_string() }));
        }
        return Ok(Some(key.trim().to_owned()));
    }
    let variable = if llm.key_variable.is_empty() { server.key_variable } else { Some(llm.key_variable.as_str()) };
    let Some(variable) = variable else { return Ok(None) };
    let key = settings.environment.get(variable).and_then(|key| key.to_str()).map(|key| key.trim().to_owned());
    match key.filter(|key| !key.is_empty()) {
        Some(key) => Ok(Some(key)),
        // Another server than the usual one may want none.
        None if is_here(server.address) || !llm.address.is_empty() || server.address.is_empty() => Ok(None),
        None => Err(CliError::usage(
            format!("there is no key for {}: {variable} is not set", server.name),
            Some("set it, or name a program that prints the key in llm.key_command"),
        )),
    }
}

/// Returns the limits of a day.
pub fn limits(config: &Config) -> DailyLimits {
    DailyLimits { tokens: config.llm.daily_tokens, cost_micro: (config.llm.daily_dollars * 1e6) as u64 }
}

/// Returns the terms on which the configured model is called for a purpose.
pub fn terms(purpose: &str, config: &Config) -> Terms {
    let llm = &config.llm;
    let server = Server::named(&llm.provider);
    let address = server.map(|server| if llm.address.is_empty() { server.address } else { llm.address.as_str() });
    let is_paid = address.is_some_and(|address| !is_here(address));
    // Prices change, so that none is built in.
    let price =
        (llm.price_input >= 0.0 && llm.price_output >= 0.0).then_some(Price { input: llm.price_input, output: llm.price_output });
    Terms {
        purpose: purpose.to_owned(),
        limits: limits(config),
        is_price_unknown: is_paid && price.is_none(),
        price,
        offset_minutes: Zoned::now().offset().seconds() / 60,
    }
}
