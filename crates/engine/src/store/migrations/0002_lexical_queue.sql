-- Index: turns whose words changed since the full-text index last took them. May be refilled
-- from `turn` at any time.
CREATE TABLE lexical_queue (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id INTEGER NOT NULL
) STRICT;

CREATE TABLE index_state (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
