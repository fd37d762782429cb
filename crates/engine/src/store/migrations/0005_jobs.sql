-- Index: work that waits, so that nobody who is killed forgets what it had to do. May be emptied
-- at any time: looking at every source again finds the same work.
CREATE TABLE job (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    kind          TEXT    NOT NULL CHECK (kind IN ('ingest', 'scan')),
    -- What it is about: a path or an address.
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

-- One row waits for each target, while another is being done.
CREATE UNIQUE INDEX job_waiting ON job (kind, target) WHERE state = 'queued';
CREATE UNIQUE INDEX job_given_up ON job (kind, target) WHERE state = 'dead';
CREATE INDEX job_due ON job (state, not_before_ms);
