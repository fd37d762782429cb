//! Learn from sessions: by rules at once, by a language model within a limit.

mod offer;
mod state;

use std::sync::atomic::AtomicBool;

use clap::{Args, Subcommand};
use yore_engine::llm::{Program, Server};
use yore_engine::{Engine, ExtractRequest, FailReason, ModelReport, StopReason, platform, switch_models};

use super::{Context, extract};
use crate::config::{self, FileKind, ModelUse};
use crate::engine_handle::may_begin;
use crate::error::{CliError, CliResult, Exit};
use crate::inject::learning;
use crate::ipc::card::is_running;
use crate::ipc::client;
use crate::llm::found::{self, FoundModel, Payer};
use crate::llm::{self, ModelChooser};
use crate::render::progress::Progress;
use crate::render::text;
use crate::results::{ExtractionDone, LearnDone, ModelExtraction};

pub use offer::offer;
pub use state::{State, request};

/// Let yore understand sessions: what was decided, solved, preferred
///
/// Rules read at once what waits, without a model. A language model finds far more of it: the program of an agent that you are signed in to, a
/// model on this computer, or a server. None is called before you name one, and none beyond the limit of a day.
///
/// The words of sessions, from which secrets were removed, are sent to the model that you name, and nowhere else.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    /// Have NAME read what waits, and keep the choice: claude, codex, gemini, qwen, opencode, copilot, ollama, or any provider, as
    /// PROVIDER/MODEL
    #[arg(long, value_name = "NAME")]
    with: Option<String>,
    /// Let the model read sessions in the background, after they are quiet, and compare and summarise memories at night
    #[arg(long, conflicts_with = "estimate")]
    auto: bool,
    /// Have the agent itself record what it learned, once a session as its turn ends (Claude Code, Codex, Qwen Code); serves it the MCP
    /// tool `distil`
    #[arg(long, conflicts_with = "estimate")]
    in_session: bool,
    /// Only tell what reading takes: sessions, calls, tokens, and dollars where the model has a price
    #[arg(long)]
    estimate: bool,
    /// Set the limit of a day: tokens, as 200000 or 200k, calls, as 50calls, or dollars for servers, as 2dollars [default: 200k]
    #[arg(long, value_name = "N", value_parser = limit)]
    limit: Option<Limit>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Clone, Copy, Debug, Subcommand)]
enum Action {
    /// Call no language model any more, and end a call that runs
    Off,
    /// Show who learns, what it took and found, and what waits
    Status,
}

/// The limit of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Tokens(u64),
    Calls(u64),
    Cents(u64),
}

/// Tokens a day where no limit was set: some 18 sessions.
const USUAL_TOKENS: u64 = 200_000;
/// Most tokens of a call, for a limit of calls: a call is not made without a limit of tokens.
const TOKENS_OF_CALL: u64 = 40_000;
/// Seconds that a model on this computer gets for an answer.
const SLOW_SECONDS: u32 = 1_800;
/// Longest time for indexing what was found.
const INDEX_PATIENCE_MS: u64 = 5_000;

/// Reads `200000`, `200k`, `2m`, `50calls` or `1.50dollars`.
fn limit(text: &str) -> Result<Limit, String> {
    let text = text.trim().to_lowercase().replace(['_', ',', ' '], "");
    let (number, unit) = text.split_at(text.find(|letter: char| letter.is_alphabetic()).unwrap_or(text.len()));
    let expected = || "expected tokens, such as 200k, calls, such as 50calls, or dollars, such as 2dollars".to_owned();
    let (limit, most) = match (unit, number.parse::<u64>()) {
        ("" | "tokens", Ok(number)) => (Limit::Tokens(number), 10_000_000_000),
        ("k", Ok(number)) => (Limit::Tokens(number.saturating_mul(1_000)), 10_000_000_000),
        ("m", Ok(number)) => (Limit::Tokens(number.saturating_mul(1_000_000)), 10_000_000_000),
        ("call" | "calls", Ok(number)) if number > 0 => (Limit::Calls(number), 1_000_000),
        ("dollar" | "dollars", _) => {
            let dollars =
                number.parse::<f64>().ok().filter(|dollars| (0.0..=100_000.0).contains(dollars)).ok_or_else(expected)?;
            (Limit::Cents((dollars * 100.0).round() as u64), 10_000_000)
        }
        _ => return Err(expected()),
    };
    let (Limit::Tokens(number) | Limit::Calls(number) | Limit::Cents(number)) = limit;
    if number > most { Err("the limit is too high".to_owned()) } else { Ok(limit) }
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    match arguments.action {
        Some(Action::Off) => return off(context),
        Some(Action::Status) => return show(context),
        None => {}
    }
    if arguments.estimate && arguments.with.is_none() && arguments.limit.is_none() {
        return show_estimate(context);
    }
    let ready = if arguments.with.is_none() && !arguments.auto && arguments.limit.is_some() {
        Vec::new()
    } else {
        found::found(&context.settings)
    };
    if let Some(name) = &arguments.with {
        choose(name, &ready, context)?;
    }
    if let Some(limit) = arguments.limit {
        put_limit(limit, context)?;
    }
    if arguments.estimate {
        return show_estimate(context);
    }
    if arguments.in_session {
        let tools = context.settings.own_config()?.mcp.tools;
        if !tools.split(',').any(|tool| matches!(tool.trim(), "distil" | "all")) {
            put("mcp.tools", &format!("{tools},distil"), context)?;
        }
        put("learn.in_session", "true", context)?;
        if !arguments.auto && arguments.with.is_none() {
            return show(context);
        }
    }
    if arguments.auto {
        consent(&ready, context)?;
        let state = State::read(true, context)?;
        return tell(None, None, &state, None, context);
    }
    if arguments.with.is_some() {
        return by_model(context);
    }
    if arguments.limit.is_some() {
        let engine = context.settings.engine(true)?;
        engine.hurry_learning()?;
        return show(context);
    }
    by_rules(&ready, context)
}

