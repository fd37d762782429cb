//! The daemon's proxy before language models: opened by the settings, with the daemon's memory.

use std::sync::Arc;

use super::shared::{Shared, lock};
use crate::histories;
use crate::http::listener::Listener;
use crate::proxy::open::OpenProxy;

/// Serves the proxy until [`close`]. Everything else works without it, so an error is only reported.
pub fn serve(shared: &Shared<'_>, listener: Listener) {
    let request = match histories::request(Vec::new(), shared.settings) {
        Ok(request) => request,
        Err(error) => return shared.failed("proxy", &error),
    };
    match OpenProxy::begin(listener, Arc::clone(&shared.engine), shared.config.clone(), request) {
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
