-- Calls of models: the ledger of what they took, and what was learned of them.

CREATE TABLE model_call (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms         INTEGER NOT NULL,
    -- Days since 1970 in the person's time zone: limits are per day.
    day           INTEGER NOT NULL,
    purpose       TEXT NOT NULL,
    model         TEXT NOT NULL,
    project       TEXT,
    state         TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'failed')),
    -- While it is reserved, the most that it may take, as input.
    input_tokens  INTEGER NOT NULL CHECK (input_tokens >= 0),
    output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
    is_estimated  INTEGER NOT NULL CHECK (is_estimated IN (0, 1)),
    -- Millionths of a dollar; while it is reserved, the most that it may cost.
    cost_micro    INTEGER NOT NULL CHECK (cost_micro >= 0),
    failure       TEXT
) STRICT;
CREATE INDEX model_call_day ON model_call (day);

-- Whether a model has a way of being brought to answer in a form.
CREATE TABLE model_tier (
    model TEXT NOT NULL,
    tier  TEXT NOT NULL,
    works INTEGER NOT NULL CHECK (works IN (0, 1)),
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (model, tier)
) STRICT;
