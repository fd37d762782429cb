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

-- A conversation has a checkpoint for each extractor.
ALTER TABLE extraction RENAME TO extraction_12;
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
INSERT INTO extraction SELECT episode_id, 'rules', extractor, turns, parts, newest_turn, at_ms FROM extraction_12;
DROP TABLE extraction_12;
