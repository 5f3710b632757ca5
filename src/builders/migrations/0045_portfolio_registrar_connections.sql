-- Connections of portfolios to registrars.

CREATE TABLE portfolio_registrars_connections (
    account_id uuid NOT NULL, -- the portfolio
    id uuid NOT NULL,
    provider text COLLATE "C" NOT NULL, -- `porkbun`; `manual:NAME` for a registrar without an adapter
    name text COLLATE "C" NOT NULL, -- distinguishes accounts at one registrar
    label text,
    environment text NOT NULL CHECK (environment IN ('live', 'sandbox')),
    base_url text, -- of a stand-in for the registrar; null: the registrar's own
    credentials bytea, -- sealed; null: none, or erased
    hints jsonb NOT NULL, -- the last characters of each credential, and when it was set
    is_enabled boolean NOT NULL,
    sync_interval_hours smallint NOT NULL CHECK (sync_interval_hours > 0),
    status text NOT NULL CHECK (status IN ('ok', 'auth_failed', 'restricted', 'rate_limited')), -- of the last request
    status_detail text,
    last_sync_at timestamptz,
    last_billing_sync_at timestamptz,
    next_allowed_at timestamptz, -- the registrar asked for no request before
    paced_until timestamptz NOT NULL, -- the rate limit is used up to this time (GCRA)
    disconnected_at timestamptz, -- null while connected; what the registrar held is kept
    version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, provider, name),
    CHECK (disconnected_at IS NULL OR credentials IS NULL)
) WITH (fillfactor = 50); -- each request to a registrar updates paced_until

-- The domains of one connection: to count them, and to forget it.
CREATE INDEX portfolio_domains_connection ON portfolio_domains (account_id, connection_id) WHERE connection_id IS NOT NULL;
