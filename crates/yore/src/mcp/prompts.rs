//! MCP prompts: texts that a person requests by name, filled with recalled words.
//!
//! - [`list`], [`get`]
//! - `recall`, `where-were-we`, `remember`

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

use super::access::{Access, asked_projects};
use super::resources::failed;
use super::tools::brief;
use super::tools::recall::ask;
use crate::recall_request;

/// Maximum tokens of recalled words in a prompt.
const BUDGET: usize = 3_000;

/// Returns all prompts.
pub fn list() -> Vec<Prompt> {
    let argument = |name: &str, description: &str, is_required: bool| {
        PromptArgument::new(name).with_description(description).with_required(is_required)
    };
    vec![
        Prompt::new(
            "recall",
            Some("Ask the memory, and answer from what it holds"),
            Some(vec![
                argument("question", "What to look for", true),
                argument("project", "A project's name or \"all\"; the current one unless given", false),
            ]),
        )
        .with_title("Recall"),
        Prompt::new("where-were-we", Some("Where things stand in this project, and what to do next"), None)
            .with_title("Where were we?"),
        Prompt::new(
            "remember",
            Some("Keep a note for all later sessions"),
            Some(vec![argument("text", "The note, word for word", true)]),
        )
        .with_title("Remember"),
    ]
}

/// Returns a prompt, filled in.
pub async fn get(access: &Arc<Access>, name: &str, arguments: Option<JsonObject>) -> Result<GetPromptResult, ErrorData> {
    let Some(prompt) = list().into_iter().find(|prompt| prompt.name == name) else {
        return Err(ErrorData::invalid_params(format!("unknown prompt {name:?}"), None));
    };
    let arguments = arguments.unwrap_or_default();
    let known: Vec<&PromptArgument> = prompt.arguments.iter().flatten().collect();
    if let Some(unknown) = arguments.keys().find(|name| known.iter().all(|known| known.name != **name)) {
        let names: Vec<&str> = known.iter().map(|known| known.name.as_str()).collect();
        return Err(ErrorData::invalid_params(format!("unknown argument {unknown:?}, known: {}", names.join(", ")), None));
    }
    let value = |name: &str| -> Option<String> {
        arguments.get(name).and_then(Value::as_str).map(str::to_owned).filter(|words| !words.trim().is_empty())
    };
    let needed =
        |name: &str| value(name).ok_or_else(|| ErrorData::invalid_params(format!("the argument {name:?} is missing"), None));
    let text = match name {
        "recall" => {
            let question = needed("question")?;
            let mut request = recall_request::request(question.as_str(), access.handle.config(), None);
            (request.filter.scope, request.here) = asked_projects(value("project"), request.filter.scope, access.here.clone());
            let found = ask(access, request, true).await.map_err(|error| failed(&error))?;
            format!(
                "{question}\n\nAnswer from what yore recalls below; name the session and date of what you rely on, and say what is \
                 not answered by it.\n\n{}",
                found.tell(Some(BUDGET)).text
            )
        }
        "where-were-we" => {
            let brief = brief::tell(access, None, brief::USUAL_BUDGET).await.map_err(|error| failed(&error))?;
            format!("Where were we? Tell me in a few sentences where things stand and what would come next.\n\n{}", brief.text)
        }
        _ => format!(
            "Remember this for all later sessions. I confirm these exact words; keep them with the tool `remember`:\n\n{}",
            needed("text")?
        ),
    };
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(prompt.description.unwrap_or_default()))
}
