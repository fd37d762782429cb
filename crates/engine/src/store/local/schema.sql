-- The whole schema, for a new database. An older one becomes the same by the files in `migrations`, or by `yore repair`.

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
    reading        INTEGER NOT NULL DEFAULT 0,
    -- Why nothing is learned from it although it is kept; NULL: no reason.
    caveat         TEXT CHECK (caveat <> '')
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
    created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Ground: what a hard forgetting deletes, recorded before its first step and removed after its last.
CREATE TABLE forget_plan (
    id   INTEGER PRIMARY KEY,
    plan TEXT NOT NULL CHECK (json_valid(plan))
) STRICT;

-- Ground: what is known of the data directory itself, such as which key it was written with.
CREATE TABLE fact (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Index: turns whose words changed since the full-text index last took them. May be refilled
-- from `turn` at any time.
CREATE TABLE lexical_queue (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id INTEGER NOT NULL
) STRICT;
-- Whatever the full-text index must look at again, the vector indexes must too.
CREATE TRIGGER vector_queue_follows AFTER INSERT ON lexical_queue BEGIN
    INSERT INTO vector_queue (turn_id, lists) VALUES (new.turn_id, 3);
END;

CREATE TABLE index_state (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Index: turns that the vector indexes must take. `lists` is a sum: 1 the static table's, 2 the
-- local model's.
CREATE TABLE vector_queue (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id INTEGER NOT NULL,
    lists   INTEGER NOT NULL CHECK (lists BETWEEN 1 AND 3)
) STRICT;

-- Turns whose text the local model has not embedded yet, newest last.
CREATE TABLE embed_queue (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id INTEGER NOT NULL
) STRICT;
CREATE INDEX embed_queue_turn ON embed_queue (turn_id);
-- Until an embedder is chosen, nothing waits for one; then everything that lacks its vectors is queued.
CREATE TRIGGER embed_queue_without_embedder BEFORE INSERT ON embed_queue
WHEN NOT EXISTS (SELECT 1 FROM index_state WHERE name = 'embedder') BEGIN
    SELECT RAISE(IGNORE);
END;

-- Derived and paid for: vectors by model and text, so that no text is embedded twice. Vectors of
-- different embedders are never compared.
CREATE TABLE embedder (
    id         INTEGER PRIMARY KEY,
    identity   TEXT NOT NULL UNIQUE CHECK (identity <> ''),
    dimensions INTEGER NOT NULL CHECK (dimensions > 0)
) STRICT;

-- `text_hash` is keyed; `data` is one little-endian f16 per dimension.
CREATE TABLE vector (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    embedder_id INTEGER NOT NULL REFERENCES embedder (id) ON DELETE CASCADE,
    text_hash   BLOB NOT NULL CHECK (length(text_hash) = 16),
    data        BLOB NOT NULL,
    UNIQUE (embedder_id, text_hash)
) STRICT;

-- The chunks of a turn, in order.
CREATE TABLE chunk (
    turn_id     INTEGER NOT NULL REFERENCES turn (id) ON DELETE CASCADE,
    embedder_id INTEGER NOT NULL REFERENCES embedder (id) ON DELETE CASCADE,
    ordinal     INTEGER NOT NULL CHECK (ordinal >= 0),
    vector_id   INTEGER NOT NULL REFERENCES vector (id),
    PRIMARY KEY (turn_id, embedder_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX chunk_vector ON chunk (vector_id);

-- Derived: vectors of memories. In the queues of the indexes a memory stands under the negative number of its row.
CREATE TABLE memory_chunk (
    memory_id   INTEGER NOT NULL REFERENCES memory (id) ON DELETE CASCADE,
    embedder_id INTEGER NOT NULL REFERENCES embedder (id) ON DELETE CASCADE,
    ordinal     INTEGER NOT NULL CHECK (ordinal >= 0),
    vector_id   INTEGER NOT NULL REFERENCES vector (id),
    PRIMARY KEY (memory_id, embedder_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_chunk_vector ON memory_chunk (vector_id);

-- Derived: turns on whose text the local model failed. They are found by their words and the static table,
-- and tried again. May be emptied at any time.
CREATE TABLE embed_failure (
    turn_id    INTEGER PRIMARY KEY REFERENCES turn (id) ON DELETE CASCADE,
    failures   INTEGER NOT NULL CHECK (failures > 0),
    error_text TEXT    NOT NULL
) STRICT;

-- Derived: the shape of a turn, read from its words and from what its source records. Made again by `reindex`.

-- Files that turns touch or name, as written. `name` is the last component in lower case.
CREATE TABLE path (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE CHECK (text <> ''),
    name TEXT NOT NULL
) STRICT;
CREATE INDEX path_name ON path (name);

CREATE TABLE code_block (
    turn_id     INTEGER NOT NULL REFERENCES turn (id) ON DELETE CASCADE,
    seq         INTEGER NOT NULL CHECK (seq >= 0),
    language_id INTEGER REFERENCES label (id),
    path_id     INTEGER REFERENCES path (id),
    first_line  INTEGER NOT NULL CHECK (first_line > 0),
    line_count  INTEGER NOT NULL CHECK (line_count >= 0),
    PRIMARY KEY (turn_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX code_block_language ON code_block (language_id) WHERE language_id IS NOT NULL;
CREATE INDEX code_block_path ON code_block (path_id) WHERE path_id IS NOT NULL;

-- The most that a turn does to a file.
CREATE TABLE turn_file (
    turn_id INTEGER NOT NULL REFERENCES turn (id) ON DELETE CASCADE,
    path_id INTEGER NOT NULL REFERENCES path (id),
    action  TEXT NOT NULL CHECK (action IN ('mentioned', 'read', 'written')),
    PRIMARY KEY (turn_id, path_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_file_path ON turn_file (path_id);

-- A call of a tool, in the turn that makes it, and what became of it, in the turn that says so.
-- `call` is made of the episode's row and a hash of the agent's own id of the call: a call gets the
-- outcome of its answer, and an answer the name of its call.
CREATE TABLE tool_use (
    turn_id INTEGER NOT NULL REFERENCES turn (id) ON DELETE CASCADE,
    seq     INTEGER NOT NULL CHECK (seq >= 0),
    call    INTEGER,
    name_id INTEGER REFERENCES label (id),
    outcome TEXT CHECK (outcome IN ('done', 'failed', 'cancelled')),
    PRIMARY KEY (turn_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX tool_use_call ON tool_use (call) WHERE call IS NOT NULL;
CREATE INDEX tool_use_outcome ON tool_use (outcome) WHERE outcome <> 'done';

-- Turns in which a tool reports an error: by its outcome, or by a line of its output.
CREATE TABLE turn_error (
    turn_id INTEGER PRIMARY KEY REFERENCES turn (id) ON DELETE CASCADE
) STRICT;

-- Turns that lack these rows: their shape as far as their words tell it is made when the index
-- is next brought up to date, the rest of it by `reindex`.
CREATE TABLE shape_queue (
    turn_id INTEGER PRIMARY KEY REFERENCES turn (id) ON DELETE CASCADE
) STRICT;

-- Derived: the spans of conversations, stretches about one topic, as `core::span` divides them. Their names and summaries
-- are made from the turns when they are read; only those that an agent gave are stored.
CREATE TABLE span (
    id         INTEGER PRIMARY KEY,
    episode_id INTEGER NOT NULL REFERENCES episode (id) ON DELETE CASCADE,
    -- Place in the conversation's list, each topic before its parts.
    ordinal    INTEGER NOT NULL,
    -- 0 for a topic, 1 for a part of one.
    depth      INTEGER NOT NULL,
    first_turn INTEGER NOT NULL REFERENCES turn (id) ON DELETE CASCADE,
    last_turn  INTEGER NOT NULL REFERENCES turn (id) ON DELETE CASCADE,
    exchanges  INTEGER NOT NULL,
    -- The sign by which it was divided from the span before it.
    sign       TEXT,
    -- Mean of the static table's vectors of its exchanges, as f16.
    vector     BLOB NOT NULL,
    name       TEXT,
    summary    TEXT,
    UNIQUE (episode_id, ordinal)
) STRICT;
CREATE INDEX span_first_turn ON span (first_turn);
CREATE INDEX span_last_turn ON span (last_turn);

-- Derived: what tools report to have happened in conversations, made together with the spans.
CREATE TABLE event (
    episode_id INTEGER NOT NULL REFERENCES episode (id) ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    state      TEXT NOT NULL,
    name       TEXT NOT NULL CHECK (name <> ''),
    -- Further words about it; may be empty.
    text       TEXT NOT NULL,
    -- The turn that reports it last.
    turn_id    INTEGER NOT NULL REFERENCES turn (id) ON DELETE CASCADE,
    count      INTEGER NOT NULL CHECK (count > 0),
    PRIMARY KEY (episode_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_kind ON event (kind);
CREATE INDEX event_turn ON event (turn_id);

-- Derived: the shell commands that agents ran, with what became of them, made together with the spans.
CREATE TABLE attempt (
    episode_id INTEGER NOT NULL REFERENCES episode (id) ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL,
    -- The normal form of a simple command, or of a whole one, and its program.
    command    TEXT NOT NULL CHECK (command <> ''),
    program    TEXT NOT NULL,
    -- Within the directory in which the conversation began; empty for that one.
    directory  TEXT NOT NULL,
    -- Version of the program, if the conversation asked for it before.
    version    TEXT,
    exit       INTEGER,
    -- Of a failure: the kind of its cause, the key under which it is known again, the line that tells it, and the form of the
    -- command that passed next.
    cause_kind TEXT,
    cause      TEXT,
    error      TEXT,
    next       TEXT,
    -- The turn that ran it.
    turn_id    INTEGER NOT NULL REFERENCES turn (id) ON DELETE CASCADE,
    PRIMARY KEY (episode_id, ordinal),
    CHECK ((cause IS NULL) = (cause_kind IS NULL) AND (cause IS NULL) = (error IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_cause ON attempt (cause) WHERE cause IS NOT NULL;
CREATE INDEX attempt_program ON attempt (program);
CREATE INDEX attempt_turn ON attempt (turn_id);

-- Derived: what a model said of whole sessions.
CREATE TABLE session_summary (
    episode_id INTEGER PRIMARY KEY REFERENCES episode (id) ON DELETE CASCADE,
    title      TEXT NOT NULL,
    summary    TEXT NOT NULL,
    -- The last turn that it knows; without it, it is made anew.
    last_turn  INTEGER NOT NULL REFERENCES turn (id) ON DELETE CASCADE,
    -- Name and version of what made it.
    made_by    TEXT NOT NULL,
    at_ms      INTEGER NOT NULL
) STRICT;
CREATE INDEX session_summary_last_turn ON session_summary (last_turn);

-- Index: work that waits, so that nobody who is killed forgets what it had to do. May be emptied
-- at any time: looking at every source again finds the same work.
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
-- One row waits for each target, while another is being done.
CREATE UNIQUE INDEX job_waiting ON job (kind, target) WHERE state = 'queued';
CREATE UNIQUE INDEX job_given_up ON job (kind, target) WHERE state = 'dead';
CREATE INDEX job_due ON job (state, not_before_ms);

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

-- Index: when a language model last read sessions.
CREATE TABLE last_run (
    name  TEXT PRIMARY KEY,
    at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Index: when that failed last, and why.
CREATE TABLE last_failure (
    name  TEXT PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    code  TEXT NOT NULL,
    text  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Ground: notes, as state beside their words. The words of each version are a turn; recall returns the newest.
CREATE TABLE note (
    episode_id   INTEGER PRIMARY KEY REFERENCES episode (id) ON DELETE CASCADE,
    -- When somebody last loaded the whole note, and how often that was done.
    accessed_ms  INTEGER,
    access_count INTEGER NOT NULL DEFAULT 0 CHECK (access_count >= 0)
) STRICT;

-- Derived, from the archive. Versions are told apart by when they were given; the first is number 1.
CREATE TABLE note_version (
    turn_id      INTEGER PRIMARY KEY REFERENCES turn (id) ON DELETE CASCADE,
    episode_id   INTEGER NOT NULL REFERENCES note (episode_id) ON DELETE CASCADE,
    at_ms        INTEGER NOT NULL,
    -- When the next version took its place.
    until_ms     INTEGER CHECK (until_ms > at_ms),
    kind         TEXT NOT NULL CHECK (kind IN ('note', 'standing', 'context')),
    title        TEXT,
    -- A JSON list.
    tags         TEXT NOT NULL DEFAULT '[]',
    priority     TEXT CHECK (priority IN ('always_check', 'important', 'reference')),
    is_confirmed INTEGER NOT NULL CHECK (is_confirmed IN (0, 1)),
    -- The agent's own id of the session in which it was given.
    session      TEXT,
    -- A JSON object.
    metadata     TEXT NOT NULL DEFAULT '{}',
    UNIQUE (episode_id, at_ms)
) STRICT;
CREATE INDEX note_version_superseded ON note_version (until_ms) WHERE until_ms IS NOT NULL;

-- Derived: memories, entities, relations, and the operations that changed them. What is in a record as a whole is
-- JSON; what is searched has columns.
CREATE TABLE memory (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    uid            BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
    project_id     INTEGER REFERENCES project (id),
    kind           TEXT NOT NULL,
    memory_type    TEXT NOT NULL CHECK (memory_type IN ('episodic', 'semantic', 'procedural', 'preference')),
    status         TEXT NOT NULL CHECK (status IN ('holds', 'superseded', 'invalidated', 'contested', 'archived', 'proposed')),
    lane           TEXT NOT NULL CHECK (lane IN ('curated', 'extracted')),
    importance     REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
    is_pinned      INTEGER NOT NULL CHECK (is_pinned IN (0, 1)),
    valid_from_ms  INTEGER,
    valid_until_ms INTEGER,
    recorded_ms    INTEGER NOT NULL,
    changed_ms     INTEGER NOT NULL,
    title          TEXT,
    statement      TEXT NOT NULL CHECK (statement <> ''),
    -- A JSON object: everything else, except tags, evidence and anchors.
    rest           TEXT NOT NULL,
    -- The operation that changed it last; below 0: something else changed it since.
    rev            INTEGER NOT NULL DEFAULT 0
) STRICT;
-- The last ten digits, by which a memory is named.
CREATE INDEX memory_short ON memory (substr(lower(hex(uid)), 23));
CREATE TRIGGER memory_changed AFTER UPDATE ON memory BEGIN
    INSERT INTO lexical_queue (turn_id) VALUES (-new.id);
    INSERT INTO embed_queue (turn_id) SELECT -new.id
        WHERE (old.title, old.statement, old.rest) IS NOT (new.title, new.statement, new.rest);
END;
CREATE INDEX memory_changed ON memory (changed_ms);
CREATE INDEX memory_project ON memory (project_id, changed_ms);
-- Memories that no answer has unless it is asked for them.
CREATE INDEX memory_archived ON memory (status) WHERE status = 'archived';
CREATE TRIGGER memory_added AFTER INSERT ON memory BEGIN
    INSERT INTO lexical_queue (turn_id) VALUES (-new.id);
    INSERT INTO embed_queue (turn_id) VALUES (-new.id);
END;
CREATE TRIGGER memory_removed AFTER DELETE ON memory BEGIN
    INSERT INTO lexical_queue (turn_id) VALUES (-old.id);
    DELETE FROM embed_queue WHERE turn_id = -old.id;
END;
-- The same statement is recorded once.
CREATE INDEX memory_statement ON memory (substr(statement, 1, 32));
CREATE INDEX memory_proposed ON memory (status) WHERE status = 'proposed';

CREATE TABLE memory_tag (
    tag       TEXT NOT NULL CHECK (tag <> ''),
    memory_id INTEGER NOT NULL REFERENCES memory (id) ON DELETE CASCADE,
    PRIMARY KEY (tag, memory_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_tag_memory ON memory_tag (memory_id);

-- A turn may be gone: then its quote is all that is left of it.
CREATE TABLE memory_evidence (
    memory_id INTEGER NOT NULL REFERENCES memory (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    turn_uid  BLOB NOT NULL CHECK (length(turn_uid) = 16),
    quote     TEXT NOT NULL CHECK (quote <> ''),
    PRIMARY KEY (memory_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_evidence_turn ON memory_evidence (turn_uid);

CREATE TABLE memory_anchor (
    memory_id INTEGER NOT NULL REFERENCES memory (id) ON DELETE CASCADE,
    kind      TEXT NOT NULL CHECK (kind <> ''),
    text      TEXT NOT NULL CHECK (text <> ''),
    PRIMARY KEY (memory_id, kind, text)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_anchor_text ON memory_anchor (text);

-- Uses of memories: counts, and the log behind them. No operations: they are never undone.
CREATE TABLE memory_use (
    memory_uid  BLOB PRIMARY KEY CHECK (length(memory_uid) = 16),
    shown       INTEGER NOT NULL DEFAULT 0,
    opened      INTEGER NOT NULL DEFAULT 0,
    given       INTEGER NOT NULL DEFAULT 0,
    cited       INTEGER NOT NULL DEFAULT 0,
    accessed_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE memory_access (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    memory_uid BLOB NOT NULL CHECK (length(memory_uid) = 16),
    at_ms      INTEGER NOT NULL,
    way        TEXT NOT NULL CHECK (way IN ('shown', 'opened', 'given', 'cited')),
    session    TEXT,
    question   TEXT
) STRICT;
CREATE INDEX memory_access_memory ON memory_access (memory_uid, at_ms);

-- Derived: memories that say something of what has one value at a time, so that another value finds them. Numbers are hashes.
CREATE TABLE memory_assertion (
    memory_id INTEGER PRIMARY KEY REFERENCES memory (id) ON DELETE CASCADE,
    -- Of subject and aspect; none where it tells a change, whose aspect is not known.
    subject   INTEGER,
    value     INTEGER NOT NULL,
    -- Of the value before, if the statement names it.
    before    INTEGER
) STRICT;
CREATE INDEX memory_assertion_subject ON memory_assertion (subject) WHERE subject IS NOT NULL;
CREATE INDEX memory_assertion_value ON memory_assertion (value);
CREATE INDEX memory_assertion_before ON memory_assertion (before) WHERE before IS NOT NULL;

-- Derived: whether what a memory speaks of is still as it was, when a working tree was last looked at.
CREATE TABLE memory_witness (
    memory_id INTEGER PRIMARY KEY REFERENCES memory (id) ON DELETE CASCADE,
    verdict   TEXT NOT NULL CHECK (verdict IN ('fresh', 'drifted', 'orphaned')),
    -- A JSON list of what was found out of each thing that it speaks of.
    found     TEXT NOT NULL,
    at_ms     INTEGER NOT NULL
) STRICT;

-- Derived: memories that a model has compared with those near them, so that it is asked once.
CREATE TABLE memory_judged (
    memory_id INTEGER PRIMARY KEY REFERENCES memory (id) ON DELETE CASCADE,
    at_ms     INTEGER NOT NULL
) STRICT;

CREATE TABLE entity (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    uid         BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
    kind        TEXT NOT NULL,
    given_kind  TEXT,
    name        TEXT NOT NULL CHECK (name <> ''),
    -- The name in the form in which names are compared.
    name_key    TEXT NOT NULL CHECK (name_key <> ''),
    description TEXT,
    recorded_ms INTEGER NOT NULL,
    -- See memory.
    rev         INTEGER NOT NULL DEFAULT 0,
    UNIQUE (name_key, kind)
) STRICT;

CREATE TABLE entity_alias (
    alias_key TEXT NOT NULL CHECK (alias_key <> ''),
    entity_id INTEGER NOT NULL REFERENCES entity (id) ON DELETE CASCADE,
    alias     TEXT NOT NULL,
    PRIMARY KEY (alias_key, entity_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX entity_alias_entity ON entity_alias (entity_id);

-- One directed edge for a type and its inverse. An end is 16 bytes of an id, or the bytes of a path.
CREATE TABLE relation (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    uid            BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
    from_kind      TEXT NOT NULL CHECK (from_kind IN ('memory', 'entity', 'turn', 'session', 'file', 'context')),
    from_key       BLOB NOT NULL,
    to_kind        TEXT NOT NULL CHECK (to_kind IN ('memory', 'entity', 'turn', 'session', 'file', 'context')),
    to_key         BLOB NOT NULL,
    type           TEXT NOT NULL,
    weight         REAL NOT NULL CHECK (weight BETWEEN 0 AND 1),
    -- NULL: verified.
    confidence     TEXT CHECK (confidence IN ('verified', 'inferred', 'speculative')),
    -- NULL: explicit.
    origin         TEXT CHECK (origin IN ('explicit', 'implicit')),
    valid_from_ms  INTEGER,
    valid_until_ms INTEGER,
    recorded_ms    INTEGER NOT NULL,
    evidence_uid   BLOB CHECK (length(evidence_uid) = 16),
    reason         TEXT,
    -- How often it was followed, and when last: counts, no part of the record.
    activations    INTEGER NOT NULL DEFAULT 0,
    activated_ms   INTEGER,
    -- See memory.
    rev            INTEGER NOT NULL DEFAULT 0,
    -- What yore found it by, as JSON; NULL: somebody stated it.
    basis          TEXT
) STRICT;
CREATE UNIQUE INDEX relation_from ON relation (from_key, to_key, type,
    iif(from_kind IN ('file', 'context') OR to_kind IN ('file', 'context'), from_kind || ' ' || to_kind, 0));
-- The heaviest relations of what many are about. What a node is about itself is little, and has an index already.
CREATE INDEX relation_to_weight ON relation (to_key, weight DESC, id DESC);
-- Open contradictions are listed.
CREATE INDEX relation_contradicts ON relation (recorded_ms, id) WHERE type = 'contradicts';

CREATE TABLE operation (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,
    kind         TEXT NOT NULL,
    at_ms        INTEGER NOT NULL,
    actor        TEXT NOT NULL,
    cause        TEXT NOT NULL,
    input        TEXT,
    summary      TEXT NOT NULL,
    -- The operation that it undoes or does again.
    of_number    INTEGER REFERENCES operation (number),
    undone_by    INTEGER,
    is_forgotten INTEGER NOT NULL DEFAULT 0 CHECK (is_forgotten IN (0, 1))
) STRICT;

CREATE TABLE operation_change (
    operation   INTEGER NOT NULL REFERENCES operation (number),
    position    INTEGER NOT NULL,
    -- Memory, entity or relation, by the first letter.
    kind        TEXT NOT NULL CHECK (kind IN ('m', 'e', 'r', 'memory', 'entity', 'relation')),
    uid         BLOB NOT NULL CHECK (length(uid) = 16),
    -- The record before, as JSON; NULL: there was none.
    before      TEXT,
    -- The revision of the record before and after; NULL: there is none.
    before_rev  INTEGER,
    after_rev   INTEGER,
    PRIMARY KEY (operation, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX operation_change_uid ON operation_change (uid, operation);

-- Derived: the conversations from which memories were extracted, each as it was read.
CREATE TABLE extraction (
    episode_id  INTEGER NOT NULL REFERENCES episode (id) ON DELETE CASCADE,
    -- Name of the extractor, and its name with the version.
    family      TEXT NOT NULL,
    extractor   TEXT NOT NULL,
    -- Its turns, their parts, and the newest row among them: another conversation has other numbers.
    turns       INTEGER NOT NULL,
    parts       INTEGER NOT NULL,
    newest_turn INTEGER NOT NULL,
    at_ms       INTEGER NOT NULL,
    PRIMARY KEY (episode_id, family)
) STRICT, WITHOUT ROWID;

-- Derived: branches of projects that were merged: what was said on them before holds everywhere.
CREATE TABLE merged_branch (
    project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    branch_id  INTEGER NOT NULL REFERENCES label (id) ON DELETE CASCADE,
    -- When that was found out.
    at_ms      INTEGER NOT NULL,
    PRIMARY KEY (project_id, branch_id)
) STRICT, WITHOUT ROWID;

-- Calls of models.

CREATE TABLE model_call (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms         INTEGER NOT NULL,
    -- Days since 1970 in the person's time zone: limits are per day.
    day           INTEGER NOT NULL,
    purpose       TEXT NOT NULL,
    model         TEXT NOT NULL,
    project       TEXT,
    state         TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'failed')),
    -- While it is reserved, the most that it may take, as input.
    input_tokens  INTEGER NOT NULL CHECK (input_tokens >= 0),
    output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
    is_estimated  INTEGER NOT NULL CHECK (is_estimated IN (0, 1)),
    -- Millionths of a dollar; while it is reserved, the most that it may cost.
    cost_micro    INTEGER NOT NULL CHECK (cost_micro >= 0),
    failure       TEXT
) STRICT;
CREATE INDEX model_call_day ON model_call (day);

-- Whether a model has a way of being brought to answer in a form.
CREATE TABLE model_tier (
    model TEXT NOT NULL,
    tier  TEXT NOT NULL,
    works INTEGER NOT NULL CHECK (works IN (0, 1)),
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (model, tier)
) STRICT;
