-- Ground: what was said, as read. Never rewritten; deleted only on request.

-- Strings that repeat on very many rows: branches, models, speakers, directories.
CREATE TABLE label (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE project (
    id         INTEGER PRIMARY KEY,
    uid        BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
    name       TEXT NOT NULL CHECK (name <> ''),
    created_ms INTEGER NOT NULL
) STRICT;

-- The names by which a project is recognised. `recorded` is the form in which it was met.
CREATE TABLE project_alias (
    kind       TEXT NOT NULL CHECK (kind IN ('remote', 'git_dir', 'directory', 'name')),
    value      TEXT NOT NULL,
    recorded   TEXT NOT NULL,
    project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    PRIMARY KEY (kind, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX project_alias_project ON project_alias (project_id);

CREATE TABLE episode (
    id               INTEGER PRIMARY KEY,
    uid              BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
    agent            TEXT NOT NULL,
    native_id        TEXT NOT NULL,
    kind             TEXT NOT NULL CHECK (kind IN ('session', 'subagent', 'document')),
    parent_native_id TEXT,
    project_id       INTEGER REFERENCES project (id),
    cwd              TEXT,
    client_version   TEXT,
    title            TEXT,
    title_rank       TEXT NOT NULL DEFAULT 'first_words' CHECK (title_rank IN ('first_words', 'summary', 'ai', 'custom')),
    title_ms         INTEGER,
    title_line       INTEGER NOT NULL DEFAULT 0,
    started_ms       INTEGER,
    updated_ms       INTEGER,
    forgotten_ms     INTEGER,
    UNIQUE (agent, native_id)
) STRICT;
CREATE INDEX episode_project ON episode (project_id);

CREATE TABLE episode_link (
    episode_id INTEGER NOT NULL REFERENCES episode (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL,
    value      TEXT NOT NULL,
    PRIMARY KEY (episode_id, kind, value)
) STRICT, WITHOUT ROWID;

-- One file (or database) that histories are read from. `generation` grows when it was rewritten.
CREATE TABLE source_file (
    id             INTEGER PRIMARY KEY,
    source         TEXT NOT NULL,
    path           TEXT NOT NULL,
    generation     INTEGER NOT NULL DEFAULT 1 CHECK (generation >= 1),
    size           INTEGER NOT NULL DEFAULT 0 CHECK (size >= 0),
    mtime_ns       INTEGER NOT NULL DEFAULT 0,
    archived_bytes INTEGER NOT NULL DEFAULT 0 CHECK (archived_bytes >= 0),
    archived_lines INTEGER NOT NULL DEFAULT 0 CHECK (archived_lines >= 0),
    read_bytes     INTEGER NOT NULL DEFAULT 0 CHECK (read_bytes BETWEEN 0 AND archived_bytes),
    read_lines     INTEGER NOT NULL DEFAULT 0 CHECK (read_lines BETWEEN 0 AND archived_lines),
    reader_state   TEXT NOT NULL DEFAULT '',
    fingerprint    BLOB,
    rules_version  INTEGER NOT NULL DEFAULT 0,
    -- A directory whose lines were kept out; once it may be kept, the file is read anew.
    kept_out       TEXT,
    lease_owner    TEXT,
    first_seen_ms  INTEGER NOT NULL,
    last_read_ms   INTEGER,
    gone_ms        INTEGER,
    UNIQUE (source, path)
) STRICT;

-- Redacted lines, compressed. Content-addressed: `hash` is over the lines before compression.
CREATE TABLE blob (
    id         INTEGER PRIMARY KEY,
    hash       BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    raw_bytes  INTEGER NOT NULL CHECK (raw_bytes >= 0),
    line_count INTEGER NOT NULL CHECK (line_count > 0),
    data       BLOB NOT NULL
) STRICT;

-- A file's content is its segments in order, each a run of lines of one blob.
CREATE TABLE segment (
    file_id    INTEGER NOT NULL REFERENCES source_file (id) ON DELETE CASCADE,
    generation INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    blob_id    INTEGER NOT NULL REFERENCES blob (id),
    first_line INTEGER NOT NULL CHECK (first_line >= 0),
    line_count INTEGER NOT NULL CHECK (line_count > 0),
    PRIMARY KEY (file_id, generation, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX segment_blob ON segment (blob_id);

-- Where a line is stored already, by keyed hash: a hint that is verified before it is used.
CREATE TABLE archive_line (
    hash    INTEGER PRIMARY KEY,
    blob_id INTEGER NOT NULL,
    line_no INTEGER NOT NULL
) STRICT;

CREATE TABLE turn (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    uid            BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
    episode_id     INTEGER NOT NULL REFERENCES episode (id) ON DELETE CASCADE,
    native_id      ANY NOT NULL,
    position       INTEGER NOT NULL,
    role           TEXT NOT NULL CHECK (role IN ('human', 'assistant', 'tool_call', 'tool_result', 'system', 'summary', 'injected')),
    is_error       INTEGER NOT NULL DEFAULT 0 CHECK (is_error IN (0, 1)),
    parts          INTEGER NOT NULL CHECK (parts >= 1),
    at_ms          INTEGER,
    at_original    TEXT,
    at_offset_min  INTEGER,
    at_quality     TEXT NOT NULL CHECK (at_quality IN ('exact', 'derived', 'session', 'none')),
    project_id     INTEGER REFERENCES project (id),
    branch_id      INTEGER REFERENCES label (id),
    cwd_id         INTEGER REFERENCES label (id),
    model_id       INTEGER REFERENCES label (id),
    speaker_id     INTEGER REFERENCES label (id),
    file_id        INTEGER NOT NULL REFERENCES source_file (id),
    line           INTEGER NOT NULL,
    reading        INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX turn_episode ON turn (episode_id, position);
CREATE INDEX turn_native ON turn (native_id);

-- The words of a turn, redacted; text and tool text in one compressed value.
CREATE TABLE turn_text (
    turn_id INTEGER PRIMARY KEY REFERENCES turn (id) ON DELETE CASCADE,
    words   BLOB NOT NULL
) STRICT;

-- A resumed or forked session that repeats a turn of another one refers to it.
CREATE TABLE turn_share (
    episode_id INTEGER NOT NULL REFERENCES episode (id) ON DELETE CASCADE,
    turn_id    INTEGER NOT NULL REFERENCES turn (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    PRIMARY KEY (episode_id, turn_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_share_turn ON turn_share (turn_id);

-- Which episodes a file speaks of, and the last of its turns there: new ones follow that.
CREATE TABLE file_episode (
    file_id    INTEGER NOT NULL REFERENCES source_file (id) ON DELETE CASCADE,
    episode_id INTEGER NOT NULL REFERENCES episode (id) ON DELETE CASCADE,
    last_turn  INTEGER,
    PRIMARY KEY (file_id, episode_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX file_episode_episode ON file_episode (episode_id);

-- What could not be read, why, and how often; never fatal, always shown.
CREATE TABLE skip (
    file_id      INTEGER NOT NULL REFERENCES source_file (id) ON DELETE CASCADE,
    reason       TEXT NOT NULL,
    detail       TEXT NOT NULL,
    count        INTEGER NOT NULL CHECK (count > 0),
    first_line   INTEGER NOT NULL,
    first_offset INTEGER NOT NULL,
    PRIMARY KEY (file_id, reason, detail)
) STRICT, WITHOUT ROWID;

CREATE TABLE redaction (
    file_id INTEGER NOT NULL REFERENCES source_file (id) ON DELETE CASCADE,
    kind    TEXT NOT NULL,
    count   INTEGER NOT NULL CHECK (count > 0),
    PRIMARY KEY (file_id, kind)
) STRICT, WITHOUT ROWID;

-- Titles of whichever episode holds a message that was not read yet.
CREATE TABLE pending_title (
    agent      TEXT NOT NULL,
    message    TEXT NOT NULL,
    title      TEXT NOT NULL,
    title_rank TEXT NOT NULL,
    title_ms   INTEGER,
    title_line INTEGER NOT NULL,
    PRIMARY KEY (agent, message)
) STRICT, WITHOUT ROWID;

-- Sessions and messages that must not come back although their source still exists: keyed hashes.
CREATE TABLE tombstone (
    hash       BLOB PRIMARY KEY CHECK (length(hash) = 16),
    created_ms   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
