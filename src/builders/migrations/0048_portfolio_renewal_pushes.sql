-- Settings of domains at their registrars that decisions about renewals imply.

-- Auto-renew settings that wait to be sent to a registrar, of each domain the last one.
CREATE TABLE portfolio_renewals_pushes (
    account_id uuid NOT NULL, -- the portfolio
    domain_id uuid NOT NULL,
    auto_renew boolean NOT NULL,
    attempts smallint NOT NULL DEFAULT 0, -- that have failed
    claim uuid, -- of the request or job that sends it
    claimed_until timestamptz, -- then another one may
    requested_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, domain_id),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE CASCADE
);
