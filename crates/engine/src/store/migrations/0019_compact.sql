-- Derived: relations and the changes of operations in less space. Certain and explicit relations are the rule, and the ids of memories,
-- entities, turns and sessions tell their kinds apart; only names of files and contexts may be the same. What is rescued from an older,
-- damaged database is in the longer form, and stays so.
CREATE TEMP TABLE relation_18 AS SELECT * FROM relation;
DROP TABLE relation;
CREATE TABLE relation (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    uid            BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
    from_kind      TEXT NOT NULL CHECK (from_kind IN ('memory', 'entity', 'turn', 'session', 'file', 'context')),
    from_key       BLOB NOT NULL,
    to_kind        TEXT NOT NULL CHECK (to_kind IN ('memory', 'entity', 'turn', 'session', 'file', 'context')),
    to_key         BLOB NOT NULL,
    type           TEXT NOT NULL,
    weight         REAL NOT NULL CHECK (weight BETWEEN 0 AND 1),
    -- NULL: verified.
    confidence     TEXT CHECK (confidence IN ('verified', 'inferred', 'speculative')),
    -- NULL: explicit.
    origin         TEXT CHECK (origin IN ('explicit', 'implicit')),
    valid_from_ms  INTEGER,
    valid_until_ms INTEGER,
    recorded_ms    INTEGER NOT NULL,
    evidence_uid   BLOB CHECK (length(evidence_uid) = 16),
    reason         TEXT,
    -- How often it was followed, and when last: counts, no part of the record.
    activations    INTEGER NOT NULL DEFAULT 0,
    activated_ms   INTEGER
) STRICT;
INSERT INTO relation SELECT id, uid, from_kind, from_key, to_kind, to_key, type, weight, nullif(confidence, 'verified'),
    nullif(origin, 'explicit'), valid_from_ms, valid_until_ms, recorded_ms, evidence_uid, reason, activations, activated_ms
FROM temp.relation_18 ORDER BY id;
DROP TABLE temp.relation_18;
CREATE UNIQUE INDEX relation_from ON relation (from_key, to_key, type,
    iif(from_kind IN ('file', 'context') OR to_kind IN ('file', 'context'), from_kind || ' ' || to_kind, 0));
CREATE INDEX relation_to_weight ON relation (to_key, weight DESC, id DESC);
CREATE INDEX relation_contradicts ON relation (recorded_ms, id) WHERE type = 'contradicts';

CREATE TEMP TABLE operation_change_18 AS SELECT * FROM operation_change;
DROP TABLE operation_change;
CREATE TABLE operation_change (
    operation   INTEGER NOT NULL REFERENCES operation (number),
    position    INTEGER NOT NULL,
    -- Memory, entity or relation, by the first letter.
    kind        TEXT NOT NULL CHECK (kind IN ('m', 'e', 'r', 'memory', 'entity', 'relation')),
    uid         BLOB NOT NULL CHECK (length(uid) = 16),
    -- The record before, as JSON; NULL: there was none.
    before      TEXT,
    -- Hash of the record after, of which 8 bytes count; NULL: there is none.
    after_hash  BLOB CHECK (length(after_hash) >= 8),
    PRIMARY KEY (operation, position)
) STRICT, WITHOUT ROWID;
INSERT INTO operation_change SELECT operation, position, substr(kind, 1, 1), uid, before, substr(after_hash, 1, 8)
FROM temp.operation_change_18 ORDER BY operation, position;
DROP TABLE temp.operation_change_18;
CREATE INDEX operation_change_uid ON operation_change (uid, operation);

-- Until an embedder is chosen, nothing waits for one; then everything that lacks its vectors is queued.
CREATE TRIGGER embed_queue_without_embedder BEFORE INSERT ON embed_queue
WHEN NOT EXISTS (SELECT 1 FROM index_state WHERE name = 'embedder') BEGIN
    SELECT RAISE(IGNORE);
END;
DELETE FROM embed_queue WHERE NOT EXISTS (SELECT 1 FROM index_state WHERE name = 'embedder');

-- Fewer letters tell statements apart as well.
DROP INDEX memory_statement;
CREATE INDEX memory_statement ON memory (substr(statement, 1, 32));
