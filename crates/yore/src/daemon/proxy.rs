//! The daemon's proxy before language models: opened by the settings, with the daemon's memory.

use std::sync::Arc;

use super::shared::{Shared, lock};
use crate::http::listener::Listener;
use crate::proxy::open::OpenProxy;

/// Serves the proxy until [`close`]. Everything else works without it, so an error is only reported.
pub fn serve(shared: &Shared<'_>, listener: Listener) {
    let mut settings = shared.settings.clone();
    // The settings of the project in which the daemon was started are not those of all.
    settings.resolved.config = shared.config.clone();
    settings.project_file = None;
    match OpenProxy::begin(listener, Arc::clone(&shared.engine), settings, shared.config.clone()) {
        Ok(open) => {
            shared.log.info(format!("the proxy at {}", open.address()));
            *lock(&shared.proxy) = Some(open);
        }
        Err(error) => shared.log.error(format!("proxy: {error}")),
    }
}

/// Ends the proxy.
pub fn close(shared: &Shared<'_>) {
    drop(lock(&shared.proxy).take());
}
