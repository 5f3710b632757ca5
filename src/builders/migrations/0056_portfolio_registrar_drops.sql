-- Suspicious drops: many domains that a complete listing does not have any more are held back until the next complete
-- listing does not have them either.

ALTER TABLE portfolio_registrars_holdings
    ADD COLUMN suspected_since timestamptz; -- the listing without the domain whose drop is held back

ALTER TABLE portfolio_registrars_connections
    ADD COLUMN suspected_drop int NOT NULL DEFAULT 0, -- domains that are held back
    ADD COLUMN suspected_drop_at timestamptz; -- the listing that did not have them
