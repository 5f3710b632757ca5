-- works with: 1.0.0
-- run: before

-- Erasures of accounts that wait, and the former addresses that get emails about them.
CREATE TABLE erasure_requests (
    account_id uuid PRIMARY KEY,
    id uuid NOT NULL, -- that the links of emails name
    confirmed_by uuid[] NOT NULL, -- accounts of people
    requested_at timestamptz NOT NULL,
    due_at timestamptz, -- null: as many deciders as the policy needs have not confirmed it
    emails bigint NOT NULL DEFAULT 0, -- how many of its emails are sent
    next_at timestamptz -- of the next email, then of the erasure; null like due_at
);
CREATE INDEX erasure_requests_due ON erasure_requests (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX erasure_requests_by_age ON erasure_requests (requested_at) WHERE due_at IS NULL;

CREATE TABLE erasure_addresses (
    account_id uuid NOT NULL,
    email text NOT NULL,
    changed_at timestamptz NOT NULL, -- when the account got another one
    PRIMARY KEY (account_id, email)
);
CREATE INDEX erasure_addresses_by_age ON erasure_addresses (changed_at);
