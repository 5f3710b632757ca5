-- Transfers of domains to and from other registrars. No auth code is stored, only that one was requested.

CREATE TABLE portfolio_transfers (
    account_id uuid NOT NULL, -- the portfolio
    domain_id uuid NOT NULL,
    state text NOT NULL, -- as last shown or published
    direction text CHECK (direction IN ('in', 'out')), -- of the latest known transfer, down to `is_expected`
    transfer_state text,
    transfer_status text, -- in the registrar's or the registry's own word
    transfer_provider text, -- the registrar that said so; null: the registry did
    transfer_message text,
    started_at timestamptz,
    ended_at timestamptz, -- null: pending, or at an unknown time
    is_expected boolean, -- whether the holder prepared it; null: unknown
    checked_at timestamptz, -- when a registrar was asked last; null: never
    failure text, -- why it did not answer then
    held_status text, -- of its last answer, as the next two
    locked boolean,
    created_at timestamptz, -- the registration
    code_requests timestamptz[] NOT NULL DEFAULT '{}', -- the latest ones, for their limit
    code_delivery text CHECK (code_delivery IN ('returned', 'emailed', 'dashboard', 'unsupported', 'pending')),
    code_expires_at timestamptz,
    next_check_at timestamptz, -- null: not followed
    PRIMARY KEY (account_id, domain_id),
    CHECK (transfer_state IN ('pending', 'action_required', 'completed', 'failed', 'cancelled')),
    CHECK ((direction IS NULL) = (transfer_state IS NULL)),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE CASCADE
);
-- For the job that looks at the transfers of all accounts.
CREATE INDEX portfolio_transfers_due ON portfolio_transfers (next_check_at) WHERE next_check_at IS NOT NULL;
