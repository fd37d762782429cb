-- Derived: vectors of memories. In the queues of the indexes a memory stands under the negative number of its row.
CREATE TABLE memory_chunk (
    memory_id   INTEGER NOT NULL REFERENCES memory (id) ON DELETE CASCADE,
    embedder_id INTEGER NOT NULL REFERENCES embedder (id) ON DELETE CASCADE,
    ordinal     INTEGER NOT NULL CHECK (ordinal >= 0),
    vector_id   INTEGER NOT NULL REFERENCES vector (id),
    PRIMARY KEY (memory_id, embedder_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_chunk_vector ON memory_chunk (vector_id);

-- Memories that no answer has unless it is asked for them.
CREATE INDEX memory_archived ON memory (status) WHERE status = 'archived';

-- The heaviest relations of what many are about. What a node is about itself is little, and has an index already.
CREATE INDEX relation_to_weight ON relation (to_key, weight DESC, id DESC);
DROP INDEX relation_to;

CREATE TRIGGER memory_added AFTER INSERT ON memory BEGIN
    INSERT INTO lexical_queue (turn_id) VALUES (-new.id);
    INSERT INTO embed_queue (turn_id) VALUES (-new.id);
END;
CREATE TRIGGER memory_changed AFTER UPDATE ON memory BEGIN
    INSERT INTO lexical_queue (turn_id) VALUES (-new.id);
    INSERT INTO embed_queue (turn_id) SELECT -new.id
        WHERE (old.title, old.statement, old.rest) IS NOT (new.title, new.statement, new.rest);
END;
CREATE TRIGGER memory_removed AFTER DELETE ON memory BEGIN
    INSERT INTO lexical_queue (turn_id) VALUES (-old.id);
    DELETE FROM embed_queue WHERE turn_id = -old.id;
END;

INSERT INTO lexical_queue (turn_id) SELECT -id FROM memory ORDER BY id;
INSERT INTO embed_queue (turn_id) SELECT -id FROM memory ORDER BY id;
