-- Derived: the shape of a turn, read from its words and from what its source records. Made again
-- by `reindex`.

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

-- Turns from before these tables: their shape as far as their words tell it is made when the index
-- is next brought up to date, the rest of it by `reindex`.
CREATE TABLE shape_queue (
    turn_id INTEGER PRIMARY KEY REFERENCES turn (id) ON DELETE CASCADE
) STRICT;
INSERT INTO shape_queue (turn_id) SELECT turn.id FROM turn WHERE turn.role NOT IN ('system', 'injected');
