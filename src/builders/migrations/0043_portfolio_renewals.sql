-- Decisions about renewals, and the secret links of renewal calendars.

CREATE TABLE portfolio_renewals_decisions (
    account_id uuid NOT NULL, -- the portfolio
    domain_id uuid NOT NULL,
    decision text NOT NULL CHECK (decision IN ('renew', 'drop', 'undecided')),
    years smallint CHECK (years BETWEEN 1 AND 10), -- to renew for; null: not decided
    note text,
    snooze_until date, -- no reminders before; null: as usual
    expires_at timestamptz, -- of the domain when it was decided: a renewal makes the decision obsolete
    decided_at timestamptz NOT NULL,
    decided_by uuid NOT NULL, -- the member
    PRIMARY KEY (account_id, domain_id),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE CASCADE
);

-- One calendar for each member of a portfolio.
CREATE TABLE portfolio_renewals_calendars (
    account_id uuid NOT NULL, -- the portfolio
    member_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, member_id)
);

-- A calendar is requested without its account. Tokens are kept as hashes.
CREATE TABLE portfolio_renewals_tokens (
    token_hash bytea PRIMARY KEY,
    account_id uuid NOT NULL,
    member_id uuid NOT NULL,
    FOREIGN KEY (account_id, member_id) REFERENCES portfolio_renewals_calendars (account_id, member_id) ON DELETE CASCADE
);
CREATE INDEX portfolio_renewals_tokens_calendar ON portfolio_renewals_tokens (account_id, member_id);

-- The last renewal of each of many domains, for its price.
CREATE INDEX portfolio_ledger_entries_renewal ON portfolio_ledger_entries (account_id, domain_id, occurred_on)
    INCLUDE (amount, currency, years) WHERE kind = 'renewal' AND voided_at IS NULL;
