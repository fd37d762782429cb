//! Finds the programs called yore: this one, the one on the PATH, the one that agents call.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use yore_engine::Severity;

use super::super::Context;
use super::process::{self, Ending};
use crate::health::Told;

/// Time for a program to print its version.
const PATIENCE: Duration = Duration::from_secs(5);
/// Version of this program.
pub(super) const OWN: &str = env!("CARGO_PKG_VERSION");

/// Reports this program and its data, and another yore on the PATH that a shell would start instead.
pub(super) fn of_this(context: &Context) -> Vec<Told> {
    let text = format!("yore {OWN}, schema {}", yore_engine::SCHEMA_VERSION);
    let mut told = vec![
        Told::new("program", Severity::Fine, text).fact("version", OWN).fact("schema", yore_engine::SCHEMA_VERSION),
        Told::new("data-directory", Severity::Fine, context.settings.directory.display().to_string()),
    ];
    told.extend(on_path(context).and_then(|path| another(&path)));
    told
}

/// Reports a program on the PATH that is not this one.
fn another(path: &Path) -> Option<Told> {
    let this = std::env::current_exe().and_then(|path| path.canonicalize()).ok()?;
    if path.canonicalize().ok()? == this {
        return None;
    }
    let shown = path.display();
    let told = match version(path) {
        Some(version) if version == OWN => return None,
        Some(version) => {
            Told::new("version", Severity::Warning, format!("the yore on the PATH, {shown}, is {version}; this one is {OWN}"))
                .fact("path_version", version)
        }
        None => Told::new("version", Severity::Warning, format!("the yore on the PATH, {shown}, does not report its version")),
    };
    Some(told.remedy("install this version there, or remove the other one"))
}

/// Returns the program that a shell would start.
pub(super) fn on_path(context: &Context) -> Option<PathBuf> {
    let name = if cfg!(windows) { "yore.exe" } else { "yore" };
    std::env::split_paths(context.settings.environment.get("PATH")?).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Returns the version that a program prints, or `None` if it prints none or is not yore.
pub(super) fn version(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version");
    let ran = process::run(command, b"", PATIENCE);
    let version = ran.stdout.trim().strip_prefix("yore ")?;
    matches!(ran.ending, Ending::Ended(Some(0))).then(|| version.to_owned())
}
