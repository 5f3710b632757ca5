-- Names, who holds them, and where they forward to.

-- Where a name is unique: decided by this key and by nothing else. Global, since two accounts may want one name.
-- `realm` is nil for live names, else the sandbox twin, so that a sandbox neither takes nor reveals a live name.
CREATE TABLE aliases_names (
    realm uuid NOT NULL,
    domain text NOT NULL, -- A-label
    key text NOT NULL, -- the local part in the form in which the domain tells names apart
    skeleton text NOT NULL, -- the key as it looks
    account_id uuid NOT NULL,
    alias_id uuid NOT NULL,
    state text NOT NULL CHECK (state IN ('held', 'claimed', 'quarantined')),
    until timestamptz, -- end of a hold or a quarantine
    PRIMARY KEY (realm, domain, key),
    CHECK ((state = 'claimed') = (until IS NULL))
);
CREATE INDEX aliases_names_by_skeleton ON aliases_names (realm, domain, skeleton) WHERE until IS NOT NULL;
CREATE INDEX aliases_names_by_end ON aliases_names (until) WHERE until IS NOT NULL;

-- One look belongs to one account at a time; the row is the lock that decides between two who want it at once.
CREATE TABLE aliases_skeletons (
    realm uuid NOT NULL,
    domain text NOT NULL,
    skeleton text NOT NULL,
    account_id uuid NOT NULL,
    names int NOT NULL CHECK (names >= 0), -- of this look, whatever their state
    PRIMARY KEY (realm, domain, skeleton)
);

CREATE SEQUENCE aliases_serial;
CREATE TABLE aliases (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    domain text NOT NULL,
    local_part text NOT NULL, -- as it was asked for, normalized
    key text NOT NULL,
    manifest text, -- name of the manifest that manages it, and its key there
    manifest_key text,
    status text NOT NULL CHECK (status IN ('active', 'disabled', 'suspended', 'deleted')),
    note text,
    labels jsonb NOT NULL DEFAULT '{}',
    price_amount numeric(12, 3) NOT NULL, -- as it was when claimed
    price_currency char(3) NOT NULL,
    price_interval text NOT NULL CHECK (price_interval IN ('month', 'year', 'once')),
    claimed_at timestamptz NOT NULL,
    renews_at timestamptz,
    deleted_at timestamptz,
    updated_at timestamptz NOT NULL,
    version int NOT NULL DEFAULT 1,
    -- A mail server follows changes by serial, up to the oldest transaction still open (changed_in), so that a
    -- late commit with an early serial is not missed. Deleted rows stay: a deletion is a change too.
    serial bigint NOT NULL DEFAULT nextval('aliases_serial'),
    changed_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (account_id, id),
    -- Judged at the end of a statement, so that one update can swap two keys. Released names have none.
    CONSTRAINT aliases_by_manifest UNIQUE (account_id, manifest, manifest_key) DEFERRABLE INITIALLY IMMEDIATE,
    CHECK ((manifest IS NULL) = (manifest_key IS NULL)),
    CHECK ((status = 'deleted') = (deleted_at IS NOT NULL))
);
CREATE UNIQUE INDEX aliases_by_name ON aliases (account_id, domain, key) WHERE status <> 'deleted';
CREATE INDEX aliases_by_change ON aliases (changed_in, serial);

-- An address that mail is sent to; verified once for the account, however many names forward there.
CREATE TABLE aliases_destinations (
    account_id uuid NOT NULL,
    email text NOT NULL,
    verified_at timestamptz,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, email)
);
CREATE TABLE aliases_forwards (
    account_id uuid NOT NULL,
    alias_id uuid NOT NULL,
    position smallint NOT NULL,
    email text NOT NULL,
    PRIMARY KEY (account_id, alias_id, position),
    UNIQUE (account_id, alias_id, email),
    FOREIGN KEY (account_id, alias_id) REFERENCES aliases (account_id, id),
    FOREIGN KEY (account_id, email) REFERENCES aliases_destinations (account_id, email)
);