/// Has rules read what waits, and tells what waits for a model.
fn by_rules(ready: &[FoundModel], context: &mut Context) -> CliResult {
    let engine = context.settings.engine(false)?;
    let kinds = context.settings.own_config()?.extract.kinds();
    let request = ExtractRequest { kinds, continue_on_error: true, ..ExtractRequest::default() };
    let report = extract::with_progress(&engine, &request, context)?;
    if report.counts.recorded + report.counts.joined > 0 {
        engine.sync_index(INDEX_PATIENCE_MS, &mut |_| {})?;
    }
    if !context.printer.is_json() {
        for line in extract::told(&report, false) {
            context.printer.line(format!("by rules: {line}"))?;
        }
    }
    let state = State::read(true, context)?;
    tell(Some(ExtractionDone::of(&report)), None, &state, Some(ready), context)
}

/// Has the chosen model read what waits, as far as the limit of the day goes.
fn by_model(context: &mut Context) -> CliResult {
    let engine = context.settings.engine(false)?;
    let config = context.settings.own_config()?;
    needs_limit(context)?;
    engine.switch_models(false).map_err(|error| CliError::io(engine.directory(), &error))?;
    let report = read(&engine, &request(&config, 0), context)?;
    let is_whole = report.stopped.as_ref().is_none_or(ends_with_the_day);
    if !context.printer.is_json() {
        let folder = llm::folder(&context.settings)?;
        for line in extract::told_of_model(&report, Some(&folder)) {
            context.printer.line(line)?;
        }
    }
    let state = State::read(true, context)?;
    let exit = tell(None, Some(ModelExtraction::from(&report)), &state, None, context)?;
    Ok(if is_whole && report.failed.is_empty() { exit } else { Exit::Nothing })
}

fn read(engine: &Engine, request: &yore_engine::LearnRequest, context: &mut Context) -> CliResult<ModelReport> {
    let settings = context.settings.clone();
    let mut chooser = ModelChooser::new(&settings, "extract")?;
    let bar = Progress::counting("learning", 0, context.printer.shows_progress());
    let mut proceed = |done, total| {
        bar.set_length(total);
        bar.set_position(done);
        true
    };
    let learned = chooser.choosing(&AtomicBool::new(false), |by| engine.learn(by, request, &mut proceed));
    bar.finish_and_clear();
    let report = learned?.report;
    if report.recorded + report.joined > 0 {
        engine.sync_index(INDEX_PATIENCE_MS, &mut |_| {})?;
    }
    Ok(report)
}

/// Returns whether a run ended because the limit of the day is reached.
pub fn ends_with_the_day(stopped: &StopReason) -> bool {
    matches!(stopped, StopReason::Failed(FailReason::Denied(denial)) if denial.ends_with_the_day())
}

/// Prints what was done and the state, as text or as data.
fn tell(
    rules: Option<ExtractionDone>,
    model: Option<ModelExtraction>,
    state: &State,
    ready: Option<&[FoundModel]>,
    context: &mut Context,
) -> CliResult {
    if context.printer.is_json() {
        context.printer.json(&LearnDone { rules, model, state: state.result(ready) })?;
        return Ok(Exit::Success);
    }
    context.printer.table(&state.rows())?;
    for line in ready.map(|ready| next_steps(state, ready)).unwrap_or_default() {
        context.printer.line(line)?;
    }
    if model.is_some_and(|model| model.recorded > 0) {
        context.printer.line(
            "`yore memories` lists what was found, `yore review` what waits for you; `yore undo N` takes it back (`yore log`)",
        )?;
    }
    Ok(Exit::Success)
}

