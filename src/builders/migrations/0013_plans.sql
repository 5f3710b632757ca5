-- works with: 1.0.0
-- run: before

-- Plans, their approvals, their promotions with the journal of steps, and the turns of promotions.

CREATE TABLE plans (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    manifest text NOT NULL, -- its name
    manifest_digest text NOT NULL, -- to compute the digest again before the plan is promoted
    labels jsonb NOT NULL, -- of the manifest, which describe its purpose
    status text NOT NULL CHECK (status IN ('ready', 'empty', 'blocked', 'promoting', 'promoted', 'partial')),
    digest text NOT NULL,
    actions jsonb NOT NULL,
    summary jsonb NOT NULL DEFAULT '{}', -- number of actions by kind, so that a list need not read them all
    errors jsonb NOT NULL,
    warnings jsonb NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX plans_by_age ON plans (created_at);
CREATE INDEX plans_by_status ON plans (account_id, status, id);

CREATE TABLE plans_promotions (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    plan_id uuid NOT NULL,
    status text NOT NULL CHECK (status IN ('waiting', 'running', 'succeeded', 'partial', 'failed')),
    on_error text NOT NULL CHECK (on_error IN ('stop', 'continue')),
    invoices jsonb NOT NULL DEFAULT '[]', -- id, number and total of each
    error jsonb, -- why it was ended that could not end by itself: code, message and retryable, as of a step
    created_by text NOT NULL,
    started_at timestamptz NOT NULL,
    finished_at timestamptz,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, plan_id), -- a plan is used once
    FOREIGN KEY (account_id, plan_id) REFERENCES plans (account_id, id)
);
CREATE INDEX plans_promotions_running ON plans_promotions (started_at) WHERE status = 'running';
CREATE INDEX plans_promotions_by_end ON plans_promotions (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX plans_promotions_waiting ON plans_promotions (account_id, id) WHERE status = 'waiting';

CREATE TABLE plans_steps (
    account_id uuid NOT NULL,
    promotion_id uuid NOT NULL,
    position int NOT NULL, -- of the action in the plan
    address text NOT NULL,
    action text NOT NULL,
    status text NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed', 'skipped')),
    attempts int NOT NULL DEFAULT 0,
    resource_id uuid,
    invoice_id uuid, -- that charges for the claim; a resumed promotion bills the steps without one
    error jsonb,
    finished_at timestamptz,
    PRIMARY KEY (account_id, promotion_id, position),
    FOREIGN KEY (account_id, promotion_id) REFERENCES plans_promotions (account_id, id)
);
CREATE INDEX plans_steps_pending ON plans_steps (account_id, promotion_id, position) WHERE status = 'pending';

-- One promotion of an account at a time: a new one locks this row, and checks whether the promotion in it still runs. A
-- row whose promotion has ended means nothing.
CREATE TABLE plans_turns (
    account_id uuid PRIMARY KEY,
    promotion_id uuid NOT NULL
);

-- Without a row, no plan of the account requires an approval.
CREATE TABLE plans_approval_policies (
    account_id uuid PRIMARY KEY,
    policy jsonb NOT NULL,
    changed_at timestamptz NOT NULL
);

-- A policy that stops less than the one in force, until enough deciders confirm it. A newer change replaces it.
CREATE TABLE plans_approval_proposals (
    account_id uuid PRIMARY KEY,
    id uuid NOT NULL,
    policy jsonb NOT NULL,
    proposed_by uuid NOT NULL, -- the account of a person, as below
    confirmed_by uuid[] NOT NULL,
    deciders uuid[], -- that the first policy keeps; NULL: all who have the permission
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);

-- Decisions of people. The newest of a person about a digest stands until it is withdrawn, used or expired.
CREATE TABLE plans_approval_decisions (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    plan_id uuid NOT NULL, -- that the person has seen; other plans can have its digest
    digest text NOT NULL,
    verdict text NOT NULL CHECK (verdict IN ('approve', 'reject')),
    comment text,
    decided_by uuid NOT NULL,
    decided_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at timestamptz, -- withdrawn, replaced or used
    used_by uuid, -- the plan whose promotion started under it
    PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX plans_approval_decisions_standing ON plans_approval_decisions (account_id, digest, decided_by)
    WHERE ended_at IS NULL;
CREATE INDEX plans_approval_decisions_by_digest ON plans_approval_decisions (account_id, digest, id);
CREATE INDEX plans_approval_decisions_by_age ON plans_approval_decisions (decided_at) WHERE used_by IS NULL;
CREATE INDEX plans_approval_decisions_used ON plans_approval_decisions (decided_at) WHERE used_by IS NOT NULL;

-- Requests to the deciders, one for a digest. The newest of a manifest counts.
CREATE TABLE plans_approval_requests (
    account_id uuid NOT NULL,
    digest text NOT NULL,
    plan_id uuid NOT NULL, -- the newest plan with the digest
    manifest text NOT NULL,
    requested_at timestamptz NOT NULL,
    notified_at timestamptz NOT NULL, -- when the event was published
    by_mandate boolean NOT NULL, -- of a machine whose mandate allows nothing new outside the account
    mailed boolean, -- alone, or false: in a summary; null above the maximum of a day, until that summary
    PRIMARY KEY (account_id, digest)
);
CREATE INDEX plans_approval_requests_by_manifest ON plans_approval_requests (account_id, manifest, requested_at);
CREATE INDEX plans_approval_requests_by_age ON plans_approval_requests (requested_at);
CREATE INDEX plans_approval_requests_unmailed ON plans_approval_requests (notified_at) WHERE mailed IS NULL;

-- What promotions without an approval cost when they started, for the rule about amounts.
CREATE TABLE plans_approval_amounts (
    account_id uuid NOT NULL,
    plan_id uuid NOT NULL,
    currency text NOT NULL,
    amount numeric NOT NULL,
    promoted_at timestamptz NOT NULL, -- the last time that the promotion started or resumed
    PRIMARY KEY (account_id, plan_id, currency)
);
CREATE INDEX plans_approval_amounts_by_account ON plans_approval_amounts (account_id, promoted_at);
CREATE INDEX plans_approval_amounts_by_age ON plans_approval_amounts (promoted_at);
