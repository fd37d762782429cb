//! Teams with which this computer shares memories.

use crate::api::route::{Caller, Nothing, Route};
use crate::error::{CliError, CliResult};
use crate::results::TeamState;
use crate::team::state;

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![Route::get("/team", "Lists the teams of this computer, what is shared from here, and what members share", &[], teams)]
}

/// Lists the teams of this computer, as they are known without a network.
pub fn teams(caller: &mut Caller<'_>, _: Nothing) -> CliResult<Vec<TeamState>> {
    let directory = &caller.settings.directory;
    state::states(directory).map_err(|error| CliError::io(directory, &error))
}
