//! The proxy before language models: its settings, and what memory does with what goes through.
//!
//! `yore-proxy` passes bytes on, reads requests and answers, and knows nothing of a memory.
//!
//! - [`memory`]: what is added to a request, and what is archived of an exchange
//! - [`ledger`]: what was added where, and what belongs to which session
//! - [`capture`]: the new messages of an exchange; [`client`]: who sends them
//! - [`account`]: what additions take; [`open`]: the open proxy
//! - this file: servers, token, address

pub mod account;
pub mod capture;
pub mod client;
pub mod ledger;
pub mod memory;
pub mod open;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;
use yore_proxy::{Settings, Upstream};

use crate::config::Config;
use crate::http::token;

/// File of the token that stands in the proxy's addresses. It opens nothing else.
const TOKEN: &str = "proxy-token";
/// The servers that are known by name.
const KNOWN: [(&str, &str); 4] = [
    ("anthropic", "https://api.anthropic.com"),
    ("openai", "https://api.openai.com"),
    ("gemini", "https://generativelanguage.googleapis.com"),
    ("ollama", "http://127.0.0.1:11434"),
];

/// A setting of the proxy that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// An entry of `proxy.upstreams` is no name with an address.
    #[error(
        "proxy.upstreams: the entry {0:?} is not NAME=ADDRESS with an http or https address and a name of letters, digits and -"
    )]
    Upstream(String),
    /// `proxy.via` is no address.
    #[error("proxy.via is no address such as http://host:port")]
    Via,
    /// A file of the data directory could not be read or written.
    #[error("the proxy's token: {0}")]
    Token(#[from] io::Error),
    /// The port cannot be served.
    #[error("the proxy's port: {0}")]
    Port(io::Error),
}

/// Returns the servers by name: the known ones, and those of the settings.
///
/// # Errors
/// [`ProxyError::Upstream`].
pub fn upstreams(config: &Config) -> Result<BTreeMap<String, Url>, ProxyError> {
    let mut upstreams: BTreeMap<String, Url> =
        KNOWN.iter().filter_map(|(name, address)| Some(((*name).to_owned(), Url::parse(address).ok()?))).collect();
    for entry in &config.proxy.upstreams {
        let (name, address) = entry.split_once('=').unwrap_or((entry, ""));
        // An address may hold a key.
        let invalid = || ProxyError::Upstream(name.trim().chars().take(40).collect());
        let (name, url) = (name.trim(), Url::parse(address.trim()).map_err(|_| invalid())?);
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !is_name || !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() || url.query().is_some() {
            return Err(invalid());
        }
        upstreams.insert(name.to_owned(), url);
    }
    Ok(upstreams)
}

/// Returns the settings of the proxy of a data directory.
///
/// # Errors
/// A server or the token cannot be used.
pub fn settings(directory: &Path, config: &Config) -> Result<Settings, ProxyError> {
    let upstreams = upstreams(config)?.into_iter().map(|(name, base)| (name, Upstream { base })).collect();
    let mut settings = Settings::new(token::named(directory, TOKEN)?, upstreams);
    settings.deadline = Duration::from_millis(u64::from(config.proxy.patience_ms));
    let via = Some(config.proxy.via.trim()).filter(|via| !via.is_empty());
    settings.via = via.map(Url::parse).transpose().map_err(|_| ProxyError::Via)?;
    Ok(settings)
}

/// Parts of the path of an address beside the server.
#[derive(Clone, Copy, Debug, Default)]
pub struct AddressOptions<'a> {
    /// The directory that is worked in.
    pub directory: Option<&'a str>,
    /// The agent, where its name does not tell.
    pub agent: Option<&'a str>,
    /// True if memories are added, false if nothing is; `None`: as configured.
    pub memory: Option<bool>,
}

/// Returns the address of a server through the proxy. `origin`: that of the proxy.
///
/// # Errors
/// The token cannot be read or made.
pub fn address(directory: &Path, origin: &str, upstream: &str, options: AddressOptions<'_>) -> Result<String, ProxyError> {
    let mut address = format!("{origin}/{}", token::named(directory, TOKEN)?);
    if let Some(directory) = options.directory {
        address.push_str(&format!("/in/{}", utf8_percent_encode(directory, NON_ALPHANUMERIC)));
    }
    if let Some(agent) = options.agent {
        address.push_str(&format!("/as/{}", utf8_percent_encode(agent, NON_ALPHANUMERIC)));
    }
    match options.memory {
        Some(true) => address.push_str("/memory"),
        Some(false) => address.push_str("/plain"),
        None => {}
    }
    if KNOWN.iter().all(|(known, _)| *known != upstream) {
        address.push_str("/to");
    }
    Ok(format!("{address}/{upstream}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_those_that_are_known_and_those_of_the_settings() {
        let with = |entries: &[&str]| {
            let mut config = Config::default();
            config.proxy.upstreams = entries.iter().map(|entry| (*entry).to_owned()).collect();
            upstreams(&config)
        };
        let known = with(&["router=https://openrouter.ai/api", "openai=http://127.0.0.1:8080/v9"]).unwrap();
        assert_eq!(known["router"].as_str(), "https://openrouter.ai/api");
        assert_eq!(known["openai"].as_str(), "http://127.0.0.1:8080/v9");
        assert_eq!(known.len(), KNOWN.len() + 1);
        for invalid in
            ["router", "=https://a.example", "a/b=https://a.example", "a=ftp://a.example", "a=https://a.example?k=1", "a=x"]
        {
            assert!(with(&[invalid]).is_err(), "{invalid}");
        }
        let told = with(&["g=https://host.example/?key=planted-key"]).unwrap_err().to_string();
        assert!(told.contains("\"g\"") && !told.contains("planted"), "{told}");
    }

    #[test]
    fn an_address_says_where_and_whether() {
        let directory = tempfile::tempdir().unwrap();
        let of = |upstream: &str, options: AddressOptions<'_>| {
            let address = address(directory.path(), "http://127.0.0.1:1", upstream, options).unwrap();
            address.replace(&token::named(directory.path(), TOKEN).unwrap(), "TOKEN")
        };
        assert_eq!(of("openai", AddressOptions::default()), "http://127.0.0.1:1/TOKEN/openai");
        let here = AddressOptions { directory: Some("/home/dev/a b"), agent: Some("aider"), memory: Some(true) };
        assert_eq!(of("router", here), "http://127.0.0.1:1/TOKEN/in/%2Fhome%2Fdev%2Fa%20b/as/aider/memory/to/router");
    }
}
