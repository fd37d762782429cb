//! The health of the memory: what is wrong and its remedy, for the doctor, the API and the page.
//!
//! - [`Told`]: a finding, and facts about it for programs
//! - [`daemon`]: the state of the daemon, as it tells it
//! - [`in_words`]: findings about the data directory; [`after_room`]: remedies that need space come after freeing some

mod told;
mod words;

use std::path::Path;

pub use self::told::Told;
pub use self::words::{after_room, in_words, told};
use crate::error::CliResult;
use crate::ipc::card;
use crate::ipc::client::{self, NoAnswer, PATIENCE};
use crate::ipc::wire::Request;
use crate::results::{Daemon, DaemonStatus};

/// Asks the daemon of a data directory for its state.
///
/// # Errors
/// If it refuses to tell.
pub fn daemon(directory: &Path) -> CliResult<Daemon> {
    let answer = client::connect_any(directory).map(|mut client| client.ask::<DaemonStatus>(&Request::Status, PATIENCE));
    match answer {
        Some(Ok(status)) => Ok(Daemon { status: Some(status), running: true, answers: true }),
        Some(Err(NoAnswer::Refused(error))) => Err(error),
        None | Some(Err(NoAnswer::Unavailable { .. })) => {
            Ok(Daemon { status: None, running: card::is_running(directory), answers: false })
        }
    }
}
