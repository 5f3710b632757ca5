-- Notices to the members of a portfolio. `account_id` is that of the portfolio.

CREATE TABLE portfolio_notifications_notices (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    member_id uuid NOT NULL, -- a real account
    event text NOT NULL, -- name of the event that the notice is about
    severity text NOT NULL CHECK (severity IN ('info', 'warn', 'high', 'critical')),
    domain_id uuid,
    domain text, -- A-label
    threshold_days smallint, -- of a notice about an expiry
    expires_on date,
    auto_renew boolean,
    month date, -- of a cost alert: its first day
    amount numeric, -- renewal price of the domain; of a cost alert the sum of the month
    currency text,
    in_app boolean NOT NULL, -- whether the list of the member shows it
    email_at timestamptz, -- when the email is due; null when there is none, and when it was sent
    held_by text CHECK (held_by IN ('quiet_hours', 'digest')), -- why the email was not due at once
    emailed_at timestamptz,
    created_at timestamptz NOT NULL,
    read_at timestamptz,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX portfolio_notifications_notices_list ON portfolio_notifications_notices (account_id, member_id, id DESC)
    WHERE in_app;
CREATE INDEX portfolio_notifications_notices_unread ON portfolio_notifications_notices (account_id, member_id, id DESC)
    WHERE in_app AND read_at IS NULL;
-- Of all accounts alike: the emails that are due.
CREATE INDEX portfolio_notifications_notices_due ON portfolio_notifications_notices (email_at, account_id)
    WHERE email_at IS NOT NULL;
CREATE INDEX portfolio_notifications_notices_age ON portfolio_notifications_notices (created_at);

-- What a member has had a notice of; decides that there is no second one, however often a job runs.
CREATE TABLE portfolio_notifications_keys (
    account_id uuid NOT NULL,
    member_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('expiry', 'cost', 'event')),
    subject_id uuid NOT NULL, -- the domain or the event; of a cost alert zero
    due_on date NOT NULL, -- the expiry, the first day of the month, or the day of the event
    days smallint NOT NULL, -- the threshold; else zero
    PRIMARY KEY (account_id, member_id, kind, subject_id, due_on, days)
);
CREATE INDEX portfolio_notifications_keys_age ON portfolio_notifications_keys (due_on);

-- The day on which the domains of a portfolio were last looked through.
CREATE TABLE portfolio_notifications_runs (
    account_id uuid PRIMARY KEY,
    run_on date NOT NULL
);
