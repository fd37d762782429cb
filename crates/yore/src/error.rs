//! Errors as users see them: exit code, wording, hint, and who must act.

use std::path::Path;

use yore_engine::ingest::{IngestError, PatternError};
use yore_engine::{EngineError, IndexError, MemoryError, ProjectNameError, StoreError};

use crate::config::ConfigError;
use crate::example;
use crate::results::words;

/// Exit codes. Documented in `docs/cli.md`; scripts rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Success = 0,
    /// Nothing was found, or `doctor` found something wrong.
    Nothing = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// The data directory cannot be used: missing, damaged, newer, not writable, full.
    Data = 3,
    /// Another process is in the way; the same call may succeed later.
    Busy = 4,
}

/// An error as it is reported.
#[derive(Debug)]
pub struct CliError {
    /// The exit code.
    pub exit: Exit,
    /// Code that does not change between versions, for scripts.
    pub code: String,
    /// The message: which operation failed, and on which file or setting.
    pub message: String,
    /// The remedy.
    pub hint: Option<String>,
}

/// Result of a command.
pub type CliResult<T = Exit> = Result<T, CliError>;

impl CliError {
    /// Creates an error for a wrong command line or request.
    pub fn usage(message: impl Into<String>, hint: Option<&str>) -> Self {
        Self { exit: Exit::Usage, code: "usage".to_owned(), message: message.into(), hint: hint.map(str::to_owned) }
    }

    /// Creates an error for a file operation of the program itself that failed.
    pub fn io(path: &Path, error: &std::io::Error) -> Self {
        Self { exit: Exit::Data, code: "io".to_owned(), message: format!("{}: {error}", path.display()), hint: None }
    }
}

impl From<std::io::Error> for CliError {
    /// Converts an error without a path, which only the terminal or pipe that is printed to gives.
    fn from(error: std::io::Error) -> Self {
        let code = if error.kind() == std::io::ErrorKind::BrokenPipe { "broken-pipe" } else { "output" };
        Self { exit: Exit::Data, code: code.to_owned(), message: format!("cannot print: {error}"), hint: None }
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        Self { exit: Exit::Usage, code: error.code().to_owned(), message: error.to_string(), hint: None }
    }
}

