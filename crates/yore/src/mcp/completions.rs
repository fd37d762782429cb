//! Completions of arguments of prompts and resource addresses.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};
use yore_engine::SessionsRequest;

use super::access::{ALL_PROJECTS, Access};
use super::tools::notes;
use super::{prompts, resources};
use crate::engine_handle::MemoryClient;
use crate::error::CliResult;
use crate::fence::name;

/// Maximum number of sessions that are considered.
const SESSIONS: usize = 500;

/// The source of an argument's values.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Values {
    Projects,
    Sessions,
    Topics,
    /// Any value; there is nothing to offer.
    Any,
}

/// Returns the values that begin with, or contain, the typed text.
pub async fn complete(access: &Arc<Access>, request: CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
    let values = values_of(&request)?;
    if values == Values::Any {
        return Ok(CompleteResult::default());
    }
    let access = Arc::clone(access);
    let handle = access.handle.clone();
    let typed = request.argument.value;
    let found = match handle.with(move |memory| known(&access, memory, values)).await {
        Ok(found) => found,
        Err(error) if error.code == "store/missing" => Vec::new(),
        Err(error) => return Err(resources::failed(&error)),
    };
    let mut fitting = fitting(found, &typed);
    let total = fitting.len();
    fitting.truncate(CompletionInfo::MAX_VALUES);
    let has_more = total > fitting.len();
    let info = CompletionInfo::with_pagination(fitting, u32::try_from(total).ok(), has_more)
        .map_err(|error| ErrorData::internal_error(error, None))?;
    Ok(CompleteResult::new(info))
}

fn values_of(request: &CompleteRequestParams) -> Result<Values, ErrorData> {
    let argument = request.argument.name.as_str();
    let of_prompt = |prompt: &str| {
        let prompts = prompts::list();
        let prompt = prompts.iter().find(|known| known.name == prompt)?;
        prompt.arguments.iter().flatten().find(|known| known.name == argument)?;
        Some(if argument == "project" { Values::Projects } else { Values::Any })
    };
    let found = match &request.r#ref {
        Reference::Prompt(prompt) => of_prompt(&prompt.name),
        Reference::Resource(resource) => match (resource.uri.as_str(), argument) {
            ("yore://session/{id}", "id") => Some(Values::Sessions),
            ("yore://context/{topic}", "topic") => Some(Values::Topics),
            ("yore://memory/{id}", "id") => Some(Values::Any),
            _ => None,
        },
        _ => None,
    };
    found.ok_or_else(|| ErrorData::invalid_params(format!("no completions for the argument {argument:?}"), None))
}

/// Returns every value, the likeliest first.
fn known(access: &Access, memory: &mut MemoryClient, values: Values) -> CliResult<Vec<String>> {
    Ok(match values {
        Values::Any => Vec::new(),
        Values::Projects => {
            let projects = memory.projects()?.into_iter().map(|project| project.name);
            projects.chain([ALL_PROJECTS.to_owned()]).collect()
        }
        Values::Sessions => {
            let request = SessionsRequest { without_documents: true, limit: SESSIONS, ..SessionsRequest::default() };
            memory.sessions(request)?.into_iter().map(|session| session.native_id).collect()
        }
        Values::Topics => memory.notes(notes::everything_here(access))?.into_iter().filter_map(|note| note.facts.title).collect(),
    })
}

/// Returns values that begin with the typed text, then those that contain it, each once, as one harmless
/// line.
fn fitting(values: Vec<String>, typed: &str) -> Vec<String> {
    let typed = typed.trim().to_lowercase();
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for value in values.iter().map(|value| name(value)) {
        let lower = value.to_lowercase();
        let list = if lower.starts_with(&typed) { &mut first } else { &mut others };
        if lower.contains(&typed) && !list.contains(&value) {
            list.push(value);
        }
    }
    first.extend(others);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_come_first_and_nothing_twice() {
        let values = ["harbour", "tide", "Tideline", "old tide", "tide"].map(str::to_owned).to_vec();
        assert_eq!(fitting(values.clone(), "TIDE"), ["tide", "Tideline", "old tide"]);
        assert_eq!(fitting(values, "").len(), 4);
    }
}
