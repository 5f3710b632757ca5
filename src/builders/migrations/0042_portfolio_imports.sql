-- Imports of portfolios: what was read, what was done with each row, and what is needed to undo it.

CREATE TABLE portfolio_imports (
    account_id uuid NOT NULL, -- the portfolio
    id uuid NOT NULL,
    state text NOT NULL CHECK (state IN ('queued', 'running', 'completed', 'failed', 'undoing', 'undone')),
    source text NOT NULL CHECK (source IN ('file', 'text', 'rows', 'names')), -- what the parts hold
    options jsonb NOT NULL,
    detected jsonb, -- null until the source was read
    failure jsonb, -- why no row can be read
    rows_total int, -- null until the source was read
    rows_done int NOT NULL DEFAULT 0,
    created int NOT NULL DEFAULT 0, -- rows by outcome, down to `errors`
    updated int NOT NULL DEFAULT 0,
    unchanged int NOT NULL DEFAULT 0,
    skipped int NOT NULL DEFAULT 0,
    errors int NOT NULL DEFAULT 0,
    duplicates int NOT NULL DEFAULT 0, -- rows of a domain that an earlier row has
    rows_undone int NOT NULL DEFAULT 0, -- from the last row on
    removed int NOT NULL DEFAULT 0, -- domains that the undo removed
    restored int NOT NULL DEFAULT 0, -- domains that the undo changed back
    kept int NOT NULL DEFAULT 0, -- domains that were changed since and not changed back
    created_by uuid NOT NULL, -- the member
    created_at timestamptz NOT NULL,
    finished_at timestamptz,
    undo_until timestamptz, -- null: there is nothing to undo
    PRIMARY KEY (account_id, id)
);
-- For the daily deletion of all accounts' old imports.
CREATE INDEX portfolio_imports_created ON portfolio_imports (created_at);

-- The source of an import that a job runs, sealed; deleted when the import ends.
CREATE TABLE portfolio_imports_parts (
    account_id uuid NOT NULL,
    import_id uuid NOT NULL,
    number int NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (account_id, import_id, number),
    FOREIGN KEY (account_id, import_id) REFERENCES portfolio_imports (account_id, id) ON DELETE CASCADE
);

CREATE TABLE portfolio_imports_rows (
    account_id uuid NOT NULL,
    import_id uuid NOT NULL,
    number int NOT NULL, -- of the row, from 0
    position int NOT NULL, -- line or index, as it is shown
    domain text, -- A-label; as written when it is none
    outcome text NOT NULL CHECK (outcome IN ('created', 'updated', 'unchanged', 'skipped', 'error')),
    domain_id uuid,
    errors jsonb NOT NULL,
    warnings jsonb NOT NULL,
    before jsonb, -- the changed fields of the domain; null: nothing was changed
    after jsonb,
    entry_ids uuid[] NOT NULL, -- that the row added to the ledger
    PRIMARY KEY (account_id, import_id, number),
    FOREIGN KEY (account_id, import_id) REFERENCES portfolio_imports (account_id, id) ON DELETE CASCADE
);
CREATE INDEX portfolio_imports_rows_outcome ON portfolio_imports_rows (account_id, import_id, outcome, number);
CREATE INDEX portfolio_imports_rows_domain ON portfolio_imports_rows (account_id, import_id, domain, number);
