use std::sync::atomic::AtomicBool;

use clap::Args;
use yore_core::time::UtcMillis;
use yore_engine::{ExtractRequest, SessionTopics, Topic, TopicsRequest};

use super::Context;
use super::scope::ScopeArguments;
use crate::error::{CliResult, Exit};
use crate::llm;
use crate::recall_request;
use crate::render::text;
use crate::results::{self, words};

/// List topics of sessions: where each begins, and what came of it
///
/// A session is divided where what is said changes its meaning and its files, after a pause, or where you say so. A topic's
/// name is the request that says most about it; `yore show ID` opens it. With a text, the topics nearest to it are listed.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only topics about this, the nearest first
    #[arg(value_name = "TEXT")]
    text: Vec<String>,
    /// Topics of this session, with similar ones of other sessions; may be repeated
    #[arg(long = "session", value_name = "ID")]
    sessions: Vec<String>,
    #[command(flatten)]
    scope: ScopeArguments,
    /// Only sessions last used at or after this time
    #[arg(long, value_name = "TIME", value_parser = recall_request::time)]
    since: Option<UtcMillis>,
    /// Let the configured language model summarise sessions and name their topics (see `yore learn`), then list them; what has a
    /// summary is left as it is until the session goes on
    #[arg(long, conflicts_with = "text")]
    summarise: bool,
    /// At most about N topics; 0: all [default: 20, all of a session]
    #[arg(short = 'n', long, value_name = "N", hide_default_value = true)]
    limit: Option<usize>,
}

/// Default number of topics.
const LIMIT: usize = 20;

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let text = arguments.text.join(" ");
    let request = TopicsRequest {
        sessions: arguments.sessions.clone(),
        projects: if arguments.sessions.is_empty() { arguments.scope.projects(context)? } else { arguments.scope.named.clone() },
        since: arguments.since,
        text: (!text.trim().is_empty()).then_some(text),
        limit: arguments.limit.unwrap_or(if arguments.sessions.is_empty() { LIMIT } else { 0 }),
    };
    let is_whole = !arguments.summarise || summarise(&request, context)?;
    let listed = list(request, context)?;
    Ok(if is_whole { listed } else { Exit::Nothing })
}

/// Lets the model summarise sessions, and says on standard error what it did. Returns whether nothing failed.
fn summarise(request: &TopicsRequest, context: &mut Context) -> CliResult<bool> {
    let settings = context.settings.clone();
    let mut chooser = llm::ModelChooser::new(&settings, "summarise")?;
    let chosen = ExtractRequest {
        sessions: request.sessions.clone(),
        projects: request.projects.clone(),
        since: request.since,
        ..ExtractRequest::default()
    };
    let engine = context.settings.engine(false)?;
    let report = chooser.choosing(&AtomicBool::new(false), |by| engine.name_topics_by_model(by, &chosen))?;
    let named = text::counted(report.topics, "topic");
    let mut words = format!("{} summarised, {named} named", text::counted(report.sessions, "session"));
    let more = [(report.waiting, "wait for an answer"), (report.failed.len() as u64, "failed"), (report.left_out, "left out")];
    words.extend(more.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("; {} {what}", text::count(*count))));
    words.extend(report.stopped.iter().map(|reason| format!("; stopped: {}", text::harmless(&words::stopped(reason)))));
    context.printer.note(words)?;
    for failed in &report.failed {
        context.printer.note(format!("{} failed: {}", failed.session, text::harmless(&words::failed(&failed.reason))))?;
    }
    Ok(report.failed.is_empty() && report.stopped.is_none())
}

/// Prints the topics of sessions.
pub fn list(request: TopicsRequest, context: &mut Context) -> CliResult {
    let found = context.settings.memory()?.topics(request)?;
    if context.printer.is_json() {
        context.printer.json(&found.iter().map(results::SessionTopics::from).collect::<Vec<_>>())?;
    } else {
        for session in &found {
            for line in told(session) {
                context.printer.line(line)?;
            }
        }
    }
    Ok(if found.is_empty() { Exit::Nothing } else { Exit::Success })
}

fn told(session: &SessionTopics) -> Vec<String> {
    let title = session.title.as_deref().map(|title| text::harmless(title).replace('\n', " ")).unwrap_or_default();
    let project = session.project.as_deref().map(|project| format!(" · {}", text::harmless(project))).unwrap_or_default();
    let mut lines = vec![format!("{}{title}{} {}{}{project}{}", text::BOLD, text::RESET, text::DIM, session.short, text::RESET)];
    lines.extend(session.summary.iter().map(|summary| format!("  {}", text::harmless(summary))));
    for topic in &session.topics {
        lines.extend(topic_lines(topic, "  "));
    }
    lines.push(String::new());
    lines
}

fn topic_lines(topic: &Topic, margin: &str) -> Vec<String> {
    let place =
        format!("{} · {} · {}", text::time(topic.started), text::counted(topic.exchanges.into(), "exchange"), topic.turn.short());
    let mut lines = vec![format!("{margin}{} {}{place}{}", text::harmless(&topic.name), text::DIM, text::RESET)];
    let mut detail = |words: String| lines.push(format!("{margin}  {}", text::harmless(&words)));
    // The parts of a topic say the same in more detail.
    if topic.parts.is_empty() {
        topic.summary.iter().for_each(|sentence| detail(sentence.clone()));
        if let Some(outcome) = &topic.outcome {
            detail(format!("→ {outcome}"));
        }
        if !topic.files.is_empty() {
            detail(format!("files: {}", topic.files.join(", ")));
        }
    }
    for part in &topic.parts {
        lines.extend(topic_lines(part, &format!("{margin}  ")));
    }
    for other in &topic.similar {
        let place = format!("{} · {}", text::time(other.started), other.turn.short());
        lines.push(format!("{margin}  {}like: {} · {place}{}", text::DIM, text::harmless(&other.name), text::RESET));
    }
    lines
}