/// Returns who could read what waits, and the commands for that.
fn next_steps(state: &State, ready: &[FoundModel]) -> Vec<String> {
    if state.learning.sessions == 0 || state.config.learn.auto {
        return Vec::new();
    }
    if let Some(name) = state.with() {
        return vec![format!("`yore learn --with {name}` has it read them now, `yore learn --auto` in the background")];
    }
    let mut lines: Vec<String> = ready.iter().map(|model| format!("ready: {}", told_of(model))).collect();
    match ready.iter().find(|model| model.is_ready()) {
        Some(model) => {
            let name = model.name();
            lines.push(format!(
                "`yore learn --with {name}` has it read them now, `yore learn --auto --with {name}` in the background"
            ));
        }
        None => lines.push(
            "no agent's program that is signed in and no local model was found; `yore models providers` lists what may answer"
                .to_owned(),
        ),
    }
    lines
}

/// Returns a model that is ready, with who pays and where words go.
fn told_of(model: &FoundModel) -> String {
    let what = match model.payer {
        Payer::Plan => format!("{}, on your plan; it sends what it reads to its own service", model.title),
        Payer::Here => format!("{}; nothing leaves this computer; some minutes a call without a graphics card", model.title),
        Payer::Key(_) => format!("{}; it is billed: add /MODEL, and its price to llm.prices", model.title),
    };
    format!("{}: {}", model.name(), text::harmless(&what))
}

/// Chooses who reads.
fn choose(name: &str, ready: &[FoundModel], context: &mut Context) -> CliResult<()> {
    let (provider, model) = name.split_once('/').unwrap_or((name, ""));
    // The server of this name needs a model, the program does not.
    let llm = context.settings.own_config()?.llm;
    let is_program = provider == "gemini" && model.is_empty() && llm.provider != provider;
    let provider = if is_program { "gemini-cli" } else { provider };
    let here = ready.iter().find(|known| known.provider == provider && known.is_ready());
    if let Err(reason) = ModelUse::parse(&format!("extract={provider}")) {
        return Err(CliError::usage(reason, Some("`yore learn` lists what is ready on this computer")));
    }
    let model = match (model, Program::named(provider), Server::named(provider)) {
        ("", ..) if llm.provider == provider && !llm.model.is_empty() => llm.model.clone(),
        ("", Some(program), _) => program.small_model.to_owned(),
        ("", None, Some(server)) => here.map(|found| found.model.clone()).filter(|model| !model.is_empty()).ok_or_else(|| {
            let hint =
                if server.name == "ollama" { "no running server with a model was found" } else { "a server has no default" };
            CliError::usage(format!("{provider} needs a model: --with {provider}/MODEL"), Some(hint))
        })?,
        (model, ..) => model.to_owned(),
    };
    if let Some(Program { title, command, .. }) = Program::named(provider) {
        if !found::is_on_path(command[0], &context.settings.environment) {
            let hint = Some("`yore learn` lists what is ready on this computer");
            return Err(CliError::usage(format!("{title} is not on the search path: there is no {}", command[0]), hint));
        }
        if here.is_none() && found::signs_in(provider) {
            context.printer.note(format!("note: {title} does not look signed in here"))?;
        }
    }
    learning::note_told(&context.settings.directory);
    put("llm.provider", provider, context)?;
    put("llm.model", &model, context)?;
    if llm.provider != provider {
        // They are those of the provider that was chosen before.
        let address = here.and_then(|found| found::unusual_address(found, &context.settings.environment)).unwrap_or_default();
        if !llm.address.is_empty() || !address.is_empty() {
            put("llm.address", &address, context)?;
        }
        if !llm.key_variable.is_empty() {
            put("llm.key_variable", "", context)?;
        }
        let is_slow = here.is_some_and(|found| found.payer == Payer::Here);
        if is_slow && llm.timeout_seconds < SLOW_SECONDS {
            put("llm.timeout_seconds", &SLOW_SECONDS.to_string(), context)?;
        }
    }
    Ok(())
}

