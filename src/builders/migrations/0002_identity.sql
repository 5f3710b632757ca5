-- Accounts with their sandbox twins, and API keys.

CREATE TABLE identity_accounts (
    id uuid PRIMARY KEY,
    sandbox_of uuid REFERENCES identity_accounts (id), -- null for a real account
    email text NOT NULL CHECK (email = lower(email)),
    name text NOT NULL,
    email_verified_at timestamptz,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX identity_accounts_by_email ON identity_accounts (email) WHERE sandbox_of IS NULL;
CREATE UNIQUE INDEX identity_accounts_one_twin ON identity_accounts (sandbox_of) WHERE sandbox_of IS NOT NULL;

CREATE TABLE identity_keys (
    account_id uuid NOT NULL REFERENCES identity_accounts (id),
    id uuid NOT NULL,
    label text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('live', 'test')),
    preset text NOT NULL,
    prefix text NOT NULL, -- what may be shown: svc_live_ and the public id
    last4 text NOT NULL,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL, -- a key's id, or the operator
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    PRIMARY KEY (account_id, id)
) WITH (fillfactor = 80); -- last_used_at is not indexed, so its updates stay on the page

-- From a public key id to the account: global, since a key arrives without its tenant.
CREATE TABLE identity_key_ids (
    public_id text PRIMARY KEY,
    digest bytea NOT NULL, -- SHA-256 of the whole key
    account_id uuid NOT NULL,
    key_id uuid NOT NULL,
    FOREIGN KEY (account_id, key_id) REFERENCES identity_keys (account_id, id)
);
