//! The command line: the table of commands, their global options, and dispatch; one file for each command.

mod account;
mod ask;
mod audit;
mod brief;
mod browse;
mod budget;
mod capture;
mod categories;
mod cleanup;
mod completions;
mod config;
mod conflicts;
mod consolidate;
mod daemon;
mod data;
mod digest;
mod distil;
mod doctor;
mod embed;
mod eval;
mod export;
mod extract;
mod forget;
mod handoff;
mod help;
mod hook;
mod import;
mod ingest;
mod insights;
mod install;
mod language_model;
mod learn;
mod log;
mod mcp;
mod memories;
mod models;
mod old_names;
mod own_version;
mod page;
mod pdf_text;
mod projects;
mod proxy;
mod recall;
mod remember;
mod replay;
mod resume;
mod review;
mod rlm;
mod scope;
#[cfg(feature = "team-server")]
mod serve;
mod sessions;
mod share;
mod show;
mod stats;
mod status;
mod status_line;
mod team;
mod team_place;
mod team_project;
mod team_sessions;
mod topics;
mod tour;
mod undo;
mod uninstall;
mod up;
mod upkeep;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::config::{Environment, Layers, UserFile, When, defaults, load, load_here};
use crate::error::{CliError, CliResult};
use crate::paths::{Paths, Platform};
use crate::render::{Printer, text};
use crate::settings::{Settings, find_project_file};

/// A long-term memory for AI coding agents: keeps every word, finds it again
#[derive(Debug, Parser)]
#[command(name = "yore", version, propagate_version = true, disable_help_subcommand = true, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done, 1 nothing found or something to mend, 2 usage or configuration, 3 data directory, 4 busy, 130 interrupted (what was done stays done).

`yore help all` lists every command; `yore help COMMAND` explains one."
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Args, Debug)]
struct Global {
    /// Print results as JSON
    #[arg(long, global = true, help_heading = "Global options")]
    json: bool,
    /// Keep all data in DIR [default: the platform's data directory, or YORE_HOME]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    data_dir: Option<PathBuf>,
    /// Set a configuration key for this command only
    #[arg(short = 'c', long = "config", global = true, value_name = "KEY=VALUE", value_parser = key_value, help_heading = "Global options")]
    settings: Vec<(String, String)>,
    /// Do the work here, whether or not a daemon runs
    #[arg(long, global = true, help_heading = "Global options")]
    no_daemon: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, value_name = "WHEN", help_heading = "Global options")]
    color: Option<ColorWhen>,
    /// Print long answers at once; else YORE_PAGER, PAGER or less shows them on a terminal
    #[arg(long, global = true, help_heading = "Global options")]
    no_pager: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ColorWhen {
    Auto,
    Always,
    Never,
}

/// Reads a name, id or directory of a project; a relative directory (such as `.`) becomes a whole path.
fn project(text: &str) -> Result<String, String> {
    let is_relative = text == "." || text == ".." || text.starts_with("./") || text.starts_with("../");
    if !is_relative {
        return Ok(text.to_owned());
    }
    std::fs::canonicalize(text).map(|path| path.display().to_string()).map_err(|error| error.to_string())
}

fn key_value(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(key, value)| (key.trim().to_owned(), value.to_owned()))
        .ok_or_else(|| "expected KEY=VALUE".to_owned())
}

