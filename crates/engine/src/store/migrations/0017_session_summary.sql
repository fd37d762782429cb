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