impl From<PatternError> for CliError {
    fn from(error: PatternError) -> Self {
        Self {
            exit: Exit::Usage,
            code: "config/bad-value".to_owned(),
            message: error.to_string(),
            hint: Some("correct the pattern with `yore config set`".to_owned()),
        }
    }
}

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> Self {
        let (exit, hint) = match error.store_error() {
            Some(store) => store_advice(store),
            None => match &error {
                EngineError::Index(IndexError::DiskFull(_)) => {
                    (Exit::Data, Some("free some space and run the command again; no data is lost".to_owned()))
                }
                EngineError::Index(IndexError::Replaced(_)) => (Exit::Busy, Some("run the command again".to_owned())),
                EngineError::Index(_) => (Exit::Data, Some("the index can be rebuilt: run `yore data rebuild`".to_owned())),
                EngineError::Ingest(IngestError::DataDirectory { .. }) => {
                    (Exit::Data, Some("check that you own the data directory and that its disk has space".to_owned()))
                }
                EngineError::Ingest(IngestError::Key { forgotten, .. }) => (
                    Exit::Data,
                    Some(format!(
                        "put the file back from a copy of the data directory (`yore data restore` has the key of each backup); \
                         `yore data repair --new-key` continues without it, and then {}",
                        cost_of_new_key(*forgotten)
                    )),
                ),
                EngineError::Ingest(IngestError::RedactionPattern(_)) => {
                    (Exit::Usage, Some("correct redaction.extra_patterns; `yore config check` names the pattern".to_owned()))
                }
                EngineError::Ingest(IngestError::UnknownSource(_)) => {
                    (Exit::Usage, Some(format!("known sources: {}", source_names())))
                }
                EngineError::NoBackup { damaged, .. } => (
                    Exit::Data,
                    Some(match damaged.len() {
                        0 => {
                            "the daemon makes one each day, `yore data backup` at once; `yore data repair` saves undamaged data".to_owned()
                        }
                        count => format!("{count} backups are damaged; `yore data repair` saves undamaged data of the memory itself"),
                    }),
                ),
                EngineError::BadBackup { .. } => {
                    (Exit::Usage, Some("nothing was changed; `yore data backup --list` names the backups".to_owned()))
                }
                EngineError::BadProjectName(ProjectNameError::Taken) => {
                    (Exit::Usage, Some("`yore projects merge` merges two projects".to_owned()))
                }
                EngineError::BadNote(_) | EngineError::BadProjectName(_) => (Exit::Usage, None),
                EngineError::Memory(error) => memory_advice(error),
                EngineError::Fetch(error) => (Exit::Data, Some(error.remedy().to_owned())),
                EngineError::UnknownProject { name, known } => (Exit::Nothing, Some(nearest(name, known))),
                EngineError::UnknownSession(_) => (Exit::Nothing, Some("`yore sessions` lists them".to_owned())),
                EngineError::UnknownRun(_) => (Exit::Nothing, Some("`yore rlm show` lists them".to_owned())),
                EngineError::RunChanged(_) => (Exit::Nothing, Some("`yore rlm show` shows it".to_owned())),
                EngineError::UnknownId(_) => (
                    Exit::Nothing,
                    Some("give an id that `yore recall`, `yore memories` or `yore sessions` shows, or 4 or more of its first characters".to_owned()),
                ),
                EngineError::UnknownVersion { note, .. } => {
                    (Exit::Nothing, Some(format!("`yore show {}` shows the newest", note.get(..8).unwrap_or(note))))
                }
                EngineError::AmbiguousId { candidates, .. } => {
                    (Exit::Usage, Some(format!("it matches {}; give more characters", candidates.join(", "))))
                }
                EngineError::NothingSelected => {
                    (Exit::Usage, Some("give an id, or a project, a source, a time or words".to_owned()))
                }
                EngineError::NotASession { session, .. } => {
                    (Exit::Usage, Some(format!("to forget it, forget session {session}")))
                }
                _ => (Exit::Data, None),
            },
        };
        let message = match &error {
            EngineError::Llm(error) => words::language_model(error),
            _ => error.to_string(),
        };
        Self { exit, code: error.code().to_owned(), message, hint }
    }
}

fn memory_advice(error: &MemoryError) -> (Exit, Option<String>) {
    let (exit, hint) = match error {
        MemoryError::Unknown(_) => (Exit::Nothing, "`yore memories --all --all-statuses` lists them"),
        MemoryError::UnknownEntity(_) => (Exit::Nothing, "`yore memories entities` lists them"),
        MemoryError::AmbiguousEntity { .. } => (Exit::Usage, "write KIND:NAME"),
        MemoryError::NotSaid { .. } | MemoryError::SaysNothing(_) => {
            (Exit::Usage, "evidence is quoted word for word; `yore show` shows the turn")
        }
        MemoryError::NotInEffect { .. } => (
            Exit::Usage,
            "`yore show` names the memory that took its place; if that was forgotten, `yore memories confirm` lets this one hold again",
        ),
        MemoryError::OfPerson(_) => {
            (Exit::Usage, "ask the person; `yore memories relate` or `remember --replace` says so for them")
        }
        MemoryError::NotVouched(_) => (Exit::Usage, "`yore import --trust` takes the file as yours"),
        MemoryError::Undo(_) => (Exit::Nothing, "`yore log` lists operations"),
        MemoryError::NewerFormat(_) => (Exit::Data, "install the newer yore"),
        MemoryError::NotRelated | MemoryError::Circle => (Exit::Nothing, "`yore show` lists the relations of a memory"),
        MemoryError::IsOpen(_)
        | MemoryError::Invalid(_)
        | MemoryError::InvalidEntity(_)
        | MemoryError::InvalidRelation(_)
        | MemoryError::IsUser => {
            return (Exit::Usage, None);
        }
    };
    (exit, Some(hint.to_owned()))
}

