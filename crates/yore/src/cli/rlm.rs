use std::sync::atomic::AtomicBool;

use clap::{Args, Subcommand};
use yore_core::query::ReadingStrategy;
use yore_core::time::UtcMillis;
use yore_engine::llm::RunLimits;
use yore_engine::{DeepAnswer, DeepRequest, PiecesRequest, Stop, Trajectory, trajectories};

use super::Context;
use super::recall::{self};
use super::scope;
use crate::error::{CliResult, Exit};
use crate::llm::reading;
use crate::recall_request;
use crate::render::deep;
use crate::results::{DeepAnswered, RunRecord};

/// Have a language model read a whole archive for a question
///
/// For questions that no few passages answer: how often, since when, which of all, what sessions have in common. The model
/// reads everything that is asked for, in pieces, within limits. What is counted is counted by a program. Each answer names the
/// words that it rests on, and no words count that stand nowhere. Needs a configured model and a daily limit (`yore learn`).
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Ask a question
    Run(Box<RunArguments>),
    /// Show a run: its steps, its calls and what they took; without an id, list all runs
    Show {
        /// The run, or the beginning of its id
        run: Option<String>,
    },
    /// Make a run again from its record, without a call: the same answer, as long as its pieces are in the archive
    Replay {
        /// The run, or the beginning of its id
        run: String,
    },
}

#[derive(Args, Debug)]
struct RunArguments {
    /// The question; `-` reads it from standard input
    #[arg(value_name = "QUESTION", required = true)]
    question: Vec<String>,
    /// Only this project: name, id or directory [default: the project of this directory]
    #[arg(short, long, value_name = "PROJECT", value_parser = crate::cli::project)]
    project: Vec<String>,
    /// Read all projects
    #[arg(short, long, conflicts_with = "project")]
    all: bool,
    /// Only this session; may be repeated
    #[arg(short, long, value_name = "ID")]
    session: Vec<String>,
    /// Only sessions whose title or messages contain these words
    #[arg(long, value_name = "WORDS")]
    matching: Option<String>,
    /// Only sessions that touched this file: a path, or the end of one; may be repeated
    #[arg(long, value_name = "PATH")]
    file: Vec<String>,
    /// Only what recall finds for these words
    #[arg(long, value_name = "WORDS")]
    found: Option<String>,
    /// Only what was said at this time or later: a date, RFC 3339, or words such as "last week"
    #[arg(long, value_name = "TIME", value_parser = recall_request::time)]
    since: Option<UtcMillis>,
    /// Only what was said before this time
    #[arg(long, value_name = "TIME", value_parser = recall_request::time)]
    until: Option<UtcMillis>,
    /// Read what tools were given and answered too
    #[arg(long)]
    tools: bool,
    /// Read memories in the place of sessions
    #[arg(long, conflicts_with_all = ["session", "matching", "tools", "file", "found"])]
    memories: bool,
    /// Only the memories of this category (`yore categories`)
    #[arg(long, value_name = "NAME", requires = "memories")]
    category: Option<String>,
    #[command(flatten)]
    limits: LimitArguments,
}

/// The most that a run may take.
#[derive(Args, Debug)]
pub struct LimitArguments {
    /// At most N calls of a model; 0: only tell what the run would take
    #[arg(long, value_name = "N", default_value_t = RunLimits::default().calls)]
    calls: u64,
    /// At most N tokens
    #[arg(long, value_name = "N", default_value_t = RunLimits::default().tokens)]
    tokens: u64,
    /// At most so many dollars, where the model costs money
    #[arg(long, value_name = "DOLLARS", default_value_t = RunLimits::default().cost_micro as f64 / 1e6)]
    dollars: f64,
    /// At most N seconds
    #[arg(long, value_name = "N", default_value_t = RunLimits::default().milliseconds / 1_000)]
    seconds: u64,
    /// How it reads: direct, planned, iterative or code [default: by size, question and model]
    #[arg(long, value_name = "STRATEGY", value_parser = strategy)]
    strategy: Option<ReadingStrategy>,
}

