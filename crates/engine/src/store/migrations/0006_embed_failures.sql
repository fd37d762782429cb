-- Derived: turns on whose text the local model failed. They are found by their words and the static table,
-- and tried again. May be emptied at any time.
CREATE TABLE embed_failure (
    turn_id    INTEGER PRIMARY KEY REFERENCES turn (id) ON DELETE CASCADE,
    failures   INTEGER NOT NULL CHECK (failures > 0),
    error_text TEXT    NOT NULL
) STRICT;
