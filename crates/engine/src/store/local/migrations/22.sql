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
