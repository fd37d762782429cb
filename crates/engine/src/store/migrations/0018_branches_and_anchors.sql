-- Derived: branches of projects that were merged: what was said on them before holds everywhere.
CREATE TABLE merged_branch (
    project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    branch_id  INTEGER NOT NULL REFERENCES label (id) ON DELETE CASCADE,
    -- When that was found out.
    at_ms      INTEGER NOT NULL,
    PRIMARY KEY (project_id, branch_id)
) STRICT, WITHOUT ROWID;

-- Memories also speak of versions and commands; the kinds are those of the program. The rows wait in memory, so that the pages of the old
-- table are used again.
CREATE TEMP TABLE anchor_17 AS SELECT memory_id, kind, text FROM memory_anchor;
DROP TABLE memory_anchor;
CREATE TABLE memory_anchor (
    memory_id INTEGER NOT NULL REFERENCES memory (id) ON DELETE CASCADE,
    kind      TEXT NOT NULL CHECK (kind <> ''),
    text      TEXT NOT NULL CHECK (text <> ''),
    PRIMARY KEY (memory_id, kind, text)
) STRICT, WITHOUT ROWID;
INSERT INTO memory_anchor SELECT memory_id, kind, text FROM temp.anchor_17;
DROP TABLE temp.anchor_17;
CREATE INDEX memory_anchor_text ON memory_anchor (text);
