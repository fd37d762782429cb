-- Derived: the operation that changed a record last; below 0: something else changed it since.
ALTER TABLE memory ADD COLUMN rev INTEGER NOT NULL DEFAULT 0;
ALTER TABLE entity ADD COLUMN rev INTEGER NOT NULL DEFAULT 0;
ALTER TABLE relation ADD COLUMN rev INTEGER NOT NULL DEFAULT 0;
-- What yore found a relation by, as JSON; NULL: somebody stated it.
ALTER TABLE relation ADD COLUMN basis TEXT;
-- The revision of the record before and after; NULL: there is none.
ALTER TABLE operation_change ADD COLUMN before_rev INTEGER;
ALTER TABLE operation_change ADD COLUMN after_rev INTEGER;
ALTER TABLE operation_change DROP COLUMN after_hash;
