-- The team of a portfolio. The portfolio is that of `account_id`, whose own account is its owner without a row.

CREATE TABLE portfolio_team_members (
    account_id uuid NOT NULL,
    member_id uuid NOT NULL, -- a real account, in the team of a sandbox account too
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'manager', 'accountant', 'viewer')),
    note text,
    joined_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, member_id)
);

-- The same from the member's side, so that their memberships are found in their own shard.
CREATE TABLE portfolio_team_memberships (
    account_id uuid NOT NULL, -- the member
    portfolio_id uuid NOT NULL, -- `account_id` of portfolio_team_members
    PRIMARY KEY (account_id, portfolio_id)
);

CREATE TABLE portfolio_team_invites (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL,
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'manager', 'accountant', 'viewer')),
    message text,
    invited_by uuid NOT NULL, -- a real account
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at timestamptz, -- when it was accepted or revoked
    accepted_by uuid,
    PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX portfolio_team_invites_pending ON portfolio_team_invites (account_id, email)
    WHERE ended_at IS NULL;
CREATE INDEX portfolio_team_invites_expiry ON portfolio_team_invites (expires_at);

-- A global look-up: a token names no account.
CREATE TABLE portfolio_team_tokens (
    token_hash bytea PRIMARY KEY,
    account_id uuid NOT NULL,
    invite_id uuid NOT NULL
);
CREATE INDEX portfolio_team_tokens_invite ON portfolio_team_tokens (account_id, invite_id);
