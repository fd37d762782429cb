use std::io::Read;

use clap::Args;
use yore_core::episode::{EpisodeKind, Role};
use yore_core::query::Filter;
use yore_core::scope::ScopeChoice;
use yore_core::time::UtcMillis;
use yore_engine::{RecallAnswer, RecallRequest};

use super::Context;
use crate::ask::{self, KINDS, ROLES};
use crate::config::RecallEmbedder;
use crate::error::{CliError, CliResult, Exit};
use crate::render::text;
use crate::results::Recalled;

/// Find what was said, and where
///
/// Any text is a question: words, an error message, a path. "Quoted words" must be next to each other.
/// Additional wordings (likely names, files, a guess of the answer) find far more. Searches the current
/// project unless told otherwise, and everything if the directory belongs to no known project (with
/// recall.scope = "project" it then searches nothing).
#[derive(Args, Debug)]
pub struct Arguments {
    /// The question; `-` reads it from standard input, `--` goes before one that begins with a dash
    #[arg(value_name = "QUESTION", required = true)]
    question: Vec<String>,
    /// Another way in which the answer may have been said; with some, quotation marks mean nothing
    #[arg(short, long, value_name = "WORDS")]
    wording: Vec<String>,
    #[command(flatten)]
    filter: FilterArguments,
    /// At most N turns
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
    /// The vectors that are used beside the words
    #[arg(long, value_enum, value_name = "EMBEDDER")]
    embedder: Option<RecallEmbedder>,
    /// Show the parts of each score
    #[arg(long)]
    explain: bool,
}

/// Filter for the turns that may answer.
#[derive(Args, Debug, Default)]
pub struct FilterArguments {
    /// Only this project: name, id or directory
    #[arg(short, long, value_name = "PROJECT")]
    project: Vec<String>,
    /// Search all projects
    #[arg(short, long, conflicts_with = "project")]
    all: bool,
    /// Only this branch, as recorded
    #[arg(long, value_name = "BRANCH")]
    branch: Vec<String>,
    /// Only this session and its side conversations
    #[arg(short, long, value_name = "ID")]
    session: Vec<String>,
    /// Only this agent's histories
    #[arg(long, value_name = "AGENT")]
    agent: Vec<String>,
    /// Only turns of this role
    #[arg(long, value_name = "ROLE", value_parser = ROLES)]
    role: Vec<String>,
    /// Only this kind of episode
    #[arg(long, value_name = "KIND", value_parser = KINDS)]
    kind: Vec<String>,
    /// Not before this time (date or RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = ask::time)]
    since: Option<UtcMillis>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = ask::time)]
    until: Option<UtcMillis>,
    /// As it was known at this time
    #[arg(long, value_name = "TIME", value_parser = ask::time)]
    as_of: Option<UtcMillis>,
    /// Only errors that tools reported
    #[arg(long)]
    errors: bool,
    /// Only messages with a code block
    #[arg(long)]
    code: bool,
    /// Only turns that touch or name this file: its name, or the end of its path
    #[arg(long, value_name = "FILE")]
    file: Vec<String>,
    /// Only messages with code in this language
    #[arg(long, value_name = "LANGUAGE")]
    language: Vec<String>,
}

impl FilterArguments {
    /// Returns the filter, with the configured scope if no project is named.
    pub fn filter(&self, configured: ScopeChoice) -> Filter {
        Filter {
            scope: match (self.project.is_empty(), self.all) {
                (false, _) => ScopeChoice::Projects(self.project.clone()),
                (true, true) => ScopeChoice::All,
                (true, false) => configured,
            },
            branches: self.branch.clone(),
            sessions: self.session.clone(),
            agents: self.agent.clone(),
            roles: self.role.iter().filter_map(|role| Role::parse(role)).collect(),
            kinds: self.kind.iter().filter_map(|kind| EpisodeKind::parse(kind)).collect(),
            since: self.since,
            until: self.until,
            as_of: self.as_of,
            only_errors: self.errors,
            has_code: self.code,
            files: self.file.clone(),
            languages: self.language.clone(),
        }
    }
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let mut question = arguments.question.join(" ");
    if question == "-" {
        question.clear();
        std::io::stdin()
            .lock()
            .take(1 << 20)
            .read_to_string(&mut question)
            .map_err(|error| CliError::usage(format!("cannot read the question: {error}"), None))?;
    }
    let mut memory = context.settings.memory()?;
    let mut request = request(&question, context);
    request.wordings.clone_from(&arguments.wording);
    request.filter = arguments.filter.filter(request.filter.scope);
    if let Some(limit) = arguments.limit {
        request.limit = limit as usize;
    }
    if let Some(embedder) = arguments.embedder {
        request.mode = embedder.mode();
    }
    let may_be_full = arguments.embedder.is_none() && context.settings.may_be_full();
    let answer = memory.recall(&request, may_be_full)?;
    if context.printer.is_json() {
        context.printer.json(&Recalled::exact(&question, &answer))?;
    } else {
        for hit in &answer.hits {
            context.printer.line(text::hit(hit, arguments.explain))?;
        }
        if arguments.explain {
            let [plan, land, trace] = answer.micros;
            context.printer.line(format!(
                "\nlooked up: {}\n{}; {} turns landed; plan {plan} µs, lists {land} µs, words {trace} µs",
                answer.terms.join(" "),
                answer.mode.as_str(),
                answer.landed
            ))?;
        }
    }
    for missing in &answer.missing {
        let remedy = missing.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        context.printer.note(format!("note: {}{remedy}", text::harmless(&missing.text)))?;
    }
    if answer.is_project_unknown || answer.hits.is_empty() && !context.printer.is_json() {
        context.printer.note(nothing_found(&answer))?;
    }
    Ok(if answer.hits.is_empty() { Exit::Nothing } else { Exit::Success })
}

fn nothing_found(answer: &RecallAnswer) -> String {
    if answer.is_project_unknown {
        return "nothing was searched: this directory belongs to no known project and recall.scope is \"project\" (--all asks every project)"
            .to_owned();
    }
    if answer.projects.is_empty() {
        return "no matches in any project".to_owned();
    }
    let names: Vec<String> = answer.projects.iter().map(|name| text::harmless(name)).collect();
    format!("no matches in project {} (--all asks every project)", names.join(", "))
}

/// Returns a request for a question with the configured settings.
pub fn request(question: &str, context: &Context) -> RecallRequest {
    ask::request(question, context.settings.config(), context.settings.project_here())
}
