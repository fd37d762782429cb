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

/// The attempts that a caller wants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attempts<'q> {
    /// Failures with one of these causes.
    Failed(&'q [String]),
    /// Those of a program that passed and have these words.
    Passed(&'q str, &'q str),
    /// The last of a program whose version is known.
    Versioned(&'q str),
    /// All, at most so many.
    Latest(i64),
}

impl Store {
    /// Returns attempts in a project, before a time, the latest first; none of forgotten conversations.
    pub(crate) fn attempts(
        &self,
        project: ProjectKey,
        wanted: Attempts<'_>,
        until: Option<UtcMillis>,
    ) -> StoreResult<Vec<StoredAttempt>> {
        let sql = |condition: &str| {
            format!(
                "SELECT {COLUMNS} WHERE {condition} AND turn.project_id = ?1 AND episode.forgotten_ms IS NULL
                     AND (?3 IS NULL OR turn.at_ms < ?3)
                 ORDER BY turn.at_ms DESC, attempt.turn_id DESC LIMIT ?4"
            )
        };
        self.read(|view| match wanted {
            Attempts::Failed(causes) => view.all(
                &sql("attempt.cause IN (SELECT value FROM json_each(?2))"),
                params![project, serde_json::Value::from(causes).to_string(), until, MOST_FAILURES],
                attempt,
            ),
            Attempts::Passed(program, words) => view.all(
                &sql("attempt.program = ?2 AND attempt.cause IS NULL AND instr(attempt.command, ?5) > 0"),
                params![project, program, until, MOST_PASSES, words],
                attempt,
            ),
            Attempts::Versioned(program) => view.all(
                &sql("attempt.program = ?2 AND attempt.version IS NOT NULL"),
                params![project, program, until, 1],
                attempt,
            ),
            Attempts::Latest(most) => view.all(&sql("?2 = ?2"), params![project, 0, until, most], attempt),
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
