-- Derived: memories, entities, relations, and the operations that changed them. What is in a record as a whole is
-- JSON; what is searched has columns.
CREATE TABLE memory (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    uid            BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
    project_id     INTEGER REFERENCES project (id),
    kind           TEXT NOT NULL,
    memory_type    TEXT NOT NULL CHECK (memory_type IN ('episodic', 'semantic', 'procedural', 'preference')),
    status         TEXT NOT NULL CHECK (status IN ('holds', 'superseded', 'invalidated', 'contested', 'archived')),
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
    rest           TEXT NOT NULL
) STRICT;
-- The last ten digits, by which a memory is named.
CREATE INDEX memory_short ON memory (substr(lower(hex(uid)), 23));
-- The same statement is recorded once.
CREATE INDEX memory_statement ON memory (substr(statement, 1, 48));
CREATE INDEX memory_changed ON memory (changed_ms);
CREATE INDEX memory_project ON memory (project_id, changed_ms);

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
    kind      TEXT NOT NULL CHECK (kind IN ('file', 'symbol', 'error', 'commit')),
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
    confidence     TEXT NOT NULL CHECK (confidence IN ('verified', 'inferred', 'speculative')),
    origin         TEXT NOT NULL CHECK (origin IN ('explicit', 'implicit')),
    valid_from_ms  INTEGER,
    valid_until_ms INTEGER,
    recorded_ms    INTEGER NOT NULL,
    evidence_uid   BLOB CHECK (length(evidence_uid) = 16),
    reason         TEXT,
    -- How often it was followed, and when last: counts, no part of the record.
    activations    INTEGER NOT NULL DEFAULT 0,
    activated_ms   INTEGER,
    UNIQUE (from_key, to_key, type, from_kind, to_kind)
) STRICT;
CREATE INDEX relation_to ON relation (to_key);

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
    kind        TEXT NOT NULL CHECK (kind IN ('memory', 'entity', 'relation')),
    uid         BLOB NOT NULL CHECK (length(uid) = 16),
    -- The record before, as JSON; NULL: there was none.
    before      TEXT,
    -- Hash of the record after; NULL: there is none.
    after_hash  BLOB CHECK (length(after_hash) = 16),
    PRIMARY KEY (operation, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX operation_change_uid ON operation_change (uid, operation);
