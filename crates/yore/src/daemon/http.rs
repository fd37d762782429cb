//! The daemon's HTTP port: opened by the settings or by `yore page`, it serves MCP, the API and the page behind the guard.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::Scope;
use std::time::{Duration, Instant};

use yore_engine::CategoriesRequest;
use yore_sources::project_names::names_of;

use super::log::Log;
use super::shared::{OpenPort, Shared, lock};
use crate::api::{self, Api};
use crate::config::Config;
use crate::engine_handle::EngineHandle;
use crate::error::{CliError, CliResult, Exit};
use crate::http::browser::Browsers;
use crate::http::guard::Guard;
use crate::http::listener::{Listener, ShutdownSignal, shutdown};
use crate::http::token::{TOKEN, token};
use crate::ipc::wire::PageLink;
use crate::mcp::http::Mcp;
use crate::mcp::{self, Server, Toolset, chat_reader, deep_reader};
use crate::page;

/// Interval in which it is looked whether the tree of categories is still current, and time for which somebody who was heard looks at the
/// page.
const LOOK: Duration = Duration::from_secs(1);
const LOOKED_AT: Duration = Duration::from_secs(600);

/// Opens the configured port.
pub fn open(directory: &Path, config: &Config, log: &Log) -> io::Result<Listener> {
    let port = config.http.port;
    let listener = Listener::open_of(directory, port, 0);
    let listener = listener.inspect_err(|error| log.error(format!("port {port}: {error}")))?;
    log.info(format!("MCP at {}, the API at {}", listener.url(mcp::http::PATH), listener.url(api::PATH)));
    Ok(listener)
}

/// Serves the daemon's memory on an open port, in a thread of `scope`, until [`close`]. Everything else works without it, so an
/// error is only reported.
pub fn serve<'scope, 'env>(shared: &'env Shared<'env>, listener: Listener, scope: &'scope Scope<'scope, 'env>) {
    let mut open = lock(&shared.port);
    if open.is_none() {
        match begin(shared, listener, scope) {
            Ok(port) => *open = Some(port),
            Err(error) => shared.log.error(format!("HTTP: {error}")),
        }
    }
}

/// Ends the port.
pub fn close(shared: &Shared<'_>) {
    drop(lock(&shared.port).take());
}

/// Opens the port if it is not open, and makes a link that a browser can open once; `to` is the path of the page.
pub fn link<'scope, 'env>(shared: &'env Shared<'env>, to: &str, scope: &'scope Scope<'scope, 'env>) -> CliResult<PageLink> {
    let failed = |error: io::Error| CliError {
        exit: Exit::Data,
        code: "page/port".to_owned(),
        message: format!("cannot open the port: {error}"),
        hint: Some("`yore config set http.port 0` chooses a free one; `yore daemon logs` tells more".to_owned()),
    };
    let mut port = lock(&shared.port);
    if shared.is_stopping() {
        return Err(CliError { exit: Exit::Busy, ..CliError::usage("the daemon is stopping", None) });
    }
    if port.is_none() {
        let listener = open(&shared.settings.directory, &shared.config, &shared.log).map_err(failed)?;
        *port = Some(begin(shared, listener, scope).map_err(failed)?);
    }
    let Some(open) = port.as_ref() else { return Err(failed(io::ErrorKind::NotConnected.into())) };
    let link = open.browsers.link().map_err(failed)?;
    let to: String = url::form_urlencoded::byte_serialize(to.as_bytes()).collect();
    let to = if to.is_empty() { to } else { format!("&to={to}") };
    Ok(PageLink { url: format!("{}{link}{to}", open.origin) })
}

/// Starts the thread that serves a port.
fn begin<'scope, 'env>(
    shared: &'env Shared<'env>,
    listener: Listener,
    scope: &'scope Scope<'scope, 'env>,
) -> io::Result<OpenPort> {
    let token = token(&shared.settings.directory).inspect_err(|error| shared.log.error(format!("{TOKEN}: {error}")))?;
    let browsers = Arc::new(Browsers::new()?);
    let (shutdown, signal) = shutdown();
    let origin = listener.url("");
    let known = Arc::clone(&browsers);
    std::thread::Builder::new()
        .name("http".to_owned())
        .spawn_scoped(scope, move || run(shared, listener, token, &known, signal))?;
    let known = Arc::clone(&browsers);
    std::thread::Builder::new().name("categories".to_owned()).spawn_scoped(scope, move || keep_current(shared, &known))?;
    Ok(OpenPort { origin, browsers, shutdown })
}

/// Computes the tree of categories anew after each change, while somebody looks at the page: it takes half a second with 20,000 memories,
/// for which no view should wait.
fn keep_current(shared: &Shared<'_>, browsers: &Browsers) {
    while !shared.is_stopping() {
        if browsers.was_heard(LOOKED_AT, Instant::now()) {
            // The view tells what is wrong.
            let _ = shared.engine.categories(&CategoriesRequest::default());
        }
        shared.sleep(LOOK);
    }
}

/// Serves MCP, the API and the page until `shutdown`.
fn run(shared: &Shared<'_>, listener: Listener, token: String, browsers: &Arc<Browsers>, shutdown: ShutdownSignal) {
    let settings = shared.settings;
    let handle = EngineHandle::new(settings.directory.clone(), shared.config.clone(), settings.models(), settings.may_be_full())
        .within(Arc::clone(&shared.engine), Arc::clone(&shared.uses));
    let toolset = match Toolset::configured(&shared.config) {
        Ok(toolset) => toolset,
        Err(error) => return shared.failed("MCP", &error),
    };
    let (reader, deep) = (chat_reader(settings), deep_reader(settings));
    let server = handle.clone();
    let mcp = Mcp::new(listener.port(), move |here| {
        let here = here.and_then(Path::to_str).map(names_of);
        Ok(Server::new(server.clone(), here, &toolset)?.reading_with(Arc::clone(&reader)).deepening_with(Arc::clone(&deep)))
    });
    let mut settings = settings.clone();
    // The settings of the project in which the daemon was started are not those of all.
    settings.resolved.config = shared.config.clone();
    let api = Api::new(handle, settings, shared.feed.clone());
    let router = mcp.router.clone().merge(api.router()).merge(page::router(&api, browsers));
    let guard = Guard::new(listener.port(), Some(token)).with_browsers(Arc::clone(browsers));
    if let Err(error) = listener.serve(guard.protect(router), shutdown, || mcp.end()) {
        shared.log.error(format!("HTTP: {error}"));
    }
}
