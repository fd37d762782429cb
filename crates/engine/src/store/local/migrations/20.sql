-- Ground: why nothing is learned from a turn that is kept; NULL: no reason.
ALTER TABLE turn ADD COLUMN caveat TEXT CHECK (caveat <> '');

-- Ground: the first commit of a project's repository, by which it is recognised where its folder was renamed.
CREATE TABLE project_commit (
    project_id   INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    first_commit TEXT NOT NULL CHECK (first_commit <> ''),
    PRIMARY KEY (project_id, first_commit)
) STRICT, WITHOUT ROWID;

-- Ground: projects that became part of another, and what belonged to them, so that a merge can be undone.
CREATE TABLE project_merge (
    id         INTEGER PRIMARY KEY,
    at_ms      INTEGER NOT NULL,
    from_uid   BLOB NOT NULL CHECK (length(from_uid) = 16),
    from_name  TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    into_uid   BLOB NOT NULL CHECK (length(into_uid) = 16)
) STRICT;
CREATE TABLE project_merge_row (
    merge_id INTEGER NOT NULL REFERENCES project_merge (id) ON DELETE CASCADE,
    what     TEXT NOT NULL CHECK (what IN ('alias', 'episode', 'turn', 'memory', 'branch', 'commit')),
    key      ANY NOT NULL,
    PRIMARY KEY (merge_id, what, key)
) STRICT, WITHOUT ROWID;

-- A memory may wait for a review. Only the condition on a column changes, no row: so the text of the schema is changed in place.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''contested'', ''archived'')', '''contested'', ''archived'', ''proposed'')')
WHERE type = 'table' AND name = 'memory';
PRAGMA writable_schema = RESET;
CREATE INDEX memory_proposed ON memory (status) WHERE status = 'proposed';

-- Ground: what a hard forgetting deletes, recorded before its first step and removed after its last.
CREATE TABLE forget_plan (
    id INTEGER PRIMARY KEY,
    plan TEXT NOT NULL CHECK (json_valid(plan))
) STRICT;

-- Index: when work that comes back failed last, and why.
CREATE TABLE last_failure (
    name  TEXT PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    code  TEXT NOT NULL,
    text  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
