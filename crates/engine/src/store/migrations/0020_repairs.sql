-- Ground: why nothing is learned from a turn that is kept; NULL: no reason.
ALTER TABLE turn ADD COLUMN caveat TEXT CHECK (caveat <> '');
