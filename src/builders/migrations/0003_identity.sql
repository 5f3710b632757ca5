-- works with: 1.0.0
-- run: before

-- Accounts with their sandbox accounts, API keys, sessions, sign-ins, support grants and the audit log.

CREATE TABLE identity_accounts (
    id uuid PRIMARY KEY,
    sandbox_of uuid REFERENCES identity_accounts (id), -- null for a real account
    email text NOT NULL CHECK (email = lower(email)),
    name text NOT NULL,
    email_verified_at timestamptz,
    email_changed_at timestamptz, -- null: it is the first address
    erased_at timestamptz, -- when its erasure began; at its end its address and name are the text "erased person"
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX identity_accounts_by_email ON identity_accounts (email)
    WHERE sandbox_of IS NULL AND erased_at IS NULL;
CREATE INDEX identity_accounts_erasing ON identity_accounts (id)
    WHERE erased_at IS NOT NULL AND email <> 'erased person';
CREATE UNIQUE INDEX identity_accounts_one_sandbox ON identity_accounts (sandbox_of) WHERE sandbox_of IS NOT NULL;

-- Deletes rows of an account whose erasure has begun, up to a number (null: all), and returns how many. With the rights of
-- the owner, because no role may delete what is booked or audited; invoices of a real account stay.
CREATE FUNCTION identity_erase(place text, owner text, erased uuid, most int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    key text := (
        SELECT string_agg(format('%I', attname), ', ' ORDER BY part.place)
        FROM pg_index, unnest(indkey) WITH ORDINALITY AS part (number, place), pg_attribute
        WHERE indrelid = to_regclass(identity_erase.place) AND indisprimary
          AND attrelid = indrelid AND attnum = part.number
    );
    gone int;
BEGIN
    IF NOT EXISTS (
        SELECT FROM identity_accounts AS account
        WHERE account.id = erased AND erased_at IS NOT NULL AND (sandbox_of IS NOT NULL OR identity_erase.place NOT IN (
            'invoices_credit', 'invoices_invoices', 'invoices_line_credits', 'invoices_lines', 'invoices_numbers',
            'invoices_payments'
        ))
    ) OR owner NOT IN ('account_id', 'member_id', 'decider_id', 'portfolio_id') OR key IS NULL THEN
        RAISE 'rows of % that belong to % are not erased', place, erased;
    END IF;
    EXECUTE format(
        'DELETE FROM %1$I WHERE %2$I = $1 AND (%3$s) IN (SELECT %3$s FROM %1$I WHERE %2$I = $1 LIMIT $2)',
        place, owner, key
    ) USING erased, most;
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END
$$;
REVOKE EXECUTE ON FUNCTION identity_erase FROM PUBLIC;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION identity_erase SET search_path = %I, pg_temp', current_schema());
END $$;

-- A row for each real account: what is locked in its requests is with its rows, while accounts are copied to each node.
CREATE TABLE identity_people (
    account_id uuid PRIMARY KEY REFERENCES identity_accounts (id),
    needs_person boolean NOT NULL DEFAULT false -- for what decides who approves its plans: a fresh session of a person
);

CREATE TABLE identity_keys (
    account_id uuid NOT NULL REFERENCES identity_accounts (id),
    id uuid NOT NULL,
    digest bytea, -- SHA-256 of the whole key, whose text names the account; null for a connection
    label text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('live', 'test')),
    preset text, -- null for a connection, whose mandate has its scopes
    prefix text NOT NULL, -- what may be shown: svc_live_ and the id; empty for a connection, as the next
    last4 text NOT NULL,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL, -- a key's id, or the operator
    asked_expires_at timestamptz, -- the requested expiry, which a rotation keeps
    expires_at timestamptz, -- when the key ends, also by a rotation
    rotated_at timestamptz, -- a key is rotated once: a second rotation would leave three valid keys
    revoked_at timestamptz,
    disabled_at timestamptz, -- by the restore of a backup, which may not know its revocation; null: enabled, as are most
    last_used_at timestamptz,
    allowed_ips cidr[] CHECK (cardinality(allowed_ips) BETWEEN 1 AND 50), -- null: any
    reads_mail boolean NOT NULL DEFAULT false, -- a person named it in the rule of a name: the scope mail:read
    mandate jsonb, -- what it may do and spend; null: what its scopes allow
    client text, -- whose sum counts for the mandate: the first key of a chain of rotated ones, or a connected client
    refusal_noted_at timestamptz, -- the last audit entry about a refused network
    client_name text, -- of a connection alone: the name that its client has
    scope_uses jsonb NOT NULL DEFAULT '{}', -- the day of the last use by scope, such as "2026-11-26"
    removed_scopes text[] NOT NULL DEFAULT '{}', -- that a person took away; a rotation keeps them away
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, digest),
    CHECK ((mandate IS NULL) = (client IS NULL)),
    CHECK ((digest IS NULL) = (client_name IS NOT NULL) AND (digest IS NULL) = (preset IS NULL)),
    CHECK (digest IS NOT NULL OR mandate IS NOT NULL)
) WITH (fillfactor = 80); -- last_used_at is not indexed, so its updates stay on the page
CREATE INDEX identity_keys_by_end ON identity_keys (least(revoked_at, expires_at))
    WHERE least(revoked_at, expires_at) IS NOT NULL;

