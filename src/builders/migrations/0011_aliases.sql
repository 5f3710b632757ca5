-- works with: 1.0.0
-- run: before

-- Names, the aliases that hold them, and the destinations to which they forward.

-- The uniqueness of a name: this key alone decides. Global, because two accounts may want one name. `realm` is nil for
-- live names, else the sandbox account, so that a sandbox neither takes nor reveals a live name.
CREATE TABLE aliases_names (
    realm uuid NOT NULL,
    domain text NOT NULL, -- A-label
    key text NOT NULL, -- the local part in the form in which the domain compares names
    skeleton text NOT NULL, -- the key with look-alike characters made equal
    account_id uuid NOT NULL,
    alias_id uuid NOT NULL,
    state text NOT NULL CHECK (state IN ('held', 'claimed', 'quarantined')),
    until timestamptz, -- end of a hold or a quarantine
    PRIMARY KEY (realm, domain, key),
    CHECK ((state = 'claimed') = (until IS NULL))
);
CREATE INDEX aliases_names_by_skeleton ON aliases_names (realm, domain, skeleton) WHERE until IS NOT NULL;
CREATE INDEX aliases_names_by_end ON aliases_names (until) WHERE until IS NOT NULL;

-- Names that look alike belong to one account at a time; the row is the lock that decides between two accounts.
CREATE TABLE aliases_skeletons (
    realm uuid NOT NULL,
    domain text NOT NULL,
    skeleton text NOT NULL,
    account_id uuid NOT NULL,
    names int NOT NULL CHECK (names >= 0), -- with this skeleton, in any state
    PRIMARY KEY (realm, domain, skeleton)
);

-- Names of erased accounts, which nobody claims until then: hashes of domain and skeleton, keyed by the salt.
CREATE TABLE aliases_quarantines (
    domain text NOT NULL, -- A-label
    hash bytea NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (domain, hash)
);
CREATE INDEX aliases_quarantines_by_age ON aliases_quarantines (until);
CREATE TABLE aliases_salts (
    salt bytea PRIMARY KEY -- one row
);
INSERT INTO aliases_salts SELECT decode(md5(gen_random_uuid()::text) || md5(gen_random_uuid()::text), 'hex');

CREATE SEQUENCE aliases_serial;
CREATE TABLE aliases (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    domain text NOT NULL,
    local_part text NOT NULL, -- as it was requested, normalized
    key text NOT NULL,
    project_id uuid, -- null: none
    manifest text, -- name of the manifest that manages it
    manifest_key text,
    status text NOT NULL CHECK (status IN ('active', 'disabled', 'suspended', 'deleted')),
    -- The status after a suspension for an invoice; null for one by the operator.
    resumes_as text CHECK (resumes_as IN ('active', 'disabled')),
    note text,
    labels jsonb NOT NULL DEFAULT '{}',
    block text[] NOT NULL DEFAULT '{}', -- senders whose mail is refused: addresses, and domains with their subdomains
    pause_until timestamptz, -- mail is not accepted before; null or past: it is
    paused_at timestamptz, -- since when; null: it is not, or its end is listed as a change
    reply boolean NOT NULL DEFAULT false, -- whether destinations may answer mail with the name as the sender
    receives boolean NOT NULL DEFAULT false, -- whether its mail is an event (`forwarding_receptions`)
    price_amount numeric(12, 3) NOT NULL, -- as it was when claimed
    price_currency char(3) NOT NULL,
    price_interval text NOT NULL CHECK (price_interval IN ('month', 'year', 'once')),
    claimed_at timestamptz NOT NULL,
    renews_at timestamptz,
    deleted_at timestamptz,
    updated_at timestamptz NOT NULL,
    version int NOT NULL DEFAULT 1,
    -- A mail server follows changes by serial, up to the oldest open transaction (changed_in), so that it does not
    -- miss a late commit with an early serial. Deleted rows stay: a deletion is a change, too.
    serial bigint NOT NULL DEFAULT nextval('aliases_serial'),
    changed_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (account_id, id),
    -- Checked at the end of a statement, so that one update can swap two keys. Released names have none.
    CONSTRAINT aliases_by_manifest UNIQUE (account_id, manifest, manifest_key) DEFERRABLE INITIALLY IMMEDIATE,
    CHECK ((manifest IS NULL) = (manifest_key IS NULL)),
    CHECK ((status = 'deleted') = (deleted_at IS NOT NULL)),
    CHECK (paused_at IS NULL OR pause_until IS NOT NULL)
);
CREATE INDEX aliases_paused ON aliases (pause_until) WHERE paused_at IS NOT NULL;
CREATE UNIQUE INDEX aliases_by_name ON aliases (account_id, domain, key) WHERE status <> 'deleted';
CREATE INDEX aliases_by_change ON aliases (changed_in, serial);
-- The pages of a list, and one for each filter.
CREATE INDEX aliases_listed ON aliases (account_id, id) WHERE status <> 'deleted';
CREATE INDEX aliases_by_status ON aliases (account_id, status, id);
CREATE INDEX aliases_by_domain ON aliases (account_id, domain, id) WHERE status <> 'deleted';
CREATE INDEX aliases_by_project ON aliases (account_id, project_id, id) WHERE status <> 'deleted';
CREATE INDEX aliases_by_spelling ON aliases (account_id, local_part text_pattern_ops) WHERE status <> 'deleted';
-- The next renewals of all accounts, and of one.
CREATE INDEX aliases_by_renewal ON aliases (price_interval, renews_at)
    WHERE renews_at IS NOT NULL AND status IN ('active', 'disabled');
