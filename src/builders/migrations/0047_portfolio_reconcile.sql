-- The differences between a portfolio and its registrars are computed from both; this is what is kept of them.

-- The urgent findings that are known, so that only new ones are published.
CREATE TABLE portfolio_registrars_drifts (
    account_id uuid NOT NULL PRIMARY KEY, -- the portfolio
    finding_ids uuid[] NOT NULL,
    changed_at timestamptz -- null: never
);

-- Domains whose auth code was requested, so that their transfer is expected.
CREATE TABLE portfolio_registrars_departures (
    account_id uuid NOT NULL,
    domain text COLLATE "C" NOT NULL,
    expected_until timestamptz NOT NULL,
    PRIMARY KEY (account_id, domain)
);
