//! Stores the shell commands that agents ran, with what became of them, and finds those like a command.

use rusqlite::{Row, params};
use yore_core::command::{Attempt, CauseKind, Failed};
use yore_core::id::TurnId;
use yore_core::time::UtcMillis;

use crate::store::keys::{EpisodeKey, ProjectKey, TurnKey};
use crate::store::local::transaction::WriteTx;
use crate::store::{Store, StoreResult};

/// Most failures, and most passes, that are read for one command, the latest first.
const MOST_FAILURES: i64 = 200;
const MOST_PASSES: i64 = 200;

/// An attempt as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredAttempt {
    pub attempt: Attempt<TurnKey>,
    pub id: TurnId,
    pub episode: EpisodeKey,
    pub at: Option<UtcMillis>,
}

const COLUMNS: &str = "attempt.command, attempt.program, attempt.directory, attempt.version, attempt.exit, attempt.cause_kind,
    attempt.cause, attempt.error, attempt.next, attempt.turn_id, turn.uid, attempt.episode_id, turn.at_ms
    FROM attempt JOIN turn ON turn.id = attempt.turn_id JOIN episode ON episode.id = attempt.episode_id";

fn attempt(row: &Row<'_>) -> rusqlite::Result<StoredAttempt> {
    let kind: Option<String> = row.get(5)?;
    let failed = match kind.as_deref().and_then(CauseKind::parse) {
        Some(kind) => Some(Failed {
            kind,
            cause: row.get::<_, Option<String>>(6)?.unwrap_or_default(),
            error: row.get::<_, Option<String>>(7)?.unwrap_or_default(),
            next: row.get(8)?,
        }),
        None => None,
    };
    Ok(StoredAttempt {
        attempt: Attempt {
            command: row.get(0)?,
            program: row.get(1)?,
            directory: row.get(2)?,
            version: row.get(3)?,
            exit: row.get(4)?,
            failed,
            turn: row.get(9)?,
        },
        id: TurnId::from_bytes(row.get(10)?),
        episode: row.get(11)?,
        at: row.get(12)?,
    })
}

impl Store {
    /// Returns the failures with one of these causes in a project, before a time, the latest first.
    pub(crate) fn failures(
        &self,
        project: ProjectKey,
        causes: &[String],
        until: Option<UtcMillis>,
    ) -> StoreResult<Vec<StoredAttempt>> {
        let causes = serde_json::Value::from(causes).to_string();
        self.read(|view| {
            view.all(
                &format!(
                    "SELECT {COLUMNS} WHERE attempt.cause IN (SELECT value FROM json_each(?2)) AND turn.project_id = ?1
                         AND episode.forgotten_ms IS NULL AND (?3 IS NULL OR turn.at_ms < ?3)
                     ORDER BY turn.at_ms DESC, attempt.turn_id DESC LIMIT ?4"
                ),
                params![project, causes, until, MOST_FAILURES],
                attempt,
            )
        })
    }

    /// Returns the commands of a program that passed in a project and have these words, before a time, the latest first.
    pub(crate) fn passes(
        &self,
        project: ProjectKey,
        program: &str,
        words: &str,
        until: Option<UtcMillis>,
    ) -> StoreResult<Vec<StoredAttempt>> {
        self.read(|view| {
            view.all(
                &format!(
                    "SELECT {COLUMNS} WHERE attempt.program = ?2 AND attempt.cause IS NULL AND instr(attempt.command, ?5) > 0
                         AND turn.project_id = ?1 AND episode.forgotten_ms IS NULL AND (?3 IS NULL OR turn.at_ms < ?3)
                     ORDER BY turn.at_ms DESC, attempt.turn_id DESC LIMIT ?4"
                ),
                params![project, program, until, MOST_PASSES, words],
                attempt,
            )
        })
    }

    /// Returns the directory in which a session began, by its native id.
    pub(crate) fn first_directory(&self, session: &str) -> StoreResult<Option<String>> {
        self.read(|view| {
            view.first_value(
                "SELECT label.text FROM episode JOIN turn ON turn.episode_id = episode.id JOIN label ON label.id = turn.cwd_id
                 WHERE episode.native_id = ?1 ORDER BY turn.position LIMIT 1",
                [session],
            )
        })
    }

    /// Returns the version of a program that was last seen in a project, before a time.
    pub(crate) fn version_of(
        &self,
        project: ProjectKey,
        program: &str,
        until: Option<UtcMillis>,
    ) -> StoreResult<Option<String>> {
        self.read(|view| {
            view.first_value(
                "SELECT attempt.version FROM attempt JOIN turn ON turn.id = attempt.turn_id
                 WHERE attempt.program = ?2 AND attempt.version IS NOT NULL AND turn.project_id = ?1
                     AND (?3 IS NULL OR turn.at_ms < ?3) ORDER BY turn.at_ms DESC LIMIT 1",
                params![project, program, until],
            )
        })
    }
}

impl WriteTx<'_> {
    /// Puts the attempts of a conversation in the place of those that it had.
    pub(super) fn put_attempts(&self, episode: EpisodeKey, attempts: &[Attempt<TurnKey>]) -> StoreResult<()> {
        self.execute("DELETE FROM attempt WHERE episode_id = ?1", [episode])?;
        for (ordinal, attempt) in (0i64..).zip(attempts) {
            let Attempt { command, program, directory, version, exit, failed, turn } = attempt;
            let (kind, cause) = failed.as_ref().map(|failed| (failed.kind.as_str(), &failed.cause)).unzip();
            let (error, next) = failed.as_ref().map(|failed| (&failed.error, failed.next.as_ref())).unzip();
            self.execute(
                "INSERT INTO attempt (episode_id, ordinal, command, program, directory, version, exit, cause_kind, cause, error, next,
                     turn_id)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                params![
                    episode,
                    ordinal,
                    command,
                    program,
                    directory,
                    version,
                    exit,
                    kind,
                    cause,
                    error,
                    next.flatten(),
                    turn
                ],
            )?;
        }
        Ok(())
    }
}
