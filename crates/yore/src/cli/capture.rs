use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use yore_core::scope::normalize_directory;

use super::Context;
use crate::config::{self, CaptureMode, Config, Environment, FileKind, Layers, PROJECT_FILE, load};
use crate::error::{CliError, CliResult, Exit};
use crate::histories::{forbids_capture, policy};
use crate::render::text;
use crate::results::{self, Capture};
use crate::spool;

/// Turn the reading of histories on or off, for all or one project
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Read histories again
    On(Where),
    /// Read nothing new; what is already captured stays
    Off(Where),
    /// Show what is read, as `yore status` does
    #[command(hide = true)]
    Status(Where),
}

#[derive(Args, Debug)]
struct Where {
    /// Only this project [default DIR: the current directory]
    #[arg(short, long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    project: Option<PathBuf>,
    /// Write to the project's own .yore.toml, for everybody who works on it
    #[arg(long, requires = "project")]
    shared: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    match &arguments.action {
        Action::On(place) => turn(true, place, context)?,
        Action::Off(place) => turn(false, place, context)?,
        Action::Status(place) => status(place, context)?,
    }
    Ok(Exit::Success)
}

fn turn(is_on: bool, place: &Where, context: &mut Context) -> CliResult<()> {
    let word = if is_on { "on" } else { "off" };
    let Some(project) = &place.project else {
        let file = user_file(context)?;
        config::set(&file, FileKind::User, "capture.enabled", if is_on { "true" } else { "false" })?;
        context.printer.note(format!("capture is {word}, in {}", file.display()))?;
        let excluded = if is_on { own_list("capture.exclude_projects", context)? } else { Vec::new() };
        for project in excluded {
            let project = text::harmless(&project);
            context.printer.note(format!("{project} stays off: `yore capture on --project \"{project}\"`"))?;
        }
        return Ok(());
    };
    let directory = directory(project, context)?;
    if place.shared {
        let file = directory.join(PROJECT_FILE);
        if is_on {
            // A project's file cannot turn on what another layer turned off, so the key is removed instead.
            config::unset(&file, FileKind::Project, "capture.enabled")?;
        } else {
            config::set(&file, FileKind::Project, "capture.enabled", "false")?;
        }
        context.printer.note(format!("capture of {} is {word}, in {}", directory.display(), file.display()))?;
    } else {
        turn_own(is_on, &directory, context)?;
    }
    if is_on {
        // Another setting may still forbid it.
        let config = changed(context)?;
        if let Some(reason) = forbidden(&directory, &config, context)? {
            context.printer.note(format!("it is still not captured: {reason}"))?;
        }
    } else {
        context.printer.note("what was captured before stays; `yore forget` removes it")?;
    }
    Ok(())
}

/// Turns capture of a project on or off in the person's own file.
fn turn_own(is_on: bool, directory: &Path, context: &mut Context) -> CliResult<()> {
    let file = user_file(context)?;
    let name = directory.to_str().ok_or_else(|| CliError::usage("the directory's name is not UTF-8", None))?;
    let is_this = |entry: &str| normalize_directory(&home(entry, context)) == normalize_directory(name);
    let mut excluded = own_list("capture.exclude_projects", context)?;
    let mut included = own_list("capture.projects", context)?;
    let mode = changed(context)?.capture.mode;
    if is_on {
        excluded.retain(|entry| !is_this(entry));
        if mode == CaptureMode::OptIn && !included.iter().any(|entry| is_this(entry)) {
            included.push(name.to_owned());
        }
    } else if !excluded.iter().any(|entry| is_this(entry)) {
        excluded.push(name.to_owned());
    }
    for (key, list) in [("capture.exclude_projects", excluded), ("capture.projects", included)] {
        if list != own_list(key, context)? {
            config::set(&file, FileKind::User, key, &toml::Value::from(list).to_string())?;
        }
    }
    let word = if is_on { "on" } else { "off" };
    Ok(context.printer.note(format!("capture of {} is {word}, in {}", directory.display(), file.display()))?)
}

fn status(place: &Where, context: &mut Context) -> CliResult<()> {
    let capture = state(place.project.as_deref(), context)?;
    if context.printer.is_json() {
        return Ok(context.printer.json(&capture)?);
    }
    for line in text::table(&rows(&capture)) {
        context.printer.line(line)?;
    }
    Ok(())
}