#[derive(Debug, Subcommand)]
enum Command {
    Up(up::Arguments),
    Tour(tour::Arguments),
    Install(install::Arguments),
    Status(status::Arguments),
    Doctor(doctor::Arguments),
    Stats(stats::Arguments),
    Account(account::Arguments),
    #[command(name = "self")]
    OwnVersion(own_version::Arguments),
    #[command(alias = "search")]
    Recall(recall::Arguments),
    Ask(ask::Arguments),
    Show(show::Arguments),
    Sessions(sessions::Arguments),
    Today(digest::Today),
    Week(digest::Week),
    Resume(resume::Arguments),
    Handoff(handoff::Arguments),
    Audit(audit::Arguments),
    Brief(brief::Arguments),
    Topics(topics::Arguments),
    Categories(categories::Arguments),
    Insights(insights::Arguments),
    Projects(projects::Arguments),
    Page(browse::Arguments),
    #[command(alias = "note")]
    Remember(remember::Arguments),
    Memories(memories::Arguments),
    Review(review::Arguments),
    Forget(forget::Arguments),
    Undo(undo::Undo),
    Log(log::Arguments),
    Redo(undo::Redo),
    Cleanup(cleanup::Arguments),
    Conflicts(conflicts::Arguments),
    Export(export::Arguments),
    Import(import::Arguments),
    Share(share::Arguments),
    Team(team::Arguments),
    Learn(learn::Arguments),
    Rlm(rlm::Arguments),
    #[command(hide = true)]
    Extract(extract::Arguments),
    Distil(distil::Arguments),
    #[command(hide = true)]
    Consolidate(consolidate::Arguments),
    Models(models::Arguments),
    #[command(hide = true)]
    Budget(budget::Arguments),
    Uninstall(uninstall::Arguments),
    Mcp(mcp::Arguments),
    Proxy(proxy::Arguments),
    Hook(hook::Arguments),
    StatusLine(status_line::Arguments),
    Data(data::Arguments),
    Ingest(ingest::Arguments),
    Embed(embed::Arguments),
    Capture(capture::Arguments),
    Daemon(daemon::Arguments),
    Upkeep(upkeep::Arguments),
    Config(config::Arguments),
    Completions(completions::Arguments),
    Replay(replay::Arguments),
    #[cfg(feature = "team-server")]
    Serve(serve::Arguments),
    #[command(hide = true)]
    Eval(eval::Arguments),
    #[command(hide = true)]
    PdfText(pdf_text::Arguments),
}

impl Command {
    /// Returns whether the command works with the defaults if the settings cannot be read.
    fn needs_no_settings(&self) -> bool {
        match self {
            Self::Completions(_) | Self::PdfText(_) | Self::OwnVersion(_) => true,
            Self::Config(arguments) => arguments.needs_no_settings(),
            _ => false,
        }
    }

    /// Returns whether the command only shows what is stored, which may be long.
    fn is_read(&self) -> bool {
        match self {
            Self::Memories(arguments) => arguments.is_list(),
            Self::Recall(_) | Self::Show(_) | Self::Sessions(_) | Self::Today(_) | Self::Week(_) | Self::Topics(_) => true,
            Self::Brief(_) | Self::Categories(_) | Self::Insights(_) | Self::Projects(_) | Self::Log(_) => true,
            _ => false,
        }
    }
}

/// The settings and the printer of a command.
pub(crate) struct Context {
    pub settings: Settings,
    pub printer: Printer,
}