CREATE INDEX aliases_by_renewal_of ON aliases (account_id, renews_at)
    WHERE renews_at IS NOT NULL AND status IN ('active', 'disabled');
-- The released names that were paid for: a name that is claimed again within its paid period is free.
CREATE INDEX aliases_released ON aliases (account_id, domain, key) WHERE status = 'deleted' AND price_amount > 0;
-- Those to delete, without those that are paid for good.
CREATE INDEX aliases_by_release ON aliases (deleted_at)
    WHERE status = 'deleted' AND (price_amount = 0 OR renews_at IS NOT NULL);

-- The unpaid invoices for which an alias is suspended. It is restored when the last of its rows is deleted.
CREATE TABLE aliases_arrears (
    account_id uuid NOT NULL,
    alias_id uuid NOT NULL,
    invoice_id uuid NOT NULL,
    PRIMARY KEY (account_id, alias_id, invoice_id),
    FOREIGN KEY (account_id, alias_id) REFERENCES aliases (account_id, id)
);
CREATE INDEX aliases_arrears_by_invoice ON aliases_arrears (account_id, invoice_id);

-- The claim of a name that was cancelled within the cooling-off period: one for each account and name.
CREATE TABLE aliases_undone (
    account_id uuid NOT NULL,
    domain text NOT NULL, -- A-label
    key text NOT NULL,
    alias_id uuid NOT NULL,
    PRIMARY KEY (account_id, domain, key),
    FOREIGN KEY (account_id, alias_id) REFERENCES aliases (account_id, id)
);
CREATE INDEX aliases_undone_by_alias ON aliases_undone (account_id, alias_id);

-- Names that a machine bought under a mandate: their renewals count on the sum of its client.
CREATE TABLE aliases_buyers (
    account_id uuid NOT NULL,
    alias_id uuid NOT NULL, -- which the promotion is about to create
    client text NOT NULL, -- as of identity_keys
    PRIMARY KEY (account_id, alias_id)
);

-- Addresses to which mail is forwarded; an account verifies each once, for all names that forward there.
CREATE TABLE aliases_destinations (
    account_id uuid NOT NULL,
    email text NOT NULL,
    verified_at timestamptz,
    wanted_at timestamptz, -- when the account requested a confirmation whose turn has not come; null: none waits
    ask_at timestamptz, -- when the confirmation is due; null: none is
    asks timestamptz[] NOT NULL DEFAULT '{}', -- confirmations of a day, the newest last
    message_id uuid, -- of the newest message
    paused_at timestamptz, -- mail to it is not accepted until its recipient confirms again; null: it is
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, email)
);
CREATE INDEX aliases_destinations_due ON aliases_destinations (ask_at) WHERE ask_at IS NOT NULL;
CREATE INDEX aliases_destinations_wanted ON aliases_destinations (wanted_at, email) WHERE wanted_at IS NOT NULL;
CREATE INDEX aliases_destinations_in_line ON aliases_destinations (account_id, wanted_at, email)
    WHERE wanted_at IS NOT NULL;
