-- Derived: the conversations from which memories were extracted, each as it was read.
CREATE TABLE extraction (
    episode_id  INTEGER PRIMARY KEY REFERENCES episode (id) ON DELETE CASCADE,
    -- Name and version of the extractor.
    extractor   TEXT NOT NULL,
    -- Its turns, their parts, and the newest row among them: another conversation has other numbers.
    turns       INTEGER NOT NULL,
    parts       INTEGER NOT NULL,
    newest_turn INTEGER NOT NULL,
    at_ms       INTEGER NOT NULL
) STRICT;
