-- Derived and paid for: vectors by model and text, so that no text is embedded twice. Vectors of
-- different embedders are never compared.
CREATE TABLE embedder (
    id         INTEGER PRIMARY KEY,
    identity   TEXT NOT NULL UNIQUE CHECK (identity <> ''),
    dimensions INTEGER NOT NULL CHECK (dimensions > 0)
) STRICT;

-- `text_hash` is keyed; `data` is one little-endian f16 per dimension.
CREATE TABLE vector (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    embedder_id INTEGER NOT NULL REFERENCES embedder (id) ON DELETE CASCADE,
    text_hash   BLOB NOT NULL CHECK (length(text_hash) = 16),
    data        BLOB NOT NULL,
    UNIQUE (embedder_id, text_hash)
) STRICT;

-- The chunks of a turn, in order.
CREATE TABLE chunk (
    turn_id     INTEGER NOT NULL REFERENCES turn (id) ON DELETE CASCADE,
    embedder_id INTEGER NOT NULL REFERENCES embedder (id) ON DELETE CASCADE,
    ordinal     INTEGER NOT NULL CHECK (ordinal >= 0),
    vector_id   INTEGER NOT NULL REFERENCES vector (id),
    PRIMARY KEY (turn_id, embedder_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX chunk_vector ON chunk (vector_id);

-- Turns whose text the local model has not embedded yet, newest last.
CREATE TABLE embed_queue (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id INTEGER NOT NULL
) STRICT;
CREATE INDEX embed_queue_turn ON embed_queue (turn_id);

-- Index: turns that the vector indexes must take. `lists` is a sum: 1 the static table's, 2 the
-- local model's.
CREATE TABLE vector_queue (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id INTEGER NOT NULL,
    lists   INTEGER NOT NULL CHECK (lists BETWEEN 1 AND 3)
) STRICT;

-- Whatever the full-text index must look at again, the vector indexes must too.
CREATE TRIGGER vector_queue_follows AFTER INSERT ON lexical_queue BEGIN
    INSERT INTO vector_queue (turn_id, lists) VALUES (new.turn_id, 3);
END;

INSERT INTO embed_queue (turn_id)
    SELECT turn.id FROM turn WHERE turn.role NOT IN ('system', 'injected') ORDER BY turn.id;
INSERT INTO vector_queue (turn_id, lists)
    SELECT turn.id, 3 FROM turn WHERE turn.role NOT IN ('system', 'injected') ORDER BY turn.id;
