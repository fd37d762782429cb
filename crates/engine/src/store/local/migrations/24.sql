-- Index: runs of upkeep, so that a computer that slept catches up, and so that each can be seen. The newest of each job and outcome stays.
CREATE TABLE upkeep_run (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    job        TEXT    NOT NULL,
    began_ms   INTEGER NOT NULL,
    ended_ms   INTEGER NOT NULL,
    outcome    TEXT    NOT NULL CHECK (outcome IN ('done', 'failed')),
    -- A JSON object: what was counted, by name.
    counts     TEXT    NOT NULL DEFAULT '{}',
    error_code TEXT,
    error_text TEXT,
    -- Failures in a row with one error are one row.
    tries      INTEGER NOT NULL DEFAULT 1,
    CHECK ((error_code IS NULL) = (outcome = 'done') AND (error_text IS NULL) = (outcome = 'done'))
) STRICT;
CREATE INDEX upkeep_run_job ON upkeep_run (job, outcome, id);
INSERT INTO upkeep_run (job, began_ms, ended_ms, outcome, error_code, error_text)
    SELECT name, at_ms, at_ms, 'done', NULL, NULL FROM last_run WHERE name <> 'learn'
    UNION ALL SELECT name, at_ms, at_ms, 'failed', code, text FROM last_failure WHERE name <> 'learn' ORDER BY 2;
DELETE FROM last_run WHERE name <> 'learn';
DELETE FROM last_failure WHERE name <> 'learn';
