//! Finds what commands about teams begin with: the checkout of this directory, the server of a team, and how their failures are told.

use yore_sources::project_names::{ProjectNames, names_of};

use super::Context;
use crate::error::{CliError, CliResult};
use crate::shared::folder::{Folder, project_key};
use crate::shared::mirror::Membership;
use crate::team::remote::{RemoteError, Server};

/// The checkout of this directory.
pub(super) fn checkout(context: &Context) -> CliResult<(Folder, ProjectNames, String)> {
    let outside = || CliError::usage("this directory is in no repository", Some("run it in the project that you share"));
    let folder = context.settings.here.as_deref().and_then(Folder::of).ok_or_else(outside)?;
    let here = folder.root.to_str().map(names_of).ok_or_else(outside)?;
    let key = project_key(&here).ok_or_else(outside)?;
    Ok((folder, here, key))
}

#[expect(clippy::needless_pass_by_value, reason = "an error is given away where it is told")]
pub(super) fn told(error: RemoteError) -> CliError {
    error.told()
}

pub(super) fn failed(context: &Context) -> impl Fn(std::io::Error) -> CliError {
    let data = context.settings.directory.clone();
    move |error| CliError::io(&data, &error)
}

pub(super) fn server(membership: &Membership) -> CliResult<Server> {
    Server::of(membership).map_err(told)
}