-- What machines have used of their mandates in the last 30 days.
CREATE TABLE identity_mandate_uses (
    account_id uuid NOT NULL REFERENCES identity_accounts (id), -- the real account
    client text NOT NULL, -- of the key or connection
    subject uuid NOT NULL, -- what is counted once: a plan, an invoice of renewals, a request that deletes
    unit text NOT NULL, -- a currency, or `deletes`
    amount numeric NOT NULL CHECK (amount > 0),
    used_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, client, subject, unit)
);
CREATE INDEX identity_mandate_uses_by_account ON identity_mandate_uses (account_id, used_at);
CREATE INDEX identity_mandate_uses_by_age ON identity_mandate_uses (used_at);

-- What all machines of an account may cost in 30 days.
CREATE TABLE identity_machines (
    account_id uuid PRIMARY KEY REFERENCES identity_accounts (id),
    max_total jsonb -- an amount of each currency; null: no limit
);

-- A row for each token that the service issued.
CREATE TABLE identity_sessions (
    account_id uuid NOT NULL REFERENCES identity_accounts (id), -- the real account, the token's sub
    id uuid NOT NULL, -- the token's jti
    kind text NOT NULL CHECK (kind IN ('login', 'token', 'login_as')),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL CHECK (expires_at > created_at),
    ended_at timestamptz, -- before its expiry
    address text, -- of the client that opened it, so that its holder recognizes it in the list
    user_agent text,
    signed_in_by text, -- of login alone: mail_code, mail_link or the issuer
    authenticated_at timestamptz, -- of login alone: when the person proved who they are; null: not known
    grant_id uuid, -- of login_as alone, as the next three
    operator text,
    reason text,
    may_write boolean,
    CHECK ((kind = 'login_as') = (num_nonnulls(grant_id, operator, reason, may_write) = 4)),
    CHECK (kind = 'login_as' OR num_nonnulls(grant_id, operator, reason, may_write) = 0),
    CHECK ((kind = 'login') = (signed_in_by IS NOT NULL)),
    CHECK (kind = 'login' OR authenticated_at IS NULL),
    PRIMARY KEY (account_id, id)
);
-- A grant opens one session.
CREATE UNIQUE INDEX identity_sessions_one_a_grant ON identity_sessions (account_id, grant_id)
WHERE grant_id IS NOT NULL;
CREATE INDEX identity_sessions_by_end ON identity_sessions (expires_at);

