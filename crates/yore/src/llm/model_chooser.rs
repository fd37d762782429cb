//! Chooses the language model for a purpose and a project, with its terms.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use yore_engine::llm::{Backoff, CommandSettings, Connection, Model, Program, Server, Way};
use yore_engine::transport::is_here;
use yore_engine::{ModelAccess, Terms};

use super::key::{KeyPlace, key_command, key_of};
use super::{folder, terms};
use crate::config::{COMMAND, Config, FOLDER, ModelUse, NONE};
use crate::error::{CliError, CliResult};
use crate::paths::MODEL_WORK;
use crate::settings::Settings;

/// Message where nobody answers for a purpose in any project.
pub const NOBODY: &str = "no language model is configured";

/// Who answers for a purpose.
pub struct ModelChooser<'s> {
    settings: &'s Settings,
    config: Config,
    purpose: &'static str,
    uses: Vec<ModelUse>,
    /// Models that were made, by name.
    made: BTreeMap<String, (Arc<Model>, Terms)>,
}

impl<'s> ModelChooser<'s> {
    /// Reads who answers for a purpose.
    ///
    /// # Errors
    /// Nobody answers in any project.
    pub fn new(settings: &'s Settings, purpose: &'static str) -> CliResult<Self> {
        let config = settings.own_config()?;
        let uses: Vec<ModelUse> = config.llm.uses.iter().filter_map(|text| ModelUse::parse(text).ok()).collect();
        let has_some = uses.iter().any(|one| one.provider != NONE && one.purpose.as_deref().is_none_or(|own| own == purpose));
        if config.llm.provider.is_empty() && !has_some {
            return Err(CliError::usage(
                NOBODY,
                Some(
                    "`yore learn` lists those that are here, `yore learn --with NAME` takes one; `yore models providers` lists all",
                ),
            ));
        }
        Ok(Self { settings, config, purpose, uses, made: BTreeMap::new() })
    }

    /// Does work whose models it chooses; `is_stopped`: set to give up what is running.
    pub fn choosing<T>(&mut self, is_stopped: &AtomicBool, work: impl FnOnce(ModelAccess<'_>) -> T) -> T {
        let mut choose = |project: Option<&str>| self.for_project(project).map_err(|error| error.message);
        work(ModelAccess { choose: &mut choose, books: None, is_stopped })
    }

    /// Returns who answers in a project, and on which terms; `None`: nobody.
    ///
    /// # Errors
    /// The model is not configured as it must be.
    pub fn for_project(&mut self, project: Option<&str>) -> CliResult<Option<(Arc<Model>, Terms)>> {
        let fitting = self.uses.iter().filter_map(|one| Some((one.fits(self.purpose, project)?, one)));
        // The last of equals counts.
        let (provider, model) = match fitting.max_by_key(|(conditions, _)| *conditions) {
            Some((_, one)) => (one.provider.clone(), one.model.clone()),
            None => (self.config.llm.provider.clone(), self.config.llm.model.clone()),
        };
        if provider == NONE || provider.is_empty() {
            return Ok(None);
        }
        // The model of the main provider is the default of each of its uses.
        let model = if model.is_empty() && provider == self.config.llm.provider { self.config.llm.model.clone() } else { model };
        let name = if model.is_empty() { provider.clone() } else { format!("{provider}/{model}") };
        if let Some((made, terms)) = self.made.get(&name) {
            return Ok(Some((Arc::clone(made), terms.clone())));
        }
        let (way, address) = self.way(&provider, &model)?;
        let terms = terms(self.purpose, &name, address.as_deref(), &self.config);
        let made = Arc::new(Model::new(name.clone(), way, Backoff::default()));
        self.made.insert(name, (Arc::clone(&made), terms.clone()));
        Ok(Some((made, terms)))
    }

    /// Returns how a provider answers, and the address of its server.
    fn way(&self, provider: &str, model: &str) -> CliResult<(Way, Option<String>)> {
        let (settings, llm) = (self.settings, &self.config.llm);
        let timeout = Duration::from_secs(llm.timeout_seconds.into());
        let command = |command: Vec<String>, known: Option<&'static Program>| {
            let directory = settings.directory.join(MODEL_WORK);
            (Way::Command(CommandSettings { command, directory, timeout, known }), None)
        };
        if provider == FOLDER {
            return Ok((Way::Folder(folder(settings)?), None));
        }
        if provider == COMMAND {
            if llm.command.is_empty() {
                return Err(CliError::usage("llm.command is empty", Some("set it to the program and its arguments")));
            }
            return Ok(command(llm.command.clone(), None));
        }
        if let Some(program) = Program::named(provider) {
            return Ok(command(program.with_model(model), Some(program)));
        }
        let server = Server::named(provider).ok_or_else(|| {
            CliError::usage(format!("there is no provider {provider:?}"), Some("`yore models providers` lists them"))
        })?;
        // Address and place of the key are those of the main provider.
        let is_main = provider == llm.provider;
        let own = |text: &str| is_main.then(|| text.to_owned()).filter(|text| !text.is_empty());
        let address = own(&llm.address).unwrap_or_else(|| server.address.to_owned());
        if address.is_empty() || model.is_empty() {
            let (missing, remedy) = match (address.is_empty(), is_main) {
                (true, true) => ("an address", "set llm.address"),
                (true, false) => ("an address", "set llm.provider and llm.address"),
                (false, _) => ("a model", "set llm.model"),
            };
            return Err(CliError::usage(format!("{} needs {missing}", server.name), Some(remedy)));
        }
        let (command, is_general) = key_command(&llm.key_command, server.name, server.key_variable.is_some(), is_main);
        let place = KeyPlace {
            provider: server.name.to_owned(),
            command,
            is_general,
            variable: own(&llm.key_variable).or_else(|| server.key_variable.map(str::to_owned)),
            // Another server than the usual one may want none.
            is_optional: is_here(&address) || address != server.address,
        };
        let connection = Connection::new(server.name, address.clone(), key_of(place, &settings.environment), timeout);
        Ok((Way::Http { connection, protocol: server.protocol, tiers: server.tiers }, Some(address)))
    }
}