CREATE INDEX aliases_destinations_by_reader ON aliases_destinations (account_id, lower(email));
CREATE INDEX aliases_destinations_by_message ON aliases_destinations (account_id, message_id)
    WHERE message_id IS NOT NULL;

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
CREATE INDEX aliases_forwards_by_email ON aliases_forwards (account_id, email);

-- Where an account forwards the mail to the other names of a domain.
CREATE TABLE aliases_catch_alls (
    account_id uuid NOT NULL,
    domain text NOT NULL, -- A-label
    email text NOT NULL,
    PRIMARY KEY (account_id, domain),
    FOREIGN KEY (account_id, email) REFERENCES aliases_destinations (account_id, email)
);
CREATE INDEX aliases_catch_alls_by_email ON aliases_catch_alls (account_id, email);

-- From a mailed link to the destination: global, because a link arrives without its account. One for each destination
-- of an account, so that a newer link invalidates the earlier ones.
CREATE TABLE aliases_links (
    account_id uuid NOT NULL,
    email text NOT NULL,
    digest bytea NOT NULL UNIQUE,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (account_id, email),
    FOREIGN KEY (account_id, email) REFERENCES aliases_destinations (account_id, email)
);
CREATE INDEX aliases_links_by_age ON aliases_links (expires_at);

-- Confirmations to an address from all accounts, so that its reader does not get too many.
CREATE TABLE aliases_readers (
    email text PRIMARY KEY,
    asks timestamptz[] NOT NULL DEFAULT '{}', -- of a day, the newest last
    bounced_at timestamptz -- mail came back: no more is sent
);
CREATE INDEX aliases_readers_by_age ON aliases_readers ((asks[cardinality(asks)])) WHERE bounced_at IS NULL;

-- How many readers an account asked for a confirmation: a stolen key must not mail thousands of strangers in a day.
CREATE TABLE aliases_askers (
    account_id uuid PRIMARY KEY,
    since timestamptz NOT NULL, -- the beginning of its day
    asked integer NOT NULL CHECK (asked >= 0), -- readers whose turn came in that day
    granted integer NOT NULL CHECK (granted >= 0) -- of those that waited at the last check
);

-- What a mail server may know: the role of the look-up server reads this table, and nothing else. Rows of live names and
-- domains, written in the transaction that changes an answer, and placed by the domain that is looked up.
CREATE TABLE aliases_lookups (
    domain text NOT NULL, -- A-label
    name text NOT NULL, -- key of a name, local part of a reverse address, or empty: the domain itself
    account_id uuid, -- of the name, or that holds the domain; null: a domain of the catalog that no account holds
    -- Of a domain.
    is_shared boolean, -- it is in the catalog; null: not a domain
    separator_policy text, -- which separators its names ignore
    leads_to text, -- domain of the destination of its catch-all; null: it has none
    -- Of a name.
    alias_id uuid, -- also of a reverse address
    is_claimed boolean, -- else it is in quarantine; null: not a name
    replies boolean, -- it receives mail, and its owner answers from it
    receives boolean, -- it receives mail, which is also an event
    paused_at timestamptz, -- since when its account does not accept its mail, until `pause_until`
    pause_until timestamptz,
    block text[], -- the senders whose mail it refuses
    -- Of a reverse address.
    reverse_of text, -- key of its name
    -- Of a name that receives mail, or of the catch-all of a domain.
    destinations text[], -- which confirmed
    unconfirmed_since timestamptz, -- since when it has the newest destination that did not confirm
    paused_since timestamptz, -- since when the newest destination has to confirm again
    PRIMARY KEY (domain, name)
);
CREATE INDEX aliases_lookups_domains ON aliases_lookups (domain) WHERE name = '';
