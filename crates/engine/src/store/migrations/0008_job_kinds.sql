-- Index: the queue of work again, for work of any kind. A kind that a program does not know is left alone by it, so
-- no list of kinds stands here. What waited is found again by the next look at every source.
DROP TABLE job;
CREATE TABLE job (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    kind          TEXT    NOT NULL,
    -- What it is about; one job of a kind waits for each target.
    target        TEXT    NOT NULL,
    -- What the kind needs beside it, such as the source.
    payload       TEXT    NOT NULL DEFAULT '',
    state         TEXT    NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'leased', 'dead')),
    -- When it was first asked for, and from when on it may be done.
    arrived_ms    INTEGER NOT NULL,
    not_before_ms INTEGER NOT NULL,
    -- Failures in a row: of any kind, and of those that no waiting mends.
    failures      INTEGER NOT NULL DEFAULT 0,
    bad_failures  INTEGER NOT NULL DEFAULT 0,
    error_code    TEXT,
    error_text    TEXT,
    -- Who does it, see `ingest/lease.rs`.
    lease_owner   TEXT,
    -- How the target stood when it was given up.
    stamp_size    INTEGER,
    stamp_version INTEGER
) STRICT;

CREATE UNIQUE INDEX job_waiting ON job (kind, target) WHERE state = 'queued';
CREATE UNIQUE INDEX job_given_up ON job (kind, target) WHERE state = 'dead';
CREATE INDEX job_due ON job (state, not_before_ms);

-- Index: when work that comes back was done last, so that a computer that slept catches up.
CREATE TABLE last_run (
    name  TEXT PRIMARY KEY,
    at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