-- What was typed into a form whose session had ended, for an hour.
CREATE TABLE identity_drafts (
    account_id uuid NOT NULL REFERENCES identity_accounts (id), -- the real account of the session
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    content bytea NOT NULL, -- sealed
    PRIMARY KEY (account_id, id)
);
CREATE INDEX identity_drafts_by_age ON identity_drafts (created_at);

-- The accounts of tokens that another issuer signs. Global, because such a token arrives without its account.
CREATE TABLE identity_identities (
    issuer text NOT NULL,
    subject text NOT NULL,
    account_id uuid NOT NULL REFERENCES identity_accounts (id),
    by_email boolean NOT NULL, -- linked because the account had the address; ends when the address changes
    created_at timestamptz NOT NULL,
    PRIMARY KEY (issuer, subject)
);

CREATE TABLE identity_audit (
    account_id uuid NOT NULL, -- the real account, whichever key was used
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    action text NOT NULL,
    actor_type text NOT NULL CHECK (actor_type IN ('key', 'user', 'support', 'operator', 'agent')),
    actor_id uuid,
    actor_label text,
    request_id text, -- null for commands of the operator
    about jsonb NOT NULL, -- small, without secrets
    PRIMARY KEY (account_id, id, created_at)
) PARTITION BY RANGE (created_at);
CREATE TABLE identity_audit_default PARTITION OF identity_audit DEFAULT;
INSERT INTO kit_partitioned (name, days) VALUES ('identity_audit', 90); -- the least of BUILDERS_AUDIT_DAYS
CREATE INDEX identity_audit_by_action ON identity_audit (account_id, action, id);

-- Requests to sign in. Global, and without an account where there is none: an address without an account has a row like
-- any other, so that neither the response nor its time tells which is which.
CREATE TABLE identity_sign_ins (
    id uuid PRIMARY KEY,
    address text NOT NULL CHECK (address = lower(address)),
    requested_at timestamptz NOT NULL,
    requested_from text NOT NULL DEFAULT '', -- network of the client
    made_at timestamptz, -- of the code; null before, and when the address had too many
    expires_at timestamptz,
    account_id uuid REFERENCES identity_accounts (id), -- null: nobody has the address
    code_hash bytea, -- keyed, because a code is short enough to be guessed
    token_hash bytea UNIQUE,
    tries smallint NOT NULL DEFAULT 0,
    tries_from jsonb NOT NULL DEFAULT '{}', -- wrong codes by network
    return_to text CHECK (return_to LIKE '/%' AND return_to NOT LIKE '//%'), -- a path of this service
    ended_at timestamptz -- used, or followed by a newer one
);
CREATE INDEX identity_sign_ins_by_address ON identity_sign_ins (address, id);
CREATE INDEX identity_sign_ins_by_age ON identity_sign_ins (requested_at);

-- Sign-ins at an issuer that came back, so that none is used twice. Global: the account is not known yet.
CREATE TABLE identity_issuer_sign_ins (
    id uuid PRIMARY KEY,
    used_at timestamptz NOT NULL
);
CREATE INDEX identity_issuer_sign_ins_by_age ON identity_issuer_sign_ins (used_at);

