//! Checks the proxy before language models: whether it is open, and by requests through it whether its servers answer.

use std::time::Duration;

use url::Url;
use yore_engine::Severity;
use yore_engine::transport::{Client, ClientSettings, Request};

use super::super::Context;
use crate::error::CliResult;
use crate::health::Told;
use crate::ipc::card::{self, Card};
use crate::proxy::{AddressOptions, address, upstreams};

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Status of the proxy where a server cannot be reached.
const UNREACHED: u16 = 502;

/// Returns a finding for the proxy, and one for each server that is tried: those on this computer, and with `is_reached` all.
pub(super) fn examine(is_reached: bool, context: &Context) -> CliResult<Vec<Told>> {
    let config = context.settings.own_config()?;
    if !config.proxy.enabled {
        return Ok(Vec::new());
    }
    let warning = |text: String, remedy: &str| Told::new("proxy", Severity::Warning, text).remedy(remedy);
    let known = match upstreams(&config) {
        Ok(known) => known,
        Err(error) => return Ok(vec![warning(error.to_string(), "`yore config edit` opens the settings")]),
    };
    let directory = &context.settings.directory;
    let origin = card::is_running(directory).then(|| Card::read(directory)?.proxy).flatten();
    let Some(origin) = origin else {
        let text = "the proxy is on, and not open".to_owned();
        return Ok(vec![warning(text, "`yore proxy on` opens it; `yore daemon logs` tells why it could not be opened")]);
    };
    let through = |upstream: &str, path: &str| -> Result<u16, String> {
        let base = address(directory, &origin, upstream, AddressOptions::default()).map_err(|error| error.to_string())?;
        let settings = ClientSettings { max_bytes: 4 << 20, connect_timeout: PATIENCE, proxy: None };
        let request = Request::new("GET", format!("{base}{path}"), PATIENCE);
        let answer = Client::new(&settings).and_then(|client| client.ask(&request)).map_err(|error| error.to_string())?;
        Ok(answer.status)
    };
    // A name that no server has is answered by the proxy itself.
    let mut told = match through("nobody-is-named-so", "/") {
        Ok(404) => vec![Told::new("proxy", Severity::Fine, format!("the proxy is open at {origin}"))],
        Ok(status) => {
            vec![warning(format!("the proxy answers with status {status}"), "`yore proxy off`, `yore proxy on` opens it anew")]
        }
        Err(error) => {
            vec![warning(format!("the proxy does not answer: {error}"), "`yore proxy off`, `yore proxy on` opens it anew")]
        }
    };
    for (name, base) in known.iter().filter(|(_, base)| is_reached || is_here(base)) {
        let path = if name == "ollama" { "/api/tags" } else { "/v1/models" };
        let found = match through(name, path) {
            Ok(UNREACHED)
                if is_here(base)
                    && !is_reached
                    && !config
                        .proxy
                        .upstreams
                        .iter()
                        .any(|entry| entry.split_once('=').is_some_and(|(named, _)| named.trim() == name)) =>
            {
                continue;
            }
            Ok(UNREACHED) => Told::new("proxy", Severity::Note, format!("the proxy does not reach {name}"))
                .remedy("is the server up, and its address right? (`yore config get proxy.upstreams`)"),
            Ok(status) => Told::new("proxy", Severity::Fine, format!("the proxy reaches {name} (status {status})")),
            Err(error) => warning(format!("the proxy does not answer for {name}: {error}"), "`yore daemon logs` may tell why"),
        };
        told.push(found.fact("server", name.as_str()));
    }
    Ok(told)
}

/// Returns whether a server is on this computer.
fn is_here(base: &Url) -> bool {
    matches!(base.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"))
}
