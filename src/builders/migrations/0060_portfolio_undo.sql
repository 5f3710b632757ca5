-- What the undo of an import kept, because it was changed or used since.

ALTER TABLE portfolio_imports_rows ADD COLUMN kept jsonb; -- the reasons; null: nothing was kept
CREATE INDEX portfolio_imports_rows_kept ON portfolio_imports_rows (account_id, import_id, number) WHERE kept IS NOT NULL;
-- The rows of a domain in one import, and in all imports of the portfolio.
CREATE INDEX portfolio_imports_rows_name ON portfolio_imports_rows (account_id, domain, import_id, number);
DROP INDEX portfolio_imports_rows_domain;
