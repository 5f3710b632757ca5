-- works with: 1.0.0
-- run: before

-- Profiles, the steps of onboarding, and the verification of addresses.

CREATE TABLE profile_profiles (
    account_id uuid PRIMARY KEY REFERENCES identity_accounts (id), -- a real account; a sandbox account has no profile
    display_name text, -- null: the account's name is shown
    company text,
    website text,
    country text, -- ISO 3166-1 alpha-2
    timezone text, -- IANA
    locale text, -- BCP 47, in canonical case
    marketing_opt_in boolean NOT NULL DEFAULT false,
    pending_email text, -- replaces the account's address once it is confirmed
    roles text[] NOT NULL DEFAULT '{}', -- sorted; only grows
    completed_at timestamptz, -- when onboarding was completed, once
    version int NOT NULL DEFAULT 1, -- of everything that the profile shows
    updated_at timestamptz -- null while it is as it was created
);

CREATE TABLE profile_steps (
    account_id uuid NOT NULL REFERENCES profile_profiles (account_id),
    step text NOT NULL,
    done_at timestamptz NOT NULL, -- when it happened, not when it was recorded
    PRIMARY KEY (account_id, step)
);

-- The verification messages to an address, so that neither it nor an account gets too many.
CREATE TABLE profile_verifications (
    account_id uuid NOT NULL REFERENCES profile_profiles (account_id),
    email text NOT NULL,
    sends timestamptz[] NOT NULL, -- of a day, the newest last
    message_id uuid, -- of the newest message
    PRIMARY KEY (account_id, email)
);
CREATE INDEX profile_verifications_by_age ON profile_verifications ((sends[cardinality(sends)]));

-- From the token of a link to the account: global, because a link arrives without its account. One for each account,
-- so that a newer link invalidates the earlier ones.
CREATE TABLE profile_tokens (
    account_id uuid PRIMARY KEY REFERENCES profile_profiles (account_id),
    digest bytea NOT NULL UNIQUE,
    purpose text NOT NULL CHECK (purpose IN ('verify', 'change')),
    email text NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz
);
CREATE INDEX profile_tokens_by_age ON profile_tokens (expires_at);
