-- The entries of a portfolio in a period, for its summary, without a look at the rows.
CREATE INDEX portfolio_ledger_entries_period ON portfolio_ledger_entries (account_id, occurred_on)
    INCLUDE (domain_id, kind, source, currency, amount, base_currency, base_amount) WHERE voided_at IS NULL;
