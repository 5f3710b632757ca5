-- Plans, their promotions with the journal of steps, and the turns of promotions.

CREATE TABLE sandbox_plans (
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
CREATE INDEX sandbox_plans_by_age ON sandbox_plans (created_at);
CREATE INDEX sandbox_plans_by_status ON sandbox_plans (account_id, status, id);

CREATE TABLE sandbox_promotions (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    plan_id uuid NOT NULL,
    status text NOT NULL CHECK (status IN ('running', 'succeeded', 'partial', 'failed')),
    on_error text NOT NULL CHECK (on_error IN ('stop', 'continue')),
    invoices jsonb NOT NULL DEFAULT '[]', -- id, number and total of each
    error jsonb, -- why it was ended that could not end by itself: code, message and retryable, as of a step
    created_by text NOT NULL,
    started_at timestamptz NOT NULL,
    finished_at timestamptz,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, plan_id), -- a plan is used once
    FOREIGN KEY (account_id, plan_id) REFERENCES sandbox_plans (account_id, id)
);
CREATE INDEX sandbox_promotions_running ON sandbox_promotions (started_at) WHERE status = 'running';

CREATE TABLE sandbox_steps (
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
    FOREIGN KEY (account_id, promotion_id) REFERENCES sandbox_promotions (account_id, id)
);
CREATE INDEX sandbox_steps_pending ON sandbox_steps (account_id, promotion_id, position) WHERE status = 'pending';

-- One promotion of an account at a time: a new one locks this row, and checks whether the promotion in it still runs. A
-- row whose promotion has ended means nothing.
CREATE TABLE sandbox_turns (
    account_id uuid PRIMARY KEY,
    promotion_id uuid NOT NULL
);
