-- What was done with an account and by whom, sign-in without a password, and grants to sign in as a customer.

CREATE TABLE identity_audit (
    account_id uuid NOT NULL, -- the real account, whatever key was used
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    action text NOT NULL,
    actor_type text NOT NULL CHECK (actor_type IN ('key', 'user', 'support', 'operator')),
    actor_id uuid,
    actor_label text,
    request_id text, -- null for what was done on the command line
    about jsonb NOT NULL, -- small, and nothing secret
    PRIMARY KEY (account_id, id, created_at)
) PARTITION BY RANGE (created_at);
CREATE TABLE identity_audit_default PARTITION OF identity_audit DEFAULT;
CREATE INDEX identity_audit_by_action ON identity_audit (account_id, action, id);

-- Somebody at an address asked to sign in. Global, and without an account where there is none: a row for an address
-- that nobody has is treated as any other, so that neither an answer nor the time it takes tells which is which.
CREATE TABLE identity_sign_ins (
    id uuid PRIMARY KEY,
    address text NOT NULL CHECK (address = lower(address)),
    requested_at timestamptz NOT NULL,
    made_at timestamptz, -- when the code was made; null before, and when the address had had too many
    expires_at timestamptz,
    account_id uuid REFERENCES identity_accounts (id), -- null where nobody has the address
    code_hash bytea, -- under a secret key: a code is short enough to be tried
    token_hash bytea UNIQUE,
    tries smallint NOT NULL DEFAULT 0,
    ended_at timestamptz -- used, or followed by a newer one
);
CREATE INDEX identity_sign_ins_by_address ON identity_sign_ins (address, id);
CREATE INDEX identity_sign_ins_by_age ON identity_sign_ins (requested_at);

CREATE TABLE identity_grants (
    account_id uuid NOT NULL REFERENCES identity_accounts (id),
    id uuid NOT NULL,
    operator text NOT NULL,
    reason text NOT NULL,
    may_write boolean NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    redeemed_at timestamptz,
    revoked_at timestamptz,
    PRIMARY KEY (account_id, id)
);

-- From a grant's text to the account: global, since it arrives without its tenant.
CREATE TABLE identity_grant_ids (
    public_id text PRIMARY KEY,
    digest bytea NOT NULL, -- SHA-256 of the whole text
    account_id uuid NOT NULL,
    grant_id uuid NOT NULL UNIQUE,
    FOREIGN KEY (account_id, grant_id) REFERENCES identity_grants (account_id, id)
);
