-- The sums of a list of charges are read from this index alone; it serves the states, too.
CREATE INDEX portfolio_billing_charges_sums ON portfolio_billing_charges (account_id, state, charged_on, id)
    INCLUDE (provider, currency, total);
DROP INDEX portfolio_billing_charges_state;
-- The few domains that registrars transfer away.
CREATE INDEX portfolio_registrars_holdings_leaving ON portfolio_registrars_holdings (account_id, domain)
    WHERE status = 'transferring_out' AND missing_since IS NULL;
