-- Ground: notes, as state beside their words. The words of each version are a turn; recall returns the newest.
CREATE TABLE note (
    episode_id   INTEGER PRIMARY KEY REFERENCES episode (id) ON DELETE CASCADE,
    -- When somebody last loaded the whole note, and how often that was done.
    accessed_ms  INTEGER,
    access_count INTEGER NOT NULL DEFAULT 0 CHECK (access_count >= 0)
) STRICT;

-- Derived, from the archive. Versions are told apart by when they were given; the first is number 1.
CREATE TABLE note_version (
    turn_id      INTEGER PRIMARY KEY REFERENCES turn (id) ON DELETE CASCADE,
    episode_id   INTEGER NOT NULL REFERENCES note (episode_id) ON DELETE CASCADE,
    at_ms        INTEGER NOT NULL,
    -- When the next version took its place.
    until_ms     INTEGER CHECK (until_ms > at_ms),
    kind         TEXT NOT NULL CHECK (kind IN ('note', 'standing', 'context')),
    title        TEXT,
    -- A JSON list.
    tags         TEXT NOT NULL DEFAULT '[]',
    priority     TEXT CHECK (priority IN ('always_check', 'important', 'reference')),
    is_confirmed INTEGER NOT NULL CHECK (is_confirmed IN (0, 1)),
    -- The agent's own id of the session in which it was given.
    session      TEXT,
    -- A JSON object.
    metadata     TEXT NOT NULL DEFAULT '{}',
    UNIQUE (episode_id, at_ms)
) STRICT;
CREATE INDEX note_version_superseded ON note_version (until_ms) WHERE until_ms IS NOT NULL;

-- What was kept as tags. Older versions are read from the archive, which has them all.
INSERT INTO note (episode_id)
SELECT DISTINCT episode.id FROM episode JOIN turn ON turn.episode_id = episode.id
WHERE episode.agent = 'note' AND turn.native_id = 'text';

INSERT INTO note_version (turn_id, episode_id, at_ms, kind, title, tags, priority, is_confirmed)
WITH tagged AS (
    SELECT turn.id AS turn_id, episode.id AS episode_id, coalesce(turn.at_ms, 0) AS at_ms, episode.title,
           EXISTS (SELECT 1 FROM episode_link WHERE episode_id = episode.id AND kind = 'tag' AND value = 'standing') AS stands,
           EXISTS (SELECT 1 FROM episode_link WHERE episode_id = episode.id AND kind = 'tag' AND value = 'context')
               AND turn.role = 'assistant' AND episode.title IS NOT NULL AS has_topic,
           NOT EXISTS (SELECT 1 FROM episode_link WHERE episode_id = episode.id AND kind = 'tag' AND value = 'unconfirmed') AS is_confirmed,
           (SELECT min(substr(value, 10)) FROM episode_link WHERE episode_id = episode.id AND kind = 'tag'
                AND value IN ('priority:always_check', 'priority:important', 'priority:reference')) AS priority
    FROM episode JOIN turn ON turn.episode_id = episode.id
    WHERE episode.agent = 'note' AND turn.native_id = 'text'
)
SELECT turn_id, episode_id, at_ms, CASE WHEN stands THEN 'standing' WHEN has_topic THEN 'context' ELSE 'note' END, title,
       (SELECT json_group_array(value ORDER BY value) FROM episode_link
        WHERE episode_id = tagged.episode_id AND kind = 'tag' AND value <> 'unconfirmed'
          AND NOT (stands AND value = 'standing') AND NOT (NOT stands AND has_topic AND value = 'context')
          AND value NOT IN ('priority:always_check', 'priority:important', 'priority:reference')),
       priority, is_confirmed
FROM tagged;

DELETE FROM episode_link WHERE kind = 'tag' AND episode_id IN (SELECT episode_id FROM note);
INSERT OR REPLACE INTO index_state (name, value) SELECT 'note-versions', 'owed' FROM note LIMIT 1;
