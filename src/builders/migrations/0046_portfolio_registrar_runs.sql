-- Runs over the registrar connections of a portfolio, and the domains that registrars hold.

CREATE TABLE portfolio_registrars_runs (
    account_id uuid NOT NULL, -- the portfolio
    id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('sync', 'billing')),
    options jsonb NOT NULL,
    state text NOT NULL CHECK (state IN ('queued', 'running', 'completed', 'failed')),
    created_at timestamptz NOT NULL,
    finished_at timestamptz,
    PRIMARY KEY (account_id, id)
);
-- For the daily deletion of all accounts' old runs.
CREATE INDEX portfolio_registrars_runs_created ON portfolio_registrars_runs (created_at);

-- The part of a run that is one connection's.
CREATE TABLE portfolio_registrars_parts (
    account_id uuid NOT NULL,
    run_id uuid NOT NULL,
    connection_id uuid NOT NULL,
    provider text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    state text NOT NULL CHECK (state IN ('queued', 'running', 'completed', 'failed', 'skipped', 'unsupported')),
    claim uuid, -- of the worker that runs it; another one has a new claim
    counts jsonb NOT NULL DEFAULT '{}',
    changes jsonb NOT NULL DEFAULT '[]', -- the first ones
    error jsonb,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    advanced_at timestamptz NOT NULL, -- the last sign of progress
    finished_at timestamptz,
    PRIMARY KEY (account_id, run_id, connection_id),
    FOREIGN KEY (account_id, run_id) REFERENCES portfolio_registrars_runs (account_id, id) ON DELETE CASCADE
);
-- One run at a time per connection.
CREATE UNIQUE INDEX portfolio_registrars_parts_open ON portfolio_registrars_parts (account_id, connection_id, kind)
    WHERE state IN ('queued', 'running');
CREATE INDEX portfolio_registrars_parts_latest ON portfolio_registrars_parts (account_id, connection_id, kind, created_at);

-- The domains that a registrar holds. Null: the registrar does not say.
CREATE TABLE portfolio_registrars_holdings (
    account_id uuid NOT NULL,
    connection_id uuid NOT NULL,
    domain text COLLATE "C" NOT NULL, -- lower-case A-label
    provider text COLLATE "C" NOT NULL, -- of the connection
    expires_at timestamptz,
    registered_at timestamptz,
    auto_renew boolean,
    locked boolean,
    privacy boolean,
    status text NOT NULL,
    status_raw text,
    nameservers text[],
    renewal_price numeric,
    renewal_currency text,
    source text NOT NULL CHECK (source IN ('api', 'import')),
    listing_id uuid NOT NULL, -- the last listing that had the domain
    first_seen_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    missing_since timestamptz, -- the first complete listing without the domain
    PRIMARY KEY (account_id, connection_id, domain),
    CHECK ((renewal_price IS NULL) = (renewal_currency IS NULL))
);
CREATE INDEX portfolio_registrars_holdings_domain ON portfolio_registrars_holdings (account_id, domain, connection_id);
CREATE INDEX portfolio_registrars_holdings_provider
    ON portfolio_registrars_holdings (account_id, provider, domain, connection_id);

-- The latest listing of each connection.
CREATE TABLE portfolio_registrars_snapshots (
    account_id uuid NOT NULL,
    connection_id uuid NOT NULL,
    provider text COLLATE "C" NOT NULL,
    source text NOT NULL CHECK (source IN ('api', 'import')),
    taken_at timestamptz NOT NULL,
    is_complete boolean NOT NULL,
    domains int NOT NULL,
    last_complete_at timestamptz,
    PRIMARY KEY (account_id, connection_id)
);
