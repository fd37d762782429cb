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
-- Open contradictions are listed.
CREATE INDEX relation_contradicts ON relation (recorded_ms, id) WHERE type = 'contradicts';
-- Derived: whether what a memory speaks of is still as it was, when a working tree was last looked at.
CREATE TABLE memory_witness (
    memory_id INTEGER PRIMARY KEY REFERENCES memory (id) ON DELETE CASCADE,
    verdict   TEXT NOT NULL CHECK (verdict IN ('fresh', 'drifted', 'orphaned')),
    -- A JSON list of what was found out of each thing that it speaks of.
    found     TEXT NOT NULL,
    at_ms     INTEGER NOT NULL
) STRICT;
