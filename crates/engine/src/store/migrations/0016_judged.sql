-- Derived: memories that a model has compared with those near them, so that it is asked once.
CREATE TABLE memory_judged (
    memory_id INTEGER PRIMARY KEY REFERENCES memory (id) ON DELETE CASCADE,
    at_ms     INTEGER NOT NULL
) STRICT;
