-- Sessions: a row behind each token of ours. And whom a token of another issuer speaks for.

CREATE TABLE identity_sessions (
    account_id uuid NOT NULL REFERENCES identity_accounts (id), -- the real account, the token's sub
    id uuid NOT NULL, -- the token's jti
    kind text NOT NULL CHECK (kind IN ('login', 'token', 'login_as')),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL CHECK (expires_at > created_at),
    revoked_at timestamptz,
    address text, -- where it was opened from, so that its holder knows it in the list
    user_agent text,
    grant_id uuid, -- of login-as, as are the next three
    operator text,
    reason text,
    may_write boolean,
    CHECK ((kind = 'login_as') = (num_nonnulls(grant_id, operator, reason, may_write) = 4)),
    CHECK (kind = 'login_as' OR num_nonnulls(grant_id, operator, reason, may_write) = 0),
    PRIMARY KEY (account_id, id)
);
-- A grant opens one session, whatever the code above does wrong.
CREATE UNIQUE INDEX identity_sessions_one_a_grant ON identity_sessions (account_id, grant_id)
WHERE grant_id IS NOT NULL;
CREATE INDEX identity_sessions_by_end ON identity_sessions (expires_at);

-- Global, since such a token arrives without its account.
CREATE TABLE identity_identities (
    issuer text NOT NULL,
    subject text NOT NULL,
    account_id uuid NOT NULL REFERENCES identity_accounts (id),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (issuer, subject)
);
