use clap::{Args, Subcommand};

use super::Context;
use super::doctor::faults;
use crate::config::{self, ConfigError, FileKind, Layers, check, defaults_toml, schema};
use crate::error::{CliError, CliResult, Exit};
use crate::render::text;
use crate::results::{Setting, SettingFault};

/// Show and change settings
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show every setting
    Show {
        /// Also show the origin of each value
        #[arg(long)]
        origin: bool,
    },
    /// Show one setting
    Get {
        /// Key, such as recall.limit
        key: String,
    },
    /// Change a setting in your file, or in the project's with --shared
    Set {
        /// Key, such as recall.limit
        key: String,
        /// The value, in TOML; a bare word is a string
        value: String,
        /// Change .yore.toml of the current directory instead
        #[arg(long, alias = "project")]
        shared: bool,
    },
    /// Remove a setting from your file, or from the project's with --shared
    Unset {
        /// Key, such as recall.limit
        key: String,
        /// Change .yore.toml of the current directory instead
        #[arg(long, alias = "project")]
        shared: bool,
    },
    /// Check every file and variable, and report all faults
    Check,
    /// Print the JSON Schema of the configuration file
    Schema,
    /// Print a configuration file with every default and its meaning
    Defaults,
    /// Print the path of your configuration file
    Path,
}

impl Arguments {
    /// Returns whether the command works, or even fixes the settings, if they cannot be read.
    pub fn needs_no_settings(&self) -> bool {
        !matches!(self.action, Action::Show { .. } | Action::Get { .. })
    }
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    match &arguments.action {
        Action::Show { origin } => show(*origin, context)?,
        Action::Get { key } => {
            let setting = context.settings.resolved.get(key)?;
            let (shown, origins) = (setting.shown.clone(), setting.origins.iter().map(ToString::to_string).collect::<Vec<_>>());
            if context.printer.is_json() {
                context.printer.json(&Setting { key: key.clone(), value: shown, origin: origins })?;
            } else {
                context.printer.line(shown)?;
            }
        }
        Action::Set { key, value, shared } => {
            let (file, kind) = target(*shared, context)?;
            config::set(&file, kind, key, value)?;
            context.printer.note(format!("set {key} in {}", file.display()))?;
        }
        Action::Unset { key, shared } => {
            let (file, kind) = target(*shared, context)?;
            let was_there = config::unset(&file, kind, key)?;
            context.printer.note(if was_there {
                format!("removed {key} from {}", file.display())
            } else {
                format!("{key} is not set in {}", file.display())
            })?;
        }
        Action::Check => return check_all(context),
        Action::Schema => context.printer.line(schema().trim_end())?,
        Action::Defaults => context.printer.line(defaults_toml().trim_end())?,
        Action::Path => match &context.settings.user_file {
            Some(file) => context.printer.line(file.path.display().to_string())?,
            None => {
                return Err(CliError::usage("no configuration directory", Some("name a file with YORE_CONFIG")));
            }
        },
    }
    Ok(Exit::Success)
}

fn show(with_origin: bool, context: &mut Context) -> CliResult<()> {
    let rows: Vec<(&str, String, Vec<String>)> = context
        .settings
        .resolved
        .rows()
        .iter()
        .map(|setting| (setting.key.name, setting.shown.clone(), setting.origins.iter().map(ToString::to_string).collect()))
        .collect();
    if context.printer.is_json() {
        let setting = |(key, value, origin): (&str, String, Vec<String>)| Setting { key: key.to_owned(), value, origin };
        return Ok(context.printer.json(&rows.into_iter().map(setting).collect::<Vec<_>>())?);
    }
    let table: Vec<Vec<String>> = rows
        .into_iter()
        .map(
            |(key, value, origins)| {
                if with_origin { vec![key.to_owned(), value, origins.join(", ")] } else { vec![key.to_owned(), value] }
            },
        )
        .collect();
    context.printer.table(&table)?;
    Ok(())
}

fn check_all(context: &mut Context) -> CliResult {
    let layers = Layers {
        user_file: context.settings.user_file.as_ref(),
        project_file: context.settings.project_file.as_deref(),
        environment: &context.settings.environment,
        flags: &context.settings.flags,
    };
    let told = |problem: ConfigError| {
        (problem.is_note(), SettingFault { code: problem.code().to_string(), message: problem.to_string() })
    };
    let mut problems: Vec<(bool, SettingFault)> = check(&layers).into_iter().map(told).collect();
    if problems.iter().all(|(is_note, _)| *is_note) {
        // What a model needs depends on its provider.
        let models = faults(context)?.into_iter();
        problems.extend(models.map(|(is_note, message)| (is_note, SettingFault { code: "config/model".to_owned(), message })));
    }
    let is_sound = problems.iter().all(|(is_note, _)| *is_note);
    if context.printer.is_json() {
        context.printer.json(&problems.into_iter().map(|(_, fault)| fault).collect::<Vec<_>>())?;
    } else {
        for (is_note, SettingFault { code, message }) in &problems {
            let (color, mark) = if *is_note { (text::YELLOW, "·") } else { (text::RED, "✗") };
            context.printer.line(format!("{color}{mark}{} {} [{code}]", text::RESET, text::harmless(message)))?;
        }
        if is_sound {
            context.printer.line("the configuration is valid")?;
        }
    }
    Ok(if is_sound { Exit::Success } else { Exit::Usage })
}

fn target(is_project: bool, context: &Context) -> CliResult<(std::path::PathBuf, FileKind)> {
    if is_project {
        let here =
            context.settings.here.clone().ok_or_else(|| CliError::usage("the current directory no longer exists", None))?;
        return Ok((context.settings.project_file.clone().unwrap_or_else(|| here.join(config::PROJECT_FILE)), FileKind::Project));
    }
    match &context.settings.user_file {
        Some(file) => Ok((file.path.clone(), FileKind::User)),
        None => Err(CliError::usage("no configuration directory", Some("name a file with YORE_CONFIG"))),
    }
}
