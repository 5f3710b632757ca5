-- The visits of domains that parking providers counted, which advice on renewals depends on.
CREATE TABLE portfolio_finance_traffic (
    account_id uuid NOT NULL, -- the portfolio
    domain_id uuid NOT NULL,
    reported_on date, -- the last day with a count; null: no recent one
    visited_on date, -- the last day with a visit; null: no recent one
    PRIMARY KEY (account_id, domain_id),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE CASCADE
);
INSERT INTO portfolio_finance_traffic (account_id, domain_id, reported_on, visited_on)
SELECT account_id, domain_id, max(day) FILTER (WHERE visits IS NOT NULL), max(day) FILTER (WHERE visits > 0)
FROM portfolio_parking_revenue GROUP BY account_id, domain_id;
