-- Derived: the shell commands that agents ran, with what became of them, made together with the spans.
CREATE TABLE attempt (
    episode_id INTEGER NOT NULL REFERENCES episode (id) ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL,
    -- The normal form of a simple command, or of a whole one, and its program.
    command    TEXT NOT NULL CHECK (command <> ''),
    program    TEXT NOT NULL,
    -- Within the directory in which the conversation began; empty for that one.
    directory  TEXT NOT NULL,
    -- Version of the program, if the conversation asked for it before.
    version    TEXT,
    exit       INTEGER,
    -- Of a failure: the kind of its cause, the key under which it is known again, the line that tells it, and the form of the
    -- command that passed next.
    cause_kind TEXT,
    cause      TEXT,
    error      TEXT,
    next       TEXT,
    -- The turn that ran it.
    turn_id    INTEGER NOT NULL REFERENCES turn (id) ON DELETE CASCADE,
    PRIMARY KEY (episode_id, ordinal),
    CHECK ((cause IS NULL) = (cause_kind IS NULL) AND (cause IS NULL) = (error IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_cause ON attempt (cause) WHERE cause IS NOT NULL;
CREATE INDEX attempt_program ON attempt (program);
CREATE INDEX attempt_turn ON attempt (turn_id);