/// Parses the arguments, runs the command and reports errors.
pub fn run() -> ExitCode {
    if let Some(call) = crate::hook::Call::of(std::env::args_os().skip(1)) {
        return crate::hook::run(&call);
    }
    if let Some(call) = status_line::Call::of(std::env::args_os().skip(1)) {
        return status_line::print(&call);
    }
    #[cfg(feature = "python")]
    if std::env::args_os().nth(1).is_some_and(|first| first == yore_engine::WORKER) {
        // It has no home and no settings: it runs what a model wrote.
        return if yore_sandbox::worker::serve_standard().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let cli = match parse(std::env::args_os().skip(1).collect()) {
        Ok(cli) => cli,
        // What is wrong with the call is told as JSON to whoever asked for JSON; help and version are text.
        Err(error) if error.use_stderr() && std::env::args_os().any(|argument| argument == "--json") => {
            let told = error.to_string();
            let told = told.trim().strip_prefix("error: ").unwrap_or(told.trim()).to_owned();
            let error = CliError::usage(told, None);
            let exit = error.exit as u8;
            report(&mut Printer::new(true, When::Auto, When::Never), error);
            return ExitCode::from(exit);
        }
        Err(error) => error.exit(),
    };
    let is_json = cli.global.json;
    let has_pages = cli.command.is_read() && !cli.global.no_pager;
    match context(&cli.global, &cli.command).and_then(|mut context| {
        if has_pages {
            context.printer.begin_pages(&context.settings.environment);
        }
        let outcome = dispatch(cli.command, &mut context).map_err(|error| report(&mut context.printer, error));
        context.printer.end_pages()?;
        outcome
    }) {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(error) if error.code == "broken-pipe" || error.code == "reported" => {
            ExitCode::from(if error.code == "reported" { error.exit as u8 } else { 0 })
        }
        Err(error) => {
            let exit = error.exit as u8;
            report(&mut Printer::new(is_json, When::Auto, When::Never), error);
            ExitCode::from(exit)
        }
    }
}

/// Parses the arguments, of which the first may be `help` or an old name.
fn parse(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
    let (arguments, is_all) = help::as_flag(arguments);
    let mut command = help::grouped(command(), is_all);
    let matches = command.try_get_matches_from_mut(std::iter::once("yore".into()).chain(old_names::renamed(arguments)))?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Prints an error. The returned error only carries the exit code.
fn report(printer: &mut Printer, error: CliError) -> CliError {
    if error.code != "broken-pipe" {
        printer.error(&error);
        return CliError { code: "reported".to_owned(), ..error };
    }
    error
}

fn dispatch(command: Command, context: &mut Context) -> CliResult {
    match command {
        Command::Up(arguments) => up::run(&arguments, context),
        Command::Tour(arguments) => tour::run(&arguments, context),
        Command::Install(arguments) => install::run(&arguments, context),
        Command::Status(arguments) => status::run(&arguments, context),
        Command::Doctor(arguments) => doctor::run(&arguments, context),
        Command::Stats(arguments) => stats::run(&arguments, context),
        Command::OwnVersion(arguments) => own_version::run(&arguments, context),
        Command::Account(arguments) => account::run(&arguments, context),
        Command::Recall(arguments) => recall::run(&arguments, context),
        Command::Ask(arguments) => ask::run(&arguments, context),
        Command::Show(arguments) => show::run(&arguments, context),
        Command::Sessions(arguments) => sessions::run(&arguments, context),
        Command::Today(arguments) => digest::today(&arguments, context),
        Command::Week(arguments) => digest::week(&arguments, context),
        Command::Resume(arguments) => resume::run(&arguments, context),
        Command::Handoff(arguments) => handoff::run(&arguments, context),
        Command::Audit(arguments) => audit::run(&arguments, context),
        Command::Brief(arguments) => brief::run(&arguments, context),
        Command::Topics(arguments) => topics::run(&arguments, context),
        Command::Categories(arguments) => categories::run(&arguments, context),
        Command::Insights(arguments) => insights::run(&arguments, context),
        Command::Page(arguments) => browse::run(&arguments, context),
        Command::Projects(arguments) => projects::run(&arguments, context),
        Command::Remember(arguments) => remember::run(&arguments, context),
        Command::Memories(arguments) => memories::run(&arguments, context),
        Command::Review(arguments) => review::run(&arguments, context),
        Command::Forget(arguments) => forget::run(&arguments, context),
        Command::Undo(arguments) => undo::undo(&arguments, context),
        Command::Log(arguments) => log::run(&arguments, context),
        Command::Redo(arguments) => undo::redo(&arguments, context),
        Command::Cleanup(arguments) => cleanup::run(&arguments, context),
        Command::Conflicts(arguments) => conflicts::run(&arguments, context),
        Command::Export(arguments) => export::run(&arguments, context),
        Command::Import(arguments) => import::run(&arguments, context),
        Command::Share(arguments) => share::run(&arguments, context),
        Command::Team(arguments) => team::run(&arguments, context),
        Command::Learn(arguments) => learn::run(&arguments, context),
        Command::Extract(arguments) => extract::run(&arguments, context),
        Command::Rlm(arguments) => rlm::run(&arguments, context),
        Command::Distil(arguments) => distil::run(&arguments, context),
        Command::Consolidate(arguments) => consolidate::run(&arguments, context),
        Command::Models(arguments) => models::run(&arguments, context),
        Command::Budget(arguments) => budget::run(&arguments, context),
        Command::Uninstall(arguments) => uninstall::run(&arguments, context),
        Command::Mcp(arguments) => mcp::run(&arguments, context),
        Command::Proxy(arguments) => proxy::run(&arguments, context),
        Command::Hook(arguments) => hook::run(&arguments, context),
        Command::StatusLine(arguments) => status_line::run(&arguments, context),
        Command::Data(arguments) => data::run(&arguments, context),
        Command::Ingest(arguments) => ingest::run(&arguments, context),
        Command::Embed(arguments) => embed::run(&arguments, context),
        Command::Capture(arguments) => capture::run(&arguments, context),
        Command::Daemon(arguments) => daemon::run(&arguments, context),
        Command::Upkeep(arguments) => upkeep::run(&arguments, context),
        Command::Config(arguments) => config::run(&arguments, context),
        Command::Completions(arguments) => completions::run(&arguments, context),
        Command::Replay(arguments) => replay::run(&arguments, context),
        #[cfg(feature = "team-server")]
        Command::Serve(arguments) => serve::run(&arguments, context),
        Command::Eval(arguments) => eval::run(&arguments, context),
        Command::PdfText(arguments) => pdf_text::run(&arguments, context),
    }
}

/// Returns the command line for clap, for completions, man pages and the reference.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

fn context(global: &Global, command: &Command) -> CliResult<Context> {
    let environment: Environment = std::env::vars_os().collect();
    let get = |name: &str| std::env::var(name).ok();
    let paths = Paths::locate(Platform::HERE, &get);
    let here = std::env::current_dir().ok();
    let user_file = UserFile::locate(&environment, paths.config.as_deref());
    let project_file = here.as_deref().and_then(find_project_file);
    let mut flags = global.settings.clone();
    if let Some(color) = global.color {
        let name = color.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        flags.push(("output.color".to_owned(), name));
    }
    if global.no_daemon {
        flags.push(("daemon.use".to_owned(), "false".to_owned()));
    }
    let layers =
        Layers { user_file: user_file.as_ref(), project_file: project_file.as_deref(), environment: &environment, flags: &flags };
    let is_checked = matches!(command, Command::Config(_));
    let (resolved, ignored) = match load_here(&layers) {
        // `yore config` must be able to fix settings that keep every other command from starting.
        Err(_) if command.needs_no_settings() => {
            (load(&Layers { user_file: None, project_file: None, ..layers }).or_else(|_| defaults())?, Vec::new())
        }
        Err(problem) => {
            return Err(CliError { hint: Some("`yore config check` lists every problem".to_owned()), ..problem.into() });
        }
        Ok(loaded) => loaded,
    };
    // A command that touches no data needs no place for it.
    let unused = matches!(command, Command::Completions(_)).then(PathBuf::new);
    let directory = global.data_dir.clone().or_else(|| paths.data.clone()).or(unused).ok_or_else(|| {
        CliError::usage("no home directory for the data", Some("name a data directory with --data-dir or YORE_HOME"))
    })?;
    let mut printer = Printer::new(global.json, resolved.config.output.color, resolved.config.output.progress);
    let zone = environment.get("TZ").filter(|zone| !zone.is_empty());
    if let Some(zone) = zone.filter(|_| jiff::tz::TimeZone::try_system().is_err()) {
        let zone = text::harmless(&zone.to_string_lossy());
        printer.note(format!("warning: the time zone {zone} in TZ is not known here; times are in UTC"))?;
    }
    // `yore config check` lists all of them.
    if let Some(problem) = ignored.first().filter(|_| !is_checked) {
        let told = text::harmless(&problem.to_string());
        printer.note(format!("{}warning:{} ignored in this project's settings: {told}", text::YELLOW, text::RESET))?;
    }
    let settings = Settings { environment, resolved, paths, user_file, project_file, flags, directory, here };
    Ok(Context { settings, printer })
}
