-- The funnel: what visitors of the vendor's pages do with the catalog. Reference data of the vendor, no tenant's.

CREATE TABLE catalog_events (
    id uuid NOT NULL,
    created_at timestamptz NOT NULL, -- when we heard of it
    occurred_at timestamptz NOT NULL, -- as the page says, within a day before that
    kind text NOT NULL CHECK (kind IN ('view', 'check', 'claim')),
    domain text, -- A-label; null for a view of the whole catalog
    local_part text,
    category text,
    result text,
    session_id text, -- made up by the page, of no user
    referrer text, -- the host
    utm jsonb NOT NULL,
    metadata jsonb NOT NULL,
    is_machine boolean NOT NULL,
    agent text NOT NULL, -- the sort of program
    network cidr, -- the address, cut to /24 or /48
    PRIMARY KEY (id, created_at)
) PARTITION BY RANGE (created_at);
CREATE TABLE catalog_events_default PARTITION OF catalog_events DEFAULT;
CREATE INDEX catalog_events_by_age ON catalog_events USING brin (created_at) WITH (pages_per_range = 16);

-- What makes a repeat one: a hash, kept for as long as a page may repeat itself. No unique key spans partitions.
CREATE TABLE catalog_event_keys (
    key bytea PRIMARY KEY,
    event_id uuid NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX catalog_event_keys_by_age ON catalog_event_keys USING brin (created_at) WITH (pages_per_range = 16);

CREATE TABLE catalog_daily (
    day date NOT NULL, -- UTC
    domain text NOT NULL, -- empty for the whole catalog
    kind text NOT NULL,
    result text NOT NULL, -- empty where none was told
    people bigint NOT NULL, -- events
    machines bigint NOT NULL,
    sessions bigint NOT NULL, -- different ones, of people
    PRIMARY KEY (day, domain, kind, result)
);

ALTER TABLE catalog_domains
    ADD COLUMN popularity text NOT NULL DEFAULT 'low' CHECK (popularity IN ('low', 'medium', 'high'));