fn store_advice(error: &StoreError) -> (Exit, Option<String>) {
    let (exit, hint) = match error {
        StoreError::Missing(directory) if directory.join(example::FOLDER).is_dir() => {
            let example = directory.join(example::FOLDER);
            let hint = format!(
                "no history was read yet; the example project answers with `yore --no-daemon --data-dir \"{}\" …`",
                example.display()
            );
            return (Exit::Data, Some(hint));
        }
        StoreError::Missing(_) => (Exit::Data, "run `yore up` first, or name the data directory with --data-dir or YORE_HOME"),
        StoreError::Newer { .. } => (Exit::Data, "install the newer yore again, or use another data directory"),
        StoreError::TooOld { .. } => (
            Exit::Data,
            "run `yore data repair`, which builds a new database from its archive, memories and notes, and keeps the old one beside it",
        ),
        StoreError::Older(_) => (Exit::Data, "run `yore doctor`, which upgrades it"),
        StoreError::Foreign(_) => (Exit::Data, "name another data directory with --data-dir or YORE_HOME"),
        StoreError::Corrupt { .. } => (
            Exit::Data,
            "run `yore data repair`, which saves undamaged data and reads existing sources again, or `yore data restore`, which takes a backup",
        ),
        StoreError::DiskFull(_) => (Exit::Data, "free some space and run the command again; no data is lost"),
        StoreError::ReadOnly { .. } => (
            Exit::Data,
            "check that you own the data directory and may write to it, or name another with --data-dir or YORE_HOME",
        ),
        StoreError::Busy(_) | StoreError::LeaseLost(_) => (Exit::Busy, "try again in a moment"),
        StoreError::Replaced(_) => (Exit::Busy, "run the command again"),
        StoreError::NetworkFileSystem { .. } => (Exit::Data, "name a directory on a local disk with --data-dir or YORE_HOME"),
        StoreError::OpenToOthers(_) => {
            (Exit::Data, "its owner can close it with `chmod 700`; or name another data directory with --data-dir or YORE_HOME")
        }
        StoreError::Backup { .. } => (Exit::Data, "free some space, or set store.backup_before_upgrade to false"),
        StoreError::Io { .. } => {
            (Exit::Data, "check the path and its permissions, or name another data directory with --data-dir or YORE_HOME")
        }
        StoreError::UnknownProject(_) => (Exit::Nothing, "`yore projects` lists them"),
        StoreError::UnknownNode(_) => (Exit::Nothing, "`yore memories --all --all-statuses` lists memories"),
        StoreError::Sqlite { .. } | StoreError::Refused => return (Exit::Data, None),
    };
    (exit, Some(hint.to_owned()))
}

/// Returns a sentence part that says what is lost when a new key replaces a lost one.
pub fn cost_of_new_key(forgotten: u64) -> String {
    let come_back = match forgotten {
        0 => String::new(),
        count => {
            format!("what was forgotten for good ({count} sessions and messages) comes back where its source still exists, ")
        }
    };
    format!("{come_back}every file is read again, and equal secrets get other markers than before")
}

/// Returns the names of the sources, for people.
pub fn source_names() -> String {
    yore_sources::source::SOURCES.iter().map(|source| source.kind()).collect::<Vec<_>>().join(", ")
}

fn nearest(name: &str, known: &[String]) -> String {
    let best =
        known.iter().map(|candidate| (strsim::jaro_winkler(name, candidate), candidate)).max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((likeness, candidate)) if likeness > 0.75 => format!("did you mean {candidate:?}? `yore projects` lists all"),
        _ => "`yore projects` lists all".to_owned(),
    }
}
