-- What the members of a portfolio are notified of. `account_id` is that of the portfolio.

CREATE TABLE portfolio_notifications_preferences (
    account_id uuid NOT NULL,
    member_id uuid NOT NULL, -- a real account, in the portfolio of a sandbox account too
    settings jsonb NOT NULL, -- what the member has set; what is absent has its default
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, member_id)
);