/// Returns the settings of capture, and their effect on a directory [default: the current one].
pub fn state(project: Option<&Path>, context: &Context) -> CliResult<Capture> {
    let config = context.settings.own_config()?;
    let directory = match project {
        Some(project) => Some(directory(project, context)?),
        None => context.settings.here.clone(),
    };
    let reason = directory.as_ref().map(|directory| forbidden(directory, &config, context)).transpose()?.flatten();
    let capture = config.capture;
    Ok(Capture {
        enabled: capture.enabled,
        mode: if capture.mode == CaptureMode::OptIn { "opt-in" } else { "all" }.to_owned(),
        projects: capture.projects,
        exclude_projects: capture.exclude_projects,
        exclude_paths: capture.exclude_paths,
        captured: directory.as_ref().map(|_| reason.is_none()),
        directory: directory.as_deref().map(results::path),
        reason,
        waiting_events: spool::waiting(&context.settings.directory) as u64,
    })
}

/// Returns the rows of a table of the state of capture.
pub fn rows(capture: &Capture) -> Vec<Vec<String>> {
    let listed = |projects: &[String]| text::harmless(&projects.join(", "));
    let what = match (capture.enabled, capture.mode.as_str()) {
        (false, _) => "off".to_owned(),
        (true, "opt-in") => format!("on, only for {}", listed(&capture.projects)),
        (true, _) if capture.exclude_projects.is_empty() => "on, for all projects".to_owned(),
        (true, _) => format!("on, for all projects but {}", listed(&capture.exclude_projects)),
    };
    let mut lines = vec![what];
    if let Some(directory) = &capture.directory {
        let shown = text::harmless(directory);
        lines.push(match &capture.reason {
            None => format!("{shown} is captured"),
            Some(reason) => format!("{shown} is not captured: {reason}"),
        });
    }
    if capture.waiting_events > 0 {
        lines.push(format!("{} of hooks wait to be read", text::counted(capture.waiting_events, "event")));
    }
    lines.into_iter().map(|line| vec!["capture".to_owned(), line]).collect()
}

/// Returns why words said in a directory are not captured, or none if they are.
fn forbidden(directory: &Path, config: &Config, context: &Context) -> CliResult<Option<String>> {
    if !config.capture.enabled {
        return Ok(Some("capture is off (`yore capture on`)".to_owned()));
    }
    let Some(name) = directory.to_str() else { return Ok(Some("its name is not UTF-8".to_owned())) };
    if policy(&context.settings)?.allows_directory(name) {
        return Ok(None);
    }
    let layers = Layers { user_file: None, project_file: None, environment: &Environment::default(), flags: &[] };
    let own = crate::settings::find_project_file(directory)
        .filter(|file| forbids_capture(&Layers { project_file: Some(file), ..layers }));
    Ok(Some(match own {
        Some(file) => format!("{} turns it off", file.display()),
        None if config.capture.mode == CaptureMode::OptIn => {
            "only listed projects are captured (`yore capture on --project`)".to_owned()
        }
        None => "capture.exclude_projects lists it".to_owned(),
    }))
}

/// Reads the person's settings again, as they are in the file now.
fn changed(context: &Context) -> CliResult<Config> {
    Ok(context.settings.own_config()?)
}

/// Returns a list from the person's file alone, as written there.
fn own_list(key: &str, context: &Context) -> CliResult<Vec<String>> {
    let layers = Layers {
        user_file: context.settings.user_file.as_ref(),
        project_file: None,
        environment: &context.settings.environment.without_settings(),
        flags: &[],
    };
    let shown = load(&layers)?.get(key)?.shown.clone();
    let items = shown.parse::<toml::Value>().ok().and_then(|value| value.as_array().cloned()).unwrap_or_default();
    Ok(items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
}

pub(super) fn user_file(context: &Context) -> CliResult<PathBuf> {
    context
        .settings
        .user_file
        .as_ref()
        .map(|file| file.path.clone())
        .ok_or_else(|| CliError::usage("no configuration directory", Some("name a file with YORE_CONFIG")))
}

fn directory(project: &Path, context: &Context) -> CliResult<PathBuf> {
    let here = context.settings.here.clone().unwrap_or_default();
    let path = here.join(project);
    if !path.is_dir() {
        return Err(CliError::usage(format!("{} is not a directory", path.display()), None));
    }
    path.canonicalize().map_err(|error| CliError::io(&path, &error))
}

fn home(entry: &str, context: &Context) -> String {
    match (entry.strip_prefix("~/"), &context.settings.paths.home) {
        (Some(rest), Some(home)) => home.join(rest).to_string_lossy().into_owned(),
        _ => entry.to_owned(),
    }
}
