//! Carries bytes both ways after a connection has become a web socket.

use std::sync::Arc;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::{io::copy_bidirectional, sync::OwnedSemaphorePermit};

use crate::{
    client_io::Busy,
    counts::{Counts, Open},
};

/// Marks a client's connection as open, against the limit and in the counts, until the last user of it is gone.
#[derive(Debug)]
pub(crate) struct Connection {
    pub _permit: OwnedSemaphorePermit,
    pub _open: Open,
}

/// Starts to carry bytes once both sides have switched, until one of them closes. `busy` keeps the client's socket from taking
/// silence for idleness.
pub(crate) fn start(client: OnUpgrade, upstream: OnUpgrade, connection: Arc<Connection>, busy: Busy, counts: Arc<Counts>) {
    let open = Open::new(counts, |counts| &counts.open_streams);
    tokio::spawn(async move {
        let _marks = (connection, busy, open);
        if let (Ok(client), Ok(upstream)) = tokio::join!(client, upstream) {
            // An end of either side ends the tunnel; there is nobody to tell.
            let _ = copy_bidirectional(&mut TokioIo::new(client), &mut TokioIo::new(upstream)).await;
        }
    });
}
