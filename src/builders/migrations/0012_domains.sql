-- works with: 1.0.0
-- run: before

-- Account domains, on which an account has its own names.

CREATE TABLE domains_domains (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    realm uuid NOT NULL, -- nil for live accounts, else the sandbox account: a domain has one holder in a realm
    domain text NOT NULL, -- A-label
    source text NOT NULL CHECK (source IN ('owned', 'leased', 'consigned', 'catalog')),
    status text NOT NULL CHECK (status IN ('pending', 'live', 'suspended', 'released')),
    proof text NOT NULL CHECK (proof IN ('dns', 'operator', 'sandbox')), -- how the account proved it
    token text NOT NULL, -- of the TXT record; no secret, because everybody can read it there
    catch_all boolean NOT NULL DEFAULT false,
    default_destination text,
    manifest text, -- name of the manifest that manages it, and its key there
    manifest_key text,
    health jsonb NOT NULL DEFAULT '{}', -- by record, of the last check
    asked_at timestamptz, -- the last conclusive response of DNS about the proof
    lost_at timestamptz, -- since when the proof is missing
    checks int NOT NULL DEFAULT 0, -- of a pending domain, for the backoff
    next_check_at timestamptz,
    added_at timestamptz NOT NULL,
    verified_at timestamptz,
    suspended_at timestamptz,
    released_at timestamptz,
    updated_at timestamptz NOT NULL,
    version int NOT NULL DEFAULT 1, -- of what its owner may change, and of its status
    PRIMARY KEY (account_id, id),
    -- Checked at the end of a statement, so that one update can swap two keys. Released domains have none.
    CONSTRAINT domains_domains_by_manifest UNIQUE (account_id, manifest, manifest_key) DEFERRABLE INITIALLY IMMEDIATE,
    CHECK ((manifest IS NULL) = (manifest_key IS NULL)),
    CHECK ((status = 'suspended') = (suspended_at IS NOT NULL)),
    CHECK ((status = 'released') = (released_at IS NOT NULL)),
    CHECK (status <> 'released' OR (next_check_at IS NULL AND manifest IS NULL))
);
-- Serves the list, too.
CREATE UNIQUE INDEX domains_domains_by_name ON domains_domains (account_id, domain) WHERE status <> 'released';
CREATE INDEX domains_domains_by_check ON domains_domains (next_check_at) WHERE next_check_at IS NOT NULL;

-- The holder of a domain: this key alone decides. Global, because two accounts may want one domain; accounts that have
-- it pending are in domains_domains alone.
CREATE TABLE domains_holders (
    realm uuid NOT NULL,
    domain text NOT NULL,
    account_id uuid NOT NULL,
    domain_id uuid NOT NULL,
    PRIMARY KEY (realm, domain)
);

-- The keys that sign mail of a domain (DKIM). Global: a domain has its keys whoever holds it. The newest published one
-- signs; an earlier one stays in DNS for messages that are still on their way.
CREATE TABLE domains_dkim_keys (
    domain text NOT NULL, -- A-label
    selector text NOT NULL,
    private_key bytea NOT NULL, -- sealed
    public_key text NOT NULL, -- base64, as in the DNS record
    created_at timestamptz NOT NULL,
    published_at timestamptz, -- since when DNS has the record; null: it does not sign
    checked_at timestamptz, -- the last conclusive response of DNS
    next_check_at timestamptz NOT NULL,
    PRIMARY KEY (domain, selector)
);
CREATE INDEX domains_dkim_keys_by_check ON domains_dkim_keys (next_check_at);
