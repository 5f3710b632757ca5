-- Sales of a portfolio's domains. Their amounts are entries of the ledger, whose references begin with the id here.

CREATE TABLE portfolio_finance_sales (
    account_id uuid NOT NULL, -- the portfolio
    id uuid NOT NULL,
    domain_id uuid NOT NULL,
    sold_on date NOT NULL,
    commission_rate numeric(7, 6) CHECK (commission_rate BETWEEN 0 AND 1), -- null: none, or a fixed commission
    venue text,
    buyer_ref text, -- the account's own reference to the buyer
    own_share numeric(7, 6) NOT NULL CHECK (own_share BETWEEN 0 AND 1), -- of the net proceeds
    status_before text NOT NULL, -- of the domain, which has it again when the sale is voided
    created_at timestamptz NOT NULL,
    created_by uuid, -- the member; null: a job
    voided_at timestamptz,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, domain_id) REFERENCES portfolio_domains (account_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX portfolio_finance_sales_of_domain ON portfolio_finance_sales (account_id, domain_id)
    WHERE voided_at IS NULL;
