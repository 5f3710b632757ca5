-- Parking revenue by day. Its amounts are entries of the ledger, too.

-- No partitions: a row changes when its provider corrects it, and it goes with its domain.
CREATE TABLE portfolio_parking_revenue (
    account_id uuid NOT NULL, -- the portfolio
    domain_id uuid NOT NULL,
    day date NOT NULL,
    provider text COLLATE "C" NOT NULL,
    reference text COLLATE "C" NOT NULL, -- of the provider; empty: none
    visits bigint CHECK (visits >= 0), -- null: unknown
    clicks bigint CHECK (clicks >= 0), -- null: unknown
    amount numeric NOT NULL CHECK (amount >= 0), -- with the decimals of the currency
    currency text NOT NULL,
    entry_id uuid, -- of the ledger; null for an amount of zero
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, domain_id, day, provider, reference),
    CHECK ((entry_id IS NULL) = (amount = 0)),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE CASCADE
);
CREATE INDEX portfolio_parking_revenue_day ON portfolio_parking_revenue (account_id, day);
