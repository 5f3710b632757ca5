-- works with: 1.0.0
-- run: before

-- What credentials read, as one file that a job writes page by page, for 24 hours.
CREATE TABLE exports_files (
    account_id uuid NOT NULL REFERENCES identity_accounts (id),
    id uuid NOT NULL,
    credential_id uuid NOT NULL, -- the key, connection or session; for a token of another issuer the account
    state text NOT NULL DEFAULT 'running',
    code text, -- why it failed
    parts text[] NOT NULL DEFAULT '{}',
    left_out jsonb NOT NULL, -- the reason by the name of each part
    part text NOT NULL DEFAULT '', -- the last one of which a page is written, or that is left out
    position text, -- the cursor of its next page; null: none follows
    step integer NOT NULL DEFAULT 0, -- counts what the job did
    size bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL, -- of one that people confirm, when it starts
    is_complete boolean NOT NULL DEFAULT false, -- a person has it, in the session that is its credential
    confirmed_by uuid[] NOT NULL DEFAULT '{}', -- accounts of people
    collected smallint NOT NULL DEFAULT 0, -- how often its content was collected, if it is complete
    PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX exports_files_running ON exports_files (account_id) WHERE state = 'running' AND NOT is_complete;
CREATE UNIQUE INDEX exports_files_complete ON exports_files (account_id)
    WHERE state IN ('asked', 'running') AND is_complete;
CREATE INDEX exports_files_by_age ON exports_files (created_at);
CREATE TABLE exports_pages (
    account_id uuid NOT NULL,
    export_id uuid NOT NULL,
    first_byte bigint NOT NULL, -- its position in the content
    content bytea NOT NULL, -- sealed
    PRIMARY KEY (account_id, export_id, first_byte),
    FOREIGN KEY (account_id, export_id) REFERENCES exports_files (account_id, id) ON DELETE CASCADE
);