/// Lets the chosen model, or the only one that is ready, read in the background.
fn consent(ready: &[FoundModel], context: &mut Context) -> CliResult<()> {
    let has_model = ModelChooser::new(&context.settings, "extract").is_ok();
    if !has_model {
        let ready: Vec<&FoundModel> = ready.iter().filter(|model| model.is_ready()).collect();
        match ready.as_slice() {
            [only] => choose(&only.name(), &[(*only).clone()], context)?,
            [] => {
                let hint =
                    Some("sign in to an agent's program, start Ollama, or name a server: `yore models providers` lists them");
                return Err(CliError::usage("no language model is ready on this computer", hint));
            }
            several => {
                let names: Vec<String> = several.iter().map(|model| model.name()).collect();
                let hint = format!("name one: `yore learn --auto --with {}`", names[0]);
                return Err(CliError::usage(format!("several can read: {}", names.join(", ")), Some(&hint)));
            }
        }
    }
    needs_limit(context)?;
    put("learn.auto", "true", context)?;
    let engine = context.settings.engine(true)?;
    engine.switch_models(false).map_err(|error| CliError::io(engine.directory(), &error))?;
    engine.hurry_learning()?;
    let config = context.settings.own_config()?;
    if may_begin(&config) {
        client::ensure_started(engine.directory());
    } else if !is_running(engine.directory()) {
        context
            .printer
            .note("note: the background process may not start by itself (daemon.autostart): `yore daemon start` runs it")?;
    }
    Ok(())
}

/// Sets the usual limit if there is none.
fn needs_limit(context: &mut Context) -> CliResult<()> {
    if context.settings.own_config()?.llm.daily_tokens == 0 {
        put_limit(Limit::Tokens(USUAL_TOKENS), context)?;
    }
    Ok(())
}

fn put_limit(limit: Limit, context: &mut Context) -> CliResult<()> {
    let (tokens, calls) = match limit {
        Limit::Tokens(tokens) => (tokens, 0),
        Limit::Calls(calls) => (calls.saturating_mul(TOKENS_OF_CALL), calls),
        Limit::Cents(cents) => {
            put("llm.daily_dollars", &format!("{:?}", cents as f64 / 100.0), context)?;
            return needs_limit(context);
        }
    };
    put("llm.daily_tokens", &tokens.to_string(), context)?;
    put("llm.daily_calls", &calls.to_string(), context)
}

/// Sets a key in the person's own settings.
fn put(key: &str, value: &str, context: &Context) -> CliResult<()> {
    let file = context.settings.user_file.as_ref();
    let file = file.ok_or_else(|| CliError::usage("no configuration directory", Some("name a file with YORE_CONFIG")))?;
    Ok(config::set(&file.path, FileKind::User, key, value)?)
}

fn off(context: &mut Context) -> CliResult {
    // First what ends a call that runs, whether or not the memory can be opened.
    let directory = &context.settings.directory;
    platform::create_private_directory(directory)
        .and_then(|()| switch_models(directory, true))
        .map_err(|error| CliError::io(directory, &error))?;
    let learn = context.settings.own_config()?.learn;
    for (key, is_on) in [("learn.auto", learn.auto), ("learn.in_session", learn.in_session)] {
        if is_on {
            put(key, "false", context)?;
        }
    }
    if context.printer.is_json() {
        let state = State::read(false, context)?;
        context.printer.json(&state.result(None))?;
    } else {
        context.printer.line("no language model is called any more; `yore learn --auto` turns learning on again")?;
    }
    Ok(Exit::Success)
}

fn show(context: &mut Context) -> CliResult {
    let state = State::read(false, context)?;
    if context.printer.is_json() {
        context.printer.json(&state.result(None))?;
    } else {
        context.printer.table(&state.rows())?;
    }
    Ok(Exit::Success)
}

fn show_estimate(context: &mut Context) -> CliResult {
    let state = State::read(true, context)?;
    if context.printer.is_json() {
        context.printer.json(&state.result(None))?;
    } else if state.learning.sessions == 0 {
        context.printer.line("no session waits for a model")?;
    } else {
        let estimate = state.estimate().unwrap_or_else(|| "nothing to read in them".to_owned());
        context.printer.line(format!("{} for a model: {estimate}", waiting(state.learning.sessions)))?;
    }
    Ok(Exit::Success)
}

/// Returns how many sessions wait.
fn waiting(sessions: u64) -> String {
    if sessions == 1 { "1 session waits".to_owned() } else { format!("{} sessions wait", text::count(sessions)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_tokens_or_calls() {
        assert_eq!(limit("200000"), Ok(Limit::Tokens(200_000)));
        assert_eq!(limit("200K"), Ok(Limit::Tokens(200_000)));
        assert_eq!(limit("2m"), Ok(Limit::Tokens(2_000_000)));
        assert_eq!(limit("1,500"), Ok(Limit::Tokens(1_500)));
        assert_eq!(limit("50calls"), Ok(Limit::Calls(50)));
        assert_eq!(limit("1 call"), Ok(Limit::Calls(1)));
        assert_eq!(limit("1.50dollars"), Ok(Limit::Cents(150)));
        for wrong in ["", "many", "0calls", "-5 dollars", "1.5k", "-1", "99999999999", "9999999calls", "18446744073709551616"] {
            assert!(limit(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_estimate_has_two_digits() {
        assert_eq!([0, 7, 99, 101, 8_649].map(state::rounded), [0, 7, 99, 110, 8_700]);
    }
}
