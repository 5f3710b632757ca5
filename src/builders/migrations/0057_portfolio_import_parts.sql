-- The source of a large import by rows, so that a turn of its job reads only the rows that it imports.

ALTER TABLE portfolio_imports_parts
    ADD COLUMN first_row int; -- of those that the part holds as JSON; null: the part holds bytes of the source
-- Imports that have not ended, of which one of an account runs at a time.
CREATE INDEX portfolio_imports_open ON portfolio_imports (account_id, id)
    WHERE state IN ('queued', 'running', 'undoing');