-- Requests of machines for keys (RFC 8628). Global: a request arrives without an account, and has one when a person has
-- typed its code.
CREATE TABLE identity_devices_requests (
    id uuid PRIMARY KEY,
    device_code_hash bytea NOT NULL UNIQUE,
    user_code_hash bytea NOT NULL UNIQUE, -- keyed, because a code is short enough to be guessed
    host text NOT NULL, -- as the client claims
    address text NOT NULL, -- of the client; empty when unknown
    presets text[] NOT NULL, -- as the client asks
    asks_live boolean NOT NULL,
    asks_agent boolean NOT NULL, -- for keys with a mandate
    expires_at timestamptz NOT NULL,
    interval_s smallint NOT NULL, -- between two polls
    polled_at timestamptz,
    account_id uuid REFERENCES identity_accounts (id), -- of the person who typed the code last
    is_approved boolean, -- null: not decided
    session_id uuid, -- in which it was decided
    test_presets text[], -- as the person decided, as the next one
    live_preset text,
    mandate jsonb, -- of each key
    minted_at timestamptz, -- the first time
    mintings smallint NOT NULL DEFAULT 0,
    key_ids uuid[] NOT NULL DEFAULT '{}', -- of the keys that the last minting created
    CHECK ((is_approved IS NULL) = (session_id IS NULL)),
    CHECK (is_approved IS NULL OR account_id IS NOT NULL)
);
CREATE INDEX identity_devices_requests_by_end ON identity_devices_requests (expires_at);

-- The codes that were typed in a session and not found.
CREATE TABLE identity_devices_tries (
    account_id uuid NOT NULL,
    session_id uuid NOT NULL,
    wrong smallint NOT NULL,
    PRIMARY KEY (account_id, session_id),
    FOREIGN KEY (account_id, session_id) REFERENCES identity_sessions (account_id, id) ON DELETE CASCADE
);

-- Authorization requests of clients (RFC 6749, 4.1.1), as they were sent. Global: a request arrives without an account.
CREATE TABLE identity_oauth_requests (
    id uuid PRIMARY KEY,
    browser_hash bytea NOT NULL, -- keyed, of the cookie of the browser that began it
    parameters text NOT NULL, -- the query
    expires_at timestamptz NOT NULL,
    decided_at timestamptz
);
CREATE INDEX identity_oauth_requests_by_browser ON identity_oauth_requests (browser_hash);
CREATE INDEX identity_oauth_requests_by_end ON identity_oauth_requests (expires_at);

-- Authorization codes, each of one connection.
CREATE TABLE identity_oauth_codes (
    account_id uuid NOT NULL, -- the real account, which the code names
    digest bytea NOT NULL, -- SHA-256 of the whole code
    key_id uuid NOT NULL, -- the connection
    session_id uuid NOT NULL, -- in which it was given
    client_id text NOT NULL,
    redirect_uri text NOT NULL,
    challenge text NOT NULL, -- S256 (RFC 7636)
    expires_at timestamptz NOT NULL,
    uses smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, digest),
    FOREIGN KEY (account_id, key_id) REFERENCES identity_keys (account_id, id) ON DELETE CASCADE
);
CREATE INDEX identity_oauth_codes_by_end ON identity_oauth_codes (expires_at);

-- The tokens of connections: those of the code, then those of each refresh.
CREATE TABLE identity_oauth_tokens (
    account_id uuid NOT NULL, -- the real account, which the tokens name
    key_id uuid NOT NULL, -- the connection
    generation integer NOT NULL,
    refresh_digest bytea NOT NULL,
    access_digest bytea NOT NULL,
    access_expires_at timestamptz NOT NULL,
    refresh_expires_at timestamptz NOT NULL,
    used_at timestamptz, -- of the refresh token
    PRIMARY KEY (account_id, key_id, generation),
    UNIQUE (account_id, refresh_digest),
    UNIQUE (account_id, access_digest),
    FOREIGN KEY (account_id, key_id) REFERENCES identity_keys (account_id, id) ON DELETE CASCADE
);
CREATE INDEX identity_oauth_tokens_by_end ON identity_oauth_tokens (refresh_expires_at);

-- Grants to sign in as a customer.
CREATE TABLE identity_grants (
    account_id uuid NOT NULL REFERENCES identity_accounts (id),
    id uuid NOT NULL,
    digest bytea NOT NULL, -- SHA-256 of the whole text, which names the account
    operator text NOT NULL,
    reason text NOT NULL,
    may_write boolean NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    redeemed_at timestamptz,
    revoked_at timestamptz,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, digest)
);
