//! The configured language models: providers, keys, limits, and the model for each purpose.
//!
//! - [`providers`]: everybody who may answer
//! - [`ModelChooser`]: who answers for a purpose, in each project
//! - [`batch_run`]: requests that are sent as a batch
//! - [`found`]: who is ready on this computer
//! - [`key`]: keys of servers, from the environment, a program or the system's keyring
//! - [`reading`]: a model that reads an archive
//! - [`ModelsAt`]: the models for vectors and relevance

pub mod batch_run;
pub mod found;
pub mod key;
mod model_chooser;
pub mod reading;
mod servers;

pub use model_chooser::{ModelChooser, NOBODY};
pub use servers::ModelsAt;

use std::path::PathBuf;

use jiff::Zoned;
use yore_engine::llm::{PROGRAMS, RELEVANCE_SERVERS, SERVERS, VECTOR_SERVERS};
use yore_engine::transport::is_here;
use yore_engine::{DailyLimits, Price, Terms};

use crate::config::{COMMAND, Config, FOLDER, Llm, ModelPrice, ModelUse, NONE};
use crate::error::CliResult;
use crate::settings::Settings;

/// A provider as it is listed.
pub struct Listed {
    /// Name in the configuration.
    pub name: &'static str,
    /// The services that it gives.
    pub does: Vec<&'static str>,
    /// The way in which it answers.
    pub what: String,
    /// The variable of its key, if it needs one.
    pub key_variable: Option<&'static str>,
}

/// Services of providers.
const ANSWERS: &str = "answers";
const VECTORS: &str = "vectors";
const RELEVANCE: &str = "relevance";

/// Returns every provider.
pub fn providers() -> Vec<Listed> {
    let mut listed: Vec<Listed> = Vec::new();
    let mut add = |name: &'static str, does: &'static str, what: String, key_variable: Option<&'static str>| match listed
        .iter_mut()
        .find(|listed| listed.name == name)
    {
        Some(known) => known.does.push(does),
        None => listed.push(Listed { name, does: vec![does], what, key_variable }),
    };
    let at = |address: &str, setting: &str| match address {
        "" => format!("the server of {setting}"),
        address => address.to_owned(),
    };
    for server in SERVERS {
        add(server.name, ANSWERS, at(server.address, "llm.address"), server.key_variable);
    }
    for program in PROGRAMS {
        add(program.name, ANSWERS, format!("`{}`", program.command.join(" ")), None);
    }
    add(COMMAND, ANSWERS, "the program of llm.command".to_owned(), None);
    add(FOLDER, ANSWERS, "files in llm.folder".to_owned(), None);
    for server in VECTOR_SERVERS {
        add(server.name, VECTORS, at(server.address, "models.embedder_address"), server.key_variable);
    }
    for server in RELEVANCE_SERVERS {
        add(server.name, RELEVANCE, at(server.address, "models.reranker_address"), server.key_variable);
    }
    listed
}

/// Returns the folder of the provider `folder`.
///
/// # Errors
/// The settings cannot be read.
pub fn folder(settings: &Settings) -> CliResult<PathBuf> {
    let config = settings.own_config()?;
    let own = config.llm.folder.to_str().map(|folder| settings.paths.below_home(folder)).filter(|folder| !folder.is_empty());
    Ok(own.map_or_else(|| settings.directory.join(yore_engine::llm::FOLDER), PathBuf::from))
}

/// Returns the names of the projects whose sessions nobody may read for a purpose.
pub fn unread_projects(purpose: &str, config: &Config) -> Vec<String> {
    let uses = config.llm.uses.iter().filter_map(|text| ModelUse::parse(text).ok());
    let is_meant = |one: &ModelUse| one.provider == NONE && one.purpose.as_deref().is_none_or(|own| own == purpose);
    uses.filter(is_meant).filter_map(|one| one.project).collect()
}

/// Returns the limits of a day.
pub fn limits(config: &Config) -> DailyLimits {
    let Llm { daily_tokens: tokens, daily_calls: calls, daily_dollars, .. } = config.llm;
    DailyLimits { tokens, cost_micro: (daily_dollars * 1e6) as u64, calls }
}

/// Returns the minutes by which this computer's clock is ahead of UTC.
pub fn offset_minutes() -> i32 {
    Zoned::now().offset().seconds() / 60
}

/// Returns the configured price of a model with this name, its provider before it.
pub fn price_of(name: &str, config: &Config) -> Option<Price> {
    // Prices change, so that none is built in.
    let prices = config.llm.prices.iter().filter_map(|text| ModelPrice::parse(text).ok());
    let price = prices.filter_map(|price| Some((price.fits(name)?, price))).max_by_key(|(length, _)| *length);
    price.map(|(_, price)| Price { input: price.input, output: price.output })
}

/// Returns the terms on which a model is called for a purpose. `address`: that of its server; none: it is a program or a folder.
fn terms(purpose: &str, name: &str, address: Option<&str>, config: &Config) -> Terms {
    let price = price_of(name, config);
    Terms {
        purpose: purpose.to_owned(),
        limits: limits(config),
        is_price_unknown: address.is_some_and(|address| !is_here(address)) && price.is_none(),
        price,
        offset_minutes: offset_minutes(),
    }
}
