-- The domains of a portfolio. An amount keeps the decimals of its currency, so numeric has no scale.

CREATE TABLE portfolio_domains (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    domain text COLLATE "C" NOT NULL, -- lower-case A-label
    unicode text NOT NULL, -- as people read it
    tld text NOT NULL, -- public suffix
    status text NOT NULL CHECK (status IN ('owned', 'leased', 'consigned', 'listed', 'sold', 'dropped', 'expired',
                                           'transferred_out')),
    ownership text NOT NULL CHECK (ownership IN ('owned', 'leased', 'consigned')),
    counterparty text,
    revenue_share numeric CHECK (revenue_share BETWEEN 0 AND 100), -- percent of the counterparty
    registrar text,
    connection_id uuid, -- the registrar connection that keeps the row up to date
    registered_on date,
    acquired_on date,
    expires_at timestamptz,
    expiry_source text CHECK (expiry_source IN ('registrar', 'rdap', 'manual')),
    auto_renew boolean, -- null: unknown, as in the next ones
    locked boolean,
    privacy boolean,
    nameservers text[] NOT NULL,
    epp_statuses text[] NOT NULL,
    renewal_price numeric,
    renewal_currency text,
    asking_price numeric,
    asking_currency text,
    min_offer numeric,
    min_offer_currency text,
    estimated_value numeric,
    estimated_currency text,
    tags text[] NOT NULL,
    folder text,
    notes text,
    pinned boolean NOT NULL,
    lifecycle text, -- as last published
    lifecycle_due_at timestamptz, -- when it changes next
    rdap_due_at timestamptz, -- when the registry is asked next; null: never
    rdap_checked_at timestamptz,
    rdap_failures smallint NOT NULL DEFAULT 0, -- since the last answer
    rdap_facts jsonb, -- what the registry said last: a field that still has its value may be overwritten
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, domain),
    CHECK ((expires_at IS NULL) = (expiry_source IS NULL)),
    CHECK ((renewal_price IS NULL) = (renewal_currency IS NULL)),
    CHECK ((asking_price IS NULL) = (asking_currency IS NULL)),
    CHECK ((min_offer IS NULL) = (min_offer_currency IS NULL)),
    CHECK ((estimated_value IS NULL) = (estimated_currency IS NULL))
);
-- One for each order of the list; an unknown expiry counts as never.
CREATE INDEX portfolio_domains_expiry ON portfolio_domains (account_id, coalesce(expires_at, 'infinity'), id);
CREATE INDEX portfolio_domains_updated ON portfolio_domains (account_id, updated_at, id);
-- One for each filter of the list.
CREATE INDEX portfolio_domains_status ON portfolio_domains (account_id, status, id);
CREATE INDEX portfolio_domains_registrar ON portfolio_domains (account_id, lower(registrar), id);
-- What falls due, of all accounts alike.
CREATE INDEX portfolio_domains_lifecycle ON portfolio_domains (lifecycle_due_at) WHERE lifecycle_due_at IS NOT NULL;
CREATE INDEX portfolio_domains_rdap ON portfolio_domains (rdap_due_at)
    WHERE connection_id IS NULL AND status IN ('owned', 'leased', 'consigned', 'listed', 'expired');

-- The tags of `tags`, one in each row: for the filter and for the list of tags.
CREATE TABLE portfolio_domains_tags (
    account_id uuid NOT NULL,
    tag text NOT NULL,
    domain_id uuid NOT NULL,
    PRIMARY KEY (account_id, tag, domain_id),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE CASCADE
);
CREATE INDEX portfolio_domains_tags_domain ON portfolio_domains_tags (account_id, domain_id);

-- Reference tables: the registries' RDAP servers by top-level domain (IANA), and which of them are left alone for now.
CREATE TABLE portfolio_domains_rdap_services (
    tld text PRIMARY KEY,
    url text NOT NULL,
    fetched_at timestamptz NOT NULL
);
CREATE TABLE portfolio_domains_rdap_servers (
    url text PRIMARY KEY,
    blocked_until timestamptz NOT NULL,
    refusals smallint NOT NULL -- one after the other
);