impl LimitArguments {
    /// Makes a request with these limits.
    pub fn request(&self, question: &str, pieces: PiecesRequest) -> DeepRequest {
        let limits = RunLimits {
            calls: self.calls,
            tokens: self.tokens,
            cost_micro: (self.dollars.max(0.0) * 1e6) as u64,
            milliseconds: self.seconds.saturating_mul(1_000),
        };
        DeepRequest { pieces, strategy: self.strategy, limits, ..DeepRequest::new(question) }
    }
}

fn strategy(name: &str) -> Result<ReadingStrategy, String> {
    let known = || ReadingStrategy::ALL.iter().map(|strategy| strategy.as_str()).collect::<Vec<_>>().join(", ");
    ReadingStrategy::parse(name).ok_or_else(|| format!("expected one of {}", known()))
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    match &arguments.command {
        Command::Run(arguments) => {
            let question = recall::question(&arguments.question)?;
            let pieces = PiecesRequest {
                projects: scope::projects(&arguments.project, arguments.all || !arguments.session.is_empty(), context)?,
                sessions: arguments.session.clone(),
                matching: arguments.matching.clone(),
                since: arguments.since,
                until: arguments.until,
                with_tools: arguments.tools,
                files: arguments.file.clone(),
                found_for: arguments.found.clone(),
                of_memories: arguments.memories,
                category: arguments.category.clone(),
                most_bytes: None,
            };
            let answer = answer(arguments.limits.request(&question, pieces), context)?;
            tell(&question, &answer, context)
        }
        Command::Show { run: None } => {
            let directory = context.settings.directory.clone();
            let runs: Vec<RunRecord> = trajectories(&directory)?
                .into_iter()
                .filter_map(|(at, id)| Some(RunRecord::of(at, &Trajectory::read(&directory, &id).ok()?)))
                .collect();
            if context.printer.is_json() {
                context.printer.json(&runs)?;
            } else if runs.is_empty() {
                context.printer.note("there are no runs yet")?;
            } else {
                context.printer.line(deep::runs(&runs))?;
            }
            Ok(if runs.is_empty() { Exit::Nothing } else { Exit::Success })
        }
        Command::Show { run: Some(run) } => {
            let trajectory = Trajectory::read(&context.settings.directory, run)?;
            let answer = trajectory.answer().unwrap_or_default();
            if context.printer.is_json() {
                context.printer.json(&DeepAnswered::of(trajectory.question(), &answer))?;
            } else {
                context.printer.line(deep::steps(&trajectory))?;
                context.printer.line(deep::text(&answer))?;
            }
            Ok(Exit::Success)
        }
        Command::Replay { run } => {
            let question = Trajectory::read(&context.settings.directory, run)?.question().to_owned();
            let answer = reading::replay(&context.settings, run)?;
            tell(&question, &answer, context)
        }
    }
}

/// Has the model read. Each step is told on standard error.
pub fn answer(request: DeepRequest, context: &mut Context) -> CliResult<DeepAnswer> {
    let settings = context.settings.clone();
    let printer = &mut context.printer;
    reading::read_deeply(&settings, request, &AtomicBool::new(false), &mut |progress| {
        let _ = printer.note(deep::progress(progress));
    })
}

/// Prints an answer.
pub fn tell(question: &str, answer: &DeepAnswer, context: &mut Context) -> CliResult {
    if context.printer.is_json() {
        context.printer.json(&DeepAnswered::of(question, answer))?;
    } else {
        context.printer.line(deep::text(answer))?;
    }
    Ok(match (&answer.stop, answer.answer.is_empty()) {
        (Some(Stop::Preview), _) | (_, false) => Exit::Success,
        (Some(Stop::Failed(_) | Stop::NoModel(_)), true) => Exit::Data,
        _ => Exit::Nothing,
    })
}
